package vm

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// probeCache remembers that KVM did not work. Only failures are remembered, as only they are slow, and only for
// one boot: after it the machine may have another kernel or another hypervisor below it. The zero value
// remembers nothing. It is a convenience: its own errors cost a probe and are not told.
type probeCache struct {
	path string
	boot string
}

type failedProbe struct {
	Boot string `json:"boot"` // /proc/sys/kernel/random/boot_id
	QEMU string `json:"qemu"` // version
	Why  string `json:"why"`
}

func (c probeCache) failed(version string) (why string, failed bool) {
	b, err := os.ReadFile(c.path)
	if err != nil {
		return "", false
	}
	var f failedProbe
	if json.Unmarshal(b, &f) != nil || f.Boot != c.boot || f.QEMU != version || f.Boot == "" {
		return "", false
	}
	return f.Why, true
}

func (c probeCache) store(version, why string) {
	if c.path == "" {
		return
	}
	b, err := json.Marshal(failedProbe{Boot: c.boot, QEMU: version, Why: why})
	if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
		return
	}
	_ = renameio.WriteFile(c.path, append(b, '\n'), 0o600)
}
