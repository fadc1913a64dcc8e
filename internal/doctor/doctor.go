// Package doctor tells what this machine can and can't do for bondrepro, and what to do about it. The interfaces it tries
// are in namespaces that end with the try; where bonding is there, the kernel may load the modules of what is tried with it.
package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"bondrepro/internal/netns"
	"bondrepro/internal/osrun"
	"bondrepro/internal/vm"
)

// Check is one thing looked at.
type Check struct {
	Name   string `json:"name"`
	Code   string `json:"code,omitempty"` // of what was looked at, or found, on a port
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"`         // without it nothing can be measured here
	Weak   bool   `json:"weak,omitempty"` // with it a verdict is weak
	Found  string `json:"found"`          // what is there, or is not
	Remedy string `json:"remedy,omitempty"`

	forGuest bool // without it no guest can be booted
}

// Options say what to look for. The zero value is usable.
type Options struct {
	QEMU  string // program: a path, or a name looked up in $PATH
	Ports Ports  // when any is named, only what real ports need is looked at
}

// Examine looks at everything. An error is ctx's, or one of usage.
func Examine(ctx context.Context, o Options) ([]Check, error) {
	if o.Ports.Asked() {
		return examinePorts(o.Ports)
	}
	here := privateNamespaces(ctx)
	checks := []Check{here, control(netns.ReadRunning("/")), qemu(ctx, o.QEMU), kvm(ctx, o.QEMU), bootable()}
	return needed(checks, here.OK), ctx.Err()
}

// needed marks what a guest needs as needed, unless the running kernel can be measured without one.
func needed(checks []Check, withoutGuest bool) []Check {
	for i := range checks {
		checks[i].Needed = checks[i].forGuest && !withoutGuest
	}
	return checks
}

// Healthy tells whether everything needed is there.
func Healthy(checks []Check) bool {
	for _, c := range checks {
		if c.Needed && !c.OK {
			return false
		}
	}
	return true
}

// privateNamespaces tries to measure on the running kernel, in namespaces that end with the try.
func privateNamespaces(ctx context.Context) Check {
	c := Check{Name: "netns testbed", OK: true, Found: "this user can measure on the running kernel, in private namespaces"}
	if err := netns.Usable(ctx); err != nil {
		c.OK, c.Found = false, err.Error()
		c.Remedy = "only needed to measure on the running kernel; a guest brings its own"
	}
	return c
}

// netem makes the positive control.
var netem = netns.Module{Name: "sch_netem", Config: "CONFIG_NET_SCH_NETEM"}

// control looks for netem. A module that is not loaded is as good: the kernel loads it when it is asked for.
func control(k netns.Running) Check {
	has, how := k.Has(netem)
	c := Check{Name: "netem", OK: has == netns.Present || has == netns.NotLoaded, Found: k.Release + ": " + how}
	if !c.OK {
		c.Remedy = "only needed for the stronger positive control on the running kernel; a guest brings its own kernel"
	}
	return c
}

func qemu(ctx context.Context, program string) Check {
	c := Check{Name: "QEMU", forGuest: true}
	version, err := vm.QEMUVersion(ctx, program)
	if err != nil {
		c.Found = err.Error() // says what to install
		return c
	}
	c.OK, c.Found = true, version
	return c
}

func kvm(ctx context.Context, program string) Check {
	c := Check{Name: "KVM"}
	a, err := vm.ProbeAccelerator(ctx, program)
	switch {
	case err != nil:
		c.Found = "not tried: there is no usable QEMU"
	default:
		c.OK, c.Found = a.Name == vm.KVM, a.Why
	}
	switch {
	case c.OK:
	case strings.HasPrefix(c.Found, "KVM opens"):
		c.Remedy = "none needed: guests run under TCG, several times slower, with the same verdicts; it is tried again after a reboot, and with another QEMU"
	default:
		c.Remedy = "none needed: guests run under TCG, several times slower, with the same verdicts; KVM wants virtualisation on in the firmware, kvm_intel or kvm_amd loaded, and /dev/kvm open to this user"
	}
	return c
}

// bootable looks for a kernel that run can boot when nobody names one: a package in the cache, or the means to
// fetch one.
func bootable() Check {
	c := Check{Name: "a kernel to boot", forGuest: true, OK: true}
	cache, err := os.UserCacheDir()
	if err == nil {
		debs, _ := filepath.Glob(filepath.Join(cache, "bondrepro", "kernels", "linux-image-*.deb"))
		if len(debs) > 0 {
			c.Found = filepath.Base(debs[len(debs)-1]) + " in the cache"
			return c
		}
	}
	if _, err := osrun.Look("apt-get"); err == nil {
		c.Found = "none in the cache; apt-get can fetch one"
		c.Remedy = "run fetches it by itself; when the package lists are missing: apt-get update"
		return c
	}
	c.OK, c.Found = false, "none in the cache, and there is no apt-get to fetch one"
	c.Remedy = "give run a --kernel: a bzImage with --modules, or a built kernel tree"
	return c
}
