package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bondrepro/internal/guestproto"

	"golang.org/x/sys/unix"
)

func readManifest(path string) (guestproto.Manifest, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return guestproto.Manifest{}, err
	}
	var m guestproto.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("read %s: %w", path, err)
	}
	return m, nil
}

// loadModules loads each module and goes on after one that fails: which failure matters is the host's business.
func loadModules(modules []guestproto.ManifestModule) []guestproto.Problem {
	var problems []guestproto.Problem
	for _, m := range modules {
		if _, err := os.Stat(sysModule(m.Name)); err == nil {
			problems = append(problems, guestproto.Problem{Module: m.Name, AlreadyThere: true,
				Text: fmt.Sprintf("module %s is already in the kernel before it is loaded, most likely built in", m.Name)})
			continue
		}
		say("%s%s", guestproto.MarkLoading, m.Name)
		if err := loadModule(m); err != nil {
			problems = append(problems, guestproto.Problem{Module: m.Name, Text: fmt.Sprintf("load module %s: %v%s", m.Name, err, lastKernelWords())})
		}
	}
	say("%s", guestproto.MarkLoaded)
	return problems
}

// sysModule is the module's folder in sysfs, where dashes of file names are underscores.
func sysModule(name string) string {
	return filepath.Join("/sys/module", strings.ReplaceAll(name, "-", "_"))
}

func loadModule(m guestproto.ManifestModule) error {
	f, err := os.Open(filepath.Join(guestproto.ModuleDir, m.File))
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.FinitModule(int(f.Fd()), m.Params, 0)
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("%w: it is already loaded", err)
	}
	return err
}

// lastKernelWords is the end of the kernel's log in brackets: a module that is refused gets only an errno, and
// the reason is there.
func lastKernelWords() string {
	const most = 2
	b := make([]byte, 256<<10)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, b)
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(b[:n]), []byte("\n"))
	var said []string
	for i := len(lines) - 1; i >= 0 && len(said) < most; i-- {
		line := string(lines[i])
		if strings.Contains(line, guestproto.MarkPrefix) {
			break // what came before we started to load it
		}
		if _, text, ok := strings.Cut(line, "] "); ok {
			line = text
		}
		said = append([]string{strings.TrimSpace(line)}, said...)
	}
	if len(said) == 0 {
		return ""
	}
	return " (the kernel said: " + strings.Join(said, "; ") + ")"
}

// applySysctls writes each value; a key is a path below /proc/sys with dots or slashes.
func applySysctls(values map[string]string) []guestproto.Problem {
	var problems []guestproto.Problem
	for key, value := range values {
		path := filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			problems = append(problems, guestproto.Problem{Sysctl: key, Text: fmt.Sprintf("set sysctl %s to %s: %v", key, value, err)})
		}
	}
	return problems
}
