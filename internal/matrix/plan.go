// Package matrix measures every cell of kernels × scenarios × settings, in one go or in parts on many machines, and joins the
// parts.
//
//   - Read makes a Plan of a matrix file: all its cells, checked before anything boots.
//   - Shard is one part of a plan; Slurm, Kubernetes and GitLab tell which one through their environment.
//   - Store is the folder of results: one file a cell, whole or not there. What it holds is not measured again.
//   - Run measures cells; Slurm has a cluster do it; Merge joins folders and tells what is missing or double.
package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bondrepro/reproducer"
	"bondrepro/scenarios"

	"github.com/goccy/go-yaml/ast"
)

// PlanSchema is the version of a plan's JSON form; it grows when a field changes its meaning or goes.
const PlanSchema = 1

// Plan is every cell of a matrix, by scenario, setting and kernel in the order of the file.
type Plan struct {
	Schema int    `json:"schema"`
	File   string `json:"file"` // the matrix file's name, without its folder
	// Key is a hash of all cells: folders of equal plans can be merged.
	Key   string `json:"key"`
	Cells []Cell `json:"cells"`
}

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

const (
	debPrefix  = "deb:"
	hostKernel = "host" // the running one's files
)

// Read makes the plan of a matrix file and checks all of it: names, fields, every cell's scenario, and that files are there.
// Relative paths are relative to the matrix file. Errors are one sentence, with line and column where they are about one.
func Read(name string) (Plan, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return Plan{}, fmt.Errorf("matrix file: %w", err)
	}
	f, err := readFile(name, src)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Schema: PlanSchema, File: filepath.Base(name)}
	seen := map[string]bool{}
	for _, entry := range f.scenarios {
		sc, err := f.load(entry)
		if err != nil {
			return Plan{}, err
		}
		title := slug(sc.Name)
		if err := f.checkName(entry.node, "scenarios", title); err != nil {
			return Plan{}, err
		}
		if seen[title] {
			return Plan{}, f.errorf(entry.node, "scenarios", "two scenarios are called %s; change the name in one of them", title)
		}
		seen[title] = true
		for _, setting := range f.settings {
			for _, k := range f.kernels {
				c, err := f.cell(k, sc, setting)
				if err != nil {
					return Plan{}, err
				}
				c.Scenario = title
				c.ID = strings.Join([]string{c.Kernel, c.Scenario, c.Setting}, ",")
				p.Cells = append(p.Cells, c)
			}
		}
	}
	p.Key = hash(p.Cells)
	return p, nil
}

// load reads a scenario, by name or from a file.
func (f *file) load(entry scenarioEntry) (scenarios.Scenario, error) {
	if !scenarios.IsFile(entry.arg) {
		sc, _, err := scenarios.Load(entry.arg)
		return sc, f.wrap(entry, err)
	}
	path := f.path(entry.arg)
	src, err := os.ReadFile(path)
	if err != nil {
		return scenarios.Scenario{}, f.wrap(entry, err)
	}
	return scenarios.Parse(path, src)
}

// wrap says where the scenario of an error is named.
func (f *file) wrap(entry scenarioEntry, err error) error {
	if err == nil {
		return nil
	}
	return f.errorf(entry.node, "scenarios", "%v", err)
}

// path is a path of the file, from where we are.
func (f *file) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(f.file), p)
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

// hash is that of the JSON form of v, in hex.
func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and maps of strings always have one
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Cell is the cell with that id.
func (p Plan) Cell(id string) (Cell, bool) {
	i := slices.IndexFunc(p.Cells, func(c Cell) bool { return c.ID == id })
	if i < 0 {
		return Cell{}, false
	}
	return p.Cells[i], true
}
