package matrix

import (
	"fmt"
	"slices"
	"strings"

	"bondrepro/reproducer"

	"github.com/goccy/go-yaml/ast"
)

// file is a matrix file as it is written, with the nodes that its errors point at.
type file struct {
	*source
	kernels   []kernelEntry
	scenarios []scenarioEntry
	settings  []settingEntry
	common    []assignment // `set`
	noControl bool
	qemu      string
}

type kernelEntry struct {
	node       ast.Node // nil: nobody names a kernel
	name, spec string
	modulesDir string
	modules    map[string]string
}

type scenarioEntry struct {
	node ast.Node
	arg  string // a name, or a file
}

type settingEntry struct {
	node   ast.Node // nil: nobody names a setting
	name   string
	values []assignment
}

// assignment is one PATH: VALUE, as `run --set` takes it, or module.NAME: FILE.
type assignment struct {
	node  ast.Node
	path  string
	value string // YAML on one line; of a module its file
}

// modulePrefix begins the assignments that put a module in place of the kernel's.
const modulePrefix = "module."

// module is the name of the module that the assignment is about.
func (a assignment) module() (name string, ok bool) { return strings.CutPrefix(a.path, modulePrefix) }

// readFile reads a matrix file. Errors are *scenarios.Error.
func readFile(name string, src []byte) (*file, error) {
	s, root, err := parse(name, src)
	if err != nil {
		return nil, err
	}
	f := &file{source: s}
	readers := map[string]func(ast.Node, string) error{
		"kernels": f.readKernels, "scenarios": f.readScenarios, "settings": f.readSettings, "set": f.readCommon,
		"no_control": f.readNoControl, "qemu": f.readQEMU,
	}
	all, err := s.fields(root, "")
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		read, ok := readers[x.name]
		if !ok {
			return nil, s.errorf(x.key, "", "there is no field %q; those of a matrix are kernels, scenarios, settings, set, no_control and qemu", x.name)
		}
		if err := read(x.value, x.name); err != nil {
			return nil, err
		}
	}
	if len(f.scenarios) == 0 {
		return nil, s.whole("names no scenario; write scenarios: [bond-multicast-tx], for one")
	}
	if len(f.kernels) == 0 {
		f.kernels = []kernelEntry{{name: kernelName(reproducer.DefaultKernel), spec: reproducer.DefaultKernel}}
	}
	if len(f.settings) == 0 {
		f.settings = []settingEntry{{name: "default"}}
	}
	return f, nil
}

func (f *file) readKernels(n ast.Node, path string) error {
	nodes, err := f.list(n, path)
	if err != nil {
		return err
	}
	for i, node := range nodes {
		k, err := f.readKernel(node, fmt.Sprintf("%s.%d", path, i))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(f.kernels, func(other kernelEntry) bool { return other.name == k.name }) {
			return f.errorf(node, path, "two kernels are called %s; give one of them another name, as in {name: old, kernel: %s}", k.name, k.spec)
		}
		f.kernels = append(f.kernels, k)
	}
	return nil
}

func (f *file) readKernel(n ast.Node, path string) (k kernelEntry, err error) {
	k.node = n
	if spec, ok := text(n); ok && spec != "" {
		k.spec, k.name = spec, kernelName(spec)
		return k, f.checkName(n, path, k.name)
	}
	all, err := f.fields(n, path)
	if err != nil {
		return k, err
	}
	for _, x := range all {
		at := join(path, x.name)
		switch x.name {
		case "name":
			k.name, err = f.name(x.value, at)
		case "kernel":
			k.spec, err = f.word(x.value, at)
		case "modules_dir":
			k.modulesDir, err = f.word(x.value, at)
		case "modules":
			k.modules, err = f.words(x.value, at)
		default:
			err = f.errorf(x.key, path, "there is no field %q; a kernel has name, kernel, modules_dir and modules", x.name)
		}
		if err != nil {
			return k, err
		}
	}
	if k.spec == "" {
		return k, f.errorf(n, path, "kernel is missing: a .deb, a bzImage, a built tree, deb:PACKAGE or host")
	}
	if k.name == "" {
		k.name = kernelName(k.spec)
	}
	return k, f.checkName(n, path, k.name)
}

// words is a mapping of words to words.
func (f *file) words(n ast.Node, path string) (map[string]string, error) {
	all, err := f.fields(n, path)
	words := map[string]string{}
	for _, x := range all {
		if words[x.name], err = f.word(x.value, join(path, x.name)); err != nil {
			return nil, err
		}
	}
	return words, err
}

func (f *file) readScenarios(n ast.Node, path string) error {
	nodes, err := f.list(n, path)
	if err != nil {
		return err
	}
	for i, node := range nodes {
		arg, err := f.word(node, fmt.Sprintf("%s.%d", path, i))
		if err != nil {
			return err
		}
		f.scenarios = append(f.scenarios, scenarioEntry{node, arg})
	}
	return nil
}

func (f *file) readSettings(n ast.Node, path string) error {
	all, err := f.fields(n, path)
	if err != nil {
		return err
	}
	for _, x := range all {
		at := join(path, x.name)
		if err := f.checkName(x.key, at, x.name); err != nil {
			return err
		}
		values, err := f.assignments(x.value, at)
		if err != nil {
			return err
		}
		f.settings = append(f.settings, settingEntry{node: x.key, name: x.name, values: values})
	}
	return nil
}

func (f *file) readCommon(n ast.Node, path string) (err error) {
	f.common, err = f.assignments(n, path)
	return err
}

// assignments are the entries of a setting.
func (f *file) assignments(n ast.Node, path string) (values []assignment, err error) {
	all, err := f.fields(n, path)
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		a := assignment{node: x.key, path: x.name}
		if name, ok := a.module(); ok {
			if name == "" {
				return nil, f.errorf(x.key, path, "names no module; write module.bonding: FILE, for one")
			}
			a.value, err = f.word(x.value, join(path, x.name))
		} else {
			a.value, err = f.line(x.value, join(path, x.name))
		}
		if err != nil {
			return nil, err
		}
		values = append(values, a)
	}
	return values, nil
}

// line is a value as YAML on one line.
func (f *file) line(n ast.Node, path string) (string, error) {
	value := strings.TrimSpace(n.String())
	_, empty := n.(*ast.NullNode)
	switch {
	case empty || value == "":
		return "", f.errorf(n, path, "has no value; write one, or leave the field out")
	case strings.Contains(value, "\n"):
		return "", f.errorf(n, path, "must stand on one line, lists in brackets and groups in braces")
	}
	return value, nil
}

func (f *file) readNoControl(n ast.Node, path string) error {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		return f.errorf(n, path, "is %s; true or false is wanted", kindOf(n))
	}
	f.noControl = b.Value
	return nil
}

func (f *file) readQEMU(n ast.Node, path string) (err error) {
	f.qemu, err = f.word(n, path)
	return err
}
