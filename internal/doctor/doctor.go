// Package doctor tells what this machine can and can't do for bondrepro, and what to do about it. It changes
// nothing: it loads no module and makes no interface.
package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/internal/vm"
)

// Check is one thing looked at.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"` // without it nothing can be measured here
	Found  string `json:"found"`  // what is there, or is not
	Remedy string `json:"remedy,omitempty"`
}

// Options say what to look for. The zero value is usable.
type Options struct {
	QEMU string // program: a path, or a name looked up in $PATH
}

// Examine looks at everything. An error is ctx's.
func Examine(ctx context.Context, o Options) ([]Check, error) {
	checks := runningKernel(readKernelFiles())
	checks = append(checks, userNamespaces(ctx), qemu(ctx, o.QEMU), kvm(ctx, o.QEMU), bootable())
	return checks, ctx.Err()
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

func runningKernel(k kernelFiles) []Check {
	var checks []Check
	for _, f := range features {
		ok, found := k.has(f)
		c := Check{Name: f.name, OK: ok, Found: fmt.Sprintf("%s: %s", k.release, found)}
		if !ok {
			c.Remedy = fmt.Sprintf("only needed %s; a guest brings its own kernel", f.use)
		}
		checks = append(checks, c)
	}
	return checks
}

// userNamespaces tries one: a child in a user and network namespace of its own, which ends at once.
func userNamespaces(ctx context.Context) Check {
	c := Check{Name: "user namespaces", Found: "this user can make them"}
	_, err := osrun.Run(ctx, osrun.Cmd{
		Path: "/proc/self/exe", Args: []string{"--version"}, Timeout: 20 * time.Second,
		Attr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET},
	})
	c.OK = err == nil
	if err != nil {
		c.Found = "this user can't make them: " + err.Error()
		c.Remedy = "only needed for rootless runs on the running kernel: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone or the AppArmor profile forbid them"
	}
	return c
}

func qemu(ctx context.Context, program string) Check {
	c := Check{Name: "QEMU", Needed: true}
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
	if !c.OK {
		c.Remedy = "none needed: guests run under TCG, several times slower, with the same verdicts; KVM wants virtualisation on in the firmware, kvm_intel or kvm_amd loaded, and /dev/kvm open to this user"
	}
	return c
}

// bootable looks for a kernel that run can boot when nobody names one: a package in the cache, or the means to
// fetch one.
func bootable() Check {
	c := Check{Name: "a kernel to boot", Needed: true, OK: true}
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
