package netns

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Module is a part of the kernel that may be a module.
type Module struct {
	Name   string // as in /sys/module: sch_netem
	Config string // CONFIG_ symbol
}

// Presence is what is known of a module of the running kernel.
type Presence int

// What is known. The zero value is that nothing is.
const (
	Unknown   Presence = iota
	Absent             // the kernel was built without it
	NotLoaded          // a module that is not loaded; its file may be missing (a container has no /lib/modules)
	Present            // loaded or built in
)

// Running is what tells about the running kernel without loading anything. A file that can't be read is empty.
type Running struct {
	Release string
	config  string   // /proc/config.gz or /boot/config-RELEASE, unpacked
	builtin string   // modules.builtin
	dep     string   // modules.dep
	loaded  []string // names in /sys/module: what is loaded, and of what is built in that which has parameters or a version
}

// ReadRunning reads the files below root, which is "/" but in tests.
func ReadRunning(root string) Running {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Running{}
	}
	k := Running{Release: unix.ByteSliceToString(u.Release[:])}
	text := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(root, name))
		return string(b)
	}
	modules := filepath.Join("/lib/modules", k.Release)
	k.builtin = text(filepath.Join(modules, "modules.builtin"))
	k.dep = text(filepath.Join(modules, "modules.dep"))
	if k.config = gunzip(text("/proc/config.gz")); k.config == "" {
		k.config = text("/boot/config-" + k.Release)
	}
	entries, _ := os.ReadDir(filepath.Join(root, "/sys/module"))
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

// Has tells what is known of a module, and how.
func (k Running) Has(m Module) (p Presence, how string) {
	set := func(value string) bool { return hasLine(k.config, m.Config+"="+value) }
	switch {
	case slices.Contains(k.loaded, m.Name):
		return Present, "loaded or built in"
	case hasModule(k.builtin, m.Name), set("y"):
		return Present, "built in"
	case hasModule(k.dep, m.Name):
		return NotLoaded, "a module, not loaded"
	case set("m"):
		return NotLoaded, fmt.Sprintf("%s=m, not loaded, and its file is not in /lib/modules/%s", m.Config, k.Release)
	case k.config != "":
		return Absent, m.Config + " is not set"
	}
	return Unknown, "no trace of it in /sys/module or /lib/modules/" + k.Release
}

func hasLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == line {
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
