package testbed

import (
	"bytes"
	"os"
	"runtime"
	"strings"

	"bondrepro/reproducer/result"

	"golang.org/x/sys/unix"
)

// HostFacts reads what this machine is; what can't be read stays empty.
func HostFacts() result.Host {
	h := result.Host{CPUs: runtime.NumCPU()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = string(bytes.TrimRight(u.Release[:], "\x00"))
	}
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			h.CPU = strings.TrimSpace(value)
			break
		}
	}
	return h
}
