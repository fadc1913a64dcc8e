package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeQEMU is a program that runs script in place of QEMU, and counts its starts.
func fakeQEMU(t *testing.T, script string) (path string, starts func() int) {
	t.Helper()
	dir := t.TempDir()
	path, count := filepath.Join(dir, "qemu"), filepath.Join(dir, "starts")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho >>"+count+"\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, func() int {
		b, _ := os.ReadFile(count)
		return len(b)
	}
}

func TestChooseAccelerator(t *testing.T) {
	device := filepath.Join(t.TempDir(), "kvm")
	if err := os.WriteFile(device, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, device, script, accel, why string
	}{
		{"works", device, "printf S >&3; exec sleep 60", KVM, "runs a guest"},
		{"crashes", device, "echo 'failed to set MSR' >&2; kill -ABRT $$", TCG,
			"KVM opens, but QEMU can't run a guest on it: qemu -nodefaults: ended by signal 6 (aborted); it wrote last: failed to set MSR"},
		{"hangs", device, "exec sleep 60", TCG, "its firmware did not start within 3s"},
		{"no device", device + "-none", "exit 1", TCG, "can't be opened: no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			qemu, _ := fakeQEMU(t, tt.script)
			got, err := chooseAccelerator(t.Context(), qemu, "7.2", tt.device, probeCache{})
			if err != nil || got.Name != tt.accel || !strings.Contains(got.Why, tt.why) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestFailedProbeIsRememberedForThisBootAndQEMU(t *testing.T) {
	dir := t.TempDir()
	device := filepath.Join(dir, "kvm")
	if err := os.WriteFile(device, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	qemu, starts := fakeQEMU(t, "exit 1")
	for i, step := range []struct {
		boot, version string
		starts        int
	}{{"a", "7.2", 1}, {"a", "7.2", 1}, {"a", "8.0", 2}, {"b", "8.0", 3}, {"b", "8.0", 3}} {
		cache := probeCache{path: filepath.Join(dir, "sub", "probe.json"), boot: step.boot}
		got, err := chooseAccelerator(t.Context(), qemu, step.version, device, cache)
		if err != nil || got.Name != TCG || starts() != step.starts {
			t.Errorf("step %d: %+v, %v, %d starts, want %d", i, got, err, starts(), step.starts)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]struct {
		version string
		usable  bool
	}{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright": {"7.2.22", true},
		"QEMU emulator version 10.0.50":                                 {"10.0.50", true},
		"QEMU emulator version 7.1.0":                                   {"7.1.0", false},
		"something else\n":                                              {"something else ", false},
		"":                                                              {"", false},
	} {
		if version, usable := parseVersion(text); version != want.version || usable != want.usable {
			t.Errorf("%q: %q, %v", text, version, usable)
		}
	}
}

func TestQEMUOfPATH(t *testing.T) {
	qemu, _ := fakeQEMU(t, "echo QEMU emulator version 9.1.2")
	dir := filepath.Dir(qemu)
	if err := os.Rename(qemu, filepath.Join(dir, "qemu-system-x86_64")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if v, err := QEMUVersion(t.Context(), ""); err != nil || v != "9.1.2" {
		t.Errorf("got %q, %v", v, err)
	}
}
