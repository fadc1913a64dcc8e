package kernel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// builtinFile lists what is built in (Documentation/kbuild/kbuild.rst).
const builtinFile = "modules.builtin"

// modules is what a folder of modules holds. The zero value knows nothing.
type modules struct {
	files        map[string]string // normalised name to file
	builtin      map[string]bool
	builtinKnown bool // there was a modules.builtin
}

// normal is a module's name as the kernel writes it: "-" and "_" are the same.
func normal(name string) string { return strings.ReplaceAll(name, "-", "_") }

// moduleName is the normalised name of a module's file, "" for another file.
func moduleName(file string) string {
	name, extension, ok := strings.Cut(path.Base(file), ".ko")
	switch extension {
	case "", ".xz", ".zst", ".gz":
		if ok {
			return normal(name)
		}
	}
	return ""
}

// moduleFolder finds the folder that holds release's modules in what the user gave.
func moduleFolder(given, release string) string {
	for _, below := range []string{release, "lib/modules/" + release, "usr/lib/modules/" + release} {
		if dir := filepath.Join(given, below); exists(dir) {
			return dir
		}
	}
	return given
}

// openModules finds the modules below dir. Of two with one name, one below "updates"
// wins (depmod.d(5), search), else the first by path.
func openModules(dir string) (modules, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return modules{}, usagef("modules: %v", err)
	}
	m := modules{files: map[string]string{}}
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := moduleName(file); name != "" && entry.Type().IsRegular() {
			if _, taken := m.files[name]; !taken || strings.HasPrefix(file, filepath.Join(dir, "updates")+"/") {
				m.files[name] = file
			}
		}
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("read modules: %w", err)
	}
	return m, m.readBuiltin(dir)
}

// openTree finds the modules of a built kernel tree: those that its modules.order lists,
// so that a .ko file left from an older configuration is not one of them. Before
// modules are built there is no such list, and no module.
func openTree(dir string) (modules, error) {
	m := modules{files: map[string]string{}}
	text, err := os.ReadFile(filepath.Join(dir, "modules.order"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("read modules: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		// drivers/net/dummy.o; before Linux 6.4 .ko; before 5.3 with kernel/ in front.
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "kernel/")
		if object, ok := strings.CutSuffix(line, ".o"); ok {
			line = object + ".ko"
		}
		// "kernel/" may also be the tree's own folder of that name.
		for _, file := range []string{filepath.Join(dir, line), filepath.Join(dir, "kernel", line)} {
			if name := moduleName(line); name != "" && exists(file) {
				m.files[name] = file
			}
		}
	}
	return m, m.readBuiltin(dir)
}

// readBuiltin reads dir's modules.builtin, if there is one.
func (m *modules) readBuiltin(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, builtinFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read modules: %w", err)
	}
	m.builtin, m.builtinKnown = parseBuiltin(text), true
	return nil
}

// parseBuiltin reads a modules.builtin: one kernel/…/NAME.ko a line.
func parseBuiltin(text []byte) map[string]bool {
	builtin := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if name := moduleName(strings.TrimSpace(lines.Text())); name != "" {
			builtin[name] = true
		}
	}
	return builtin
}

// BuiltIn says whether the module is built into the kernel. known is false, and then
// builtIn too, when there is no modules.builtin to look in. "-" and "_" are the same.
func (k *Kernel) BuiltIn(name string) (builtIn, known bool) {
	return k.modules.builtin[normal(name)], k.modules.builtinKnown
}

// Has says whether the kernel has the module, as a file or built in, as far as its
// files tell: use it to leave out modules that are merely useful.
func (k *Kernel) Has(name string) bool {
	return k.modules.files[normal(name)] != "" || k.modules.builtin[normal(name)]
}
