package doctor

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// feature is one thing the running kernel can do, or could after loading a module.
type feature struct {
	name   string
	config string // CONFIG_ symbol
	module string
	use    string // what it is good for here
}

var features = []feature{
	{"bonding", "CONFIG_BONDING", "bonding", "to make a bond on the running kernel"},
	{"netem", "CONFIG_NET_SCH_NETEM", "sch_netem", "for the positive control on the running kernel"},
	{"tbf", "CONFIG_NET_SCH_TBF", "sch_tbf", "for a line rate on veth on the running kernel"},
}

// kernelFiles is what tells about the running kernel without loading anything. A missing file is empty.
type kernelFiles struct {
	release string
	config  string   // /proc/config.gz or /boot/config-RELEASE, unpacked
	builtin string   // modules.builtin
	dep     string   // modules.dep
	loaded  []string // names in /sys/module
}

func readKernelFiles() kernelFiles {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return kernelFiles{}
	}
	k := kernelFiles{release: unix.ByteSliceToString(u.Release[:])}
	text := func(name string) string {
		b, _ := os.ReadFile(name)
		return string(b)
	}
	dir := filepath.Join("/lib/modules", k.release)
	k.builtin = text(filepath.Join(dir, "modules.builtin"))
	k.dep = text(filepath.Join(dir, "modules.dep"))
	if k.config = gunzip(text("/proc/config.gz")); k.config == "" {
		k.config = text("/boot/config-" + k.release)
	}
	entries, _ := os.ReadDir("/sys/module")
	for _, e := range entries {
		k.loaded = append(k.loaded, e.Name())
	}
	return k
}

func gunzip(s string) string {
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		return ""
	}
	const most = 8 << 20
	b, err := io.ReadAll(io.LimitReader(z, most))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// has tells whether the kernel has the feature, and how that is known.
func (k kernelFiles) has(f feature) (bool, string) {
	for _, name := range k.loaded {
		if name == f.module {
			return true, "loaded or built in"
		}
	}
	switch {
	case hasModule(k.builtin, f.module):
		return true, "built in"
	case hasModule(k.dep, f.module):
		return true, "a module, not loaded"
	case k.setTo(f.config, "y"):
		return true, "built in"
	case k.setTo(f.config, "m"):
		return false, f.config + "=m, but the module's file is not in /lib/modules/" + k.release
	case k.config != "":
		return false, f.config + " is not set"
	}
	return false, "no trace of it in /sys/module or /lib/modules/" + k.release
}

func (k kernelFiles) setTo(symbol, value string) bool {
	for line := range strings.Lines(k.config) {
		if strings.TrimSpace(line) == symbol+"="+value {
			return true
		}
	}
	return false
}

// hasModule finds NAME.ko, perhaps compressed, as the first path of a line of modules.builtin or modules.dep.
func hasModule(list, name string) bool {
	for line := range strings.Lines(list) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		base, _, isModule := strings.Cut(path.Base(file), ".ko")
		if isModule && strings.ReplaceAll(base, "-", "_") == name {
			return true
		}
	}
	return false
}
