package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"bondrepro/internal/osrun"

	"golang.org/x/sys/unix"
)

// The accelerators.
const (
	KVM = "kvm"
	TCG = "tcg"
)

// Accelerator is how QEMU runs the guest, and why so.
type Accelerator struct {
	Name string // kvm or tcg
	Why  string // one sentence
}

const (
	kvmDevice = "/dev/kvm"
	// probeLimit is how long a KVM guest may take to its first byte: 30 ms where KVM works.
	probeLimit = 3 * time.Second
	// versionLimit is how long QEMU may take to print its version.
	versionLimit = 20 * time.Second
)

// ProbeAccelerator finds out whether QEMU can run guests with KVM on this machine: /dev/kvm opens, and a guest
// gets as far as its firmware's first byte. A probe that fails takes up to 3 s, so that is remembered in the
// user's cache folder for this boot of the machine and this version of QEMU.
// qemu empty means qemu-system-x86_64 of $PATH. The error is a *NoQEMUError, or ctx's.
func ProbeAccelerator(ctx context.Context, qemu string) (Accelerator, error) {
	qemu = programOf(qemu)
	version, err := qemuVersion(ctx, qemu)
	if err != nil {
		return Accelerator{}, err
	}
	return chooseAccelerator(ctx, qemu, version, kvmDevice, cachedProbe())
}

// chooseAccelerator is ProbeAccelerator with its surroundings as arguments.
func chooseAccelerator(ctx context.Context, qemu, version, device string, cache probeCache) (Accelerator, error) {
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return Accelerator{TCG, fmt.Sprintf("%s can't be opened: %v", device, err)}, nil
	}
	unix.Close(fd)
	if why, failed := cache.failed(version); failed {
		return Accelerator{TCG, why + " (found earlier)"}, nil
	}
	if err := probeKVM(ctx, qemu); err != nil {
		if ctx.Err() != nil {
			return Accelerator{}, ctx.Err()
		}
		why := "KVM opens, but QEMU can't run a guest on it: " + err.Error()
		cache.store(version, why)
		return Accelerator{TCG, why}, nil
	}
	return Accelerator{KVM, device + " opens and runs a guest"}, nil
}

// probeKVM starts a machine without disk or kernel and waits for its firmware's first byte on the debug port.
func probeKVM(ctx context.Context, qemu string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	args := append([]string{"-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35"}, cpus[KVM]...)
	args = append(args, "-chardev", "socket,id=firmware,fd=3", "-device", "isa-debugcon,iobase=0x402,chardev=firmware")
	p, err := osrun.Start(ctx, osrun.Cmd{Path: qemu, Args: args, ExtraFiles: []*os.File{theirs}})
	theirs.Close()
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		<-p.Done()
	}()
	if err := ours.SetReadDeadline(time.Now().Add(probeLimit)); err != nil {
		return err
	}
	_, err = ours.Read(make([]byte, 1))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("its firmware did not start within %v", probeLimit)
	}
	if end := p.Wait(); end != nil {
		return fmt.Errorf("%s", firstLine(end.Error()))
	}
	return errors.New("QEMU ended at once")
}

func firstLine(s string) string {
	head, rest, more := strings.Cut(s, "\n")
	if more {
		rest, _, _ = strings.Cut(rest, "\n")
		return head + " " + rest
	}
	return head
}

var versionPattern = regexp.MustCompile(`version ((\d+)\.(\d+)\S*)`)

// qemuVersion asks QEMU. The error is a *NoQEMUError, or ctx's.
func qemuVersion(ctx context.Context, qemu string) (string, error) {
	out, err := osrun.Run(ctx, osrun.Cmd{Path: qemu, Args: []string{"--version"}, Timeout: versionLimit})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return "", &NoQEMUError{Program: qemu, Why: "there is no such program", Err: err}
	case err != nil:
		return "", &NoQEMUError{Program: qemu, Why: err.Error(), Err: err}
	}
	version, usable := parseVersion(string(out.Stdout))
	if !usable {
		return "", &NoQEMUError{Program: qemu, Why: fmt.Sprintf("its version is %q", version)}
	}
	return version, nil
}

// parseVersion finds the version in what QEMU prints, and tells whether it has -netdev dgram (7.2).
func parseVersion(text string) (version string, usable bool) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return firstLine(text), false
	}
	var major, minor int
	if _, err := fmt.Sscan(m[2], &major); err != nil {
		return m[1], false
	}
	if _, err := fmt.Sscan(m[3], &minor); err != nil {
		return m[1], false
	}
	return m[1], major > 7 || major == 7 && minor >= 2
}

// cachedProbe is the file that remembers a failed probe; a user without a cache folder has none.
func cachedProbe() probeCache {
	dir, err := os.UserCacheDir()
	boot, bootErr := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || bootErr != nil {
		return probeCache{}
	}
	return probeCache{path: filepath.Join(dir, "bondrepro", "kvm-probe.json"), boot: strings.TrimSpace(string(boot))}
}
