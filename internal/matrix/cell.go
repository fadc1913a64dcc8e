package matrix

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"bondrepro/reproducer"
	"bondrepro/scenarios"

	"github.com/goccy/go-yaml/ast"
)

// Cell is one kernel with one scenario and one setting.
type Cell struct {
	ID       string `json:"id"` // "KERNEL,SCENARIO,SETTING", which is the name of its files, too
	Kernel   string `json:"kernel"`
	Scenario string `json:"scenario"`
	Setting  string `json:"setting"`
	// Key is a hash of what is measured: the effective scenario, and the kernel and the modules as the file names them. The
	// same definition has the same key on every machine.
	Key string `json:"key"`
	// Options are what to run. They are not in a plan that was read from a folder of results.
	Options reproducer.Options `json:"-"`
	// local tells that kernel or modules are files of the user's, which may be built anew.
	local bool
}

// cell makes one cell.
func (f *file) cell(k kernelEntry, sc scenarios.Scenario, setting settingEntry) (Cell, error) {
	var set []string
	modules := map[string]string{} // as the file names them
	maps.Copy(modules, k.modules)
	at := setting.node
	for _, group := range []struct {
		path   string
		values []assignment
	}{{"set", f.common}, {"settings." + setting.name, setting.values}} {
		for _, a := range group.values {
			if at == nil {
				at = a.node
			}
			if name, ok := a.module(); ok {
				modules[name] = a.value
				continue
			}
			text := a.path + "=" + a.value
			if err := sc.Set(text); err != nil {
				return Cell{}, f.misfit(a.node, join(group.path, a.path), sc, err)
			}
			set = append(set, text)
		}
	}
	if err := sc.Validate(); err != nil {
		return Cell{}, f.misfit(at, "settings."+setting.name, sc, err)
	}
	c := Cell{Kernel: k.name, Setting: setting.name, Options: reproducer.Options{
		Scenario: sc, Set: set, Testbed: "vm", Kernel: k.spec, ModulesDir: f.path(k.modulesDir), QEMU: f.program(), NoControl: f.noControl,
	}}
	effective, err := scenarios.Marshal(sc)
	if err != nil {
		return Cell{}, err
	}
	c.Key = hash(definition{k.spec, k.modulesDir, modules, string(effective), f.noControl})
	if isPath(k.spec) {
		c.Options.Kernel = f.path(k.spec)
	}
	c.local = isPath(k.spec) || len(modules) > 0 || k.modulesDir != ""
	return c, f.addFiles(&c, k, setting, modules)
}

// addFiles puts the modules' files in, and makes sure that all files are there.
func (f *file) addFiles(c *Cell, k kernelEntry, setting settingEntry, modules map[string]string) error {
	there := func(n ast.Node, field, path string) error {
		if _, err := os.Stat(path); err != nil {
			return f.errorf(n, field, "%v", err)
		}
		return nil
	}
	if isPath(k.spec) {
		if err := there(k.node, "kernels", c.Options.Kernel); err != nil {
			return err
		}
	}
	if k.modulesDir != "" {
		if err := there(k.node, "kernels", c.Options.ModulesDir); err != nil {
			return err
		}
	}
	c.Options.Modules = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		c.Options.Modules[name] = f.path(modules[name])
		n, field := k.node, "kernels"
		if modules[name] != k.modules[name] {
			n, field = setting.node, "settings."+setting.name
		}
		if err := there(n, join(field, modulePrefix+name), c.Options.Modules[name]); err != nil {
			return err
		}
	}
	return nil
}

// misfit is an assignment or a setting that a scenario can't have.
func (f *file) misfit(n ast.Node, path string, sc scenarios.Scenario, err error) error {
	message := err.Error()
	var e *scenarios.Error
	if errors.As(err, &e) {
		message = e.Message
		if e.Path != "" && !strings.HasSuffix(path, "."+e.Path) {
			message = e.Path + ": " + message
		}
	}
	return f.errorf(n, path, "scenario %s: %s", sc.Name, message)
}

// program is the QEMU to start: a file where it is written as a path, else one of $PATH.
func (f *file) program() string {
	if strings.Contains(f.qemu, "/") {
		return f.path(f.qemu)
	}
	return f.qemu
}

// isPath tells whether a kernel is a file or a folder.
func isPath(spec string) bool { return spec != hostKernel && !strings.HasPrefix(spec, debPrefix) }

// definition is what makes a cell the cell it is.
type definition struct {
	Kernel     string
	ModulesDir string
	Modules    map[string]string
	Scenario   string // effective, as YAML
	NoControl  bool
}
