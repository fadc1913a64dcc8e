package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Module is one module, ready to be given to init_module(2).
type Module struct {
	// Name is as the kernel writes it, with "_".
	Name string
	// File is where it came from, for the report.
	File string
	// Data is the decompressed ELF file.
	Data []byte
	// BuildID is the hex of its .note.gnu.build-id, as in
	// /sys/module/NAME/notes/.note.gnu.build-id; empty when it has none.
	BuildID string
	// Vermagic is what the kernel compares with its own before it loads the module.
	Vermagic string
	// Swapped is set for a module that the user gave in place of the kernel's.
	Swapped bool
}

// Resolve gives the named modules and all they depend on, in an order that loads.
// swap maps names of modules to the user's files; those are put in place of the
// kernel's, and are loaded whether named or not. "-" and "_" are the same in names.
//
// Built-in modules are left out. A module that is neither built in nor a file gives
// a *MissingModulesError naming all of them; without a modules.builtin to look in, a
// named module without a file is taken to be built in. Modules a softdep asks for are left
// out when they are missing. A swapped file that can't replace the kernel's module, or
// modules for another release than the kernel's, give a *UsageError.
func (k *Kernel) Resolve(names []string, swap map[string]string) ([]Module, error) {
	r := resolver{kernel: k, swap: map[string]string{}, done: map[string]bool{}, missing: map[string]bool{}}
	for name, file := range swap {
		if builtIn, _ := k.BuiltIn(name); builtIn {
			return nil, usagef("%s is built into this kernel: --module %s=%s can't replace it", name, name, file)
		}
		r.swap[normal(name)] = file
	}
	for _, name := range slices.Concat(names, slices.Sorted(maps.Keys(swap))) {
		if err := r.add(name, k.modules.builtinKnown); err != nil {
			return nil, err
		}
	}
	if len(r.missing) > 0 {
		return nil, &MissingModulesError{Release: k.Release, Names: slices.Sorted(maps.Keys(r.missing))}
	}
	return r.out, nil
}

// resolver walks the dependencies depth first, so that what is needed comes before
// what needs it.
type resolver struct {
	kernel  *Kernel
	swap    map[string]string // by normalised name
	done    map[string]bool
	missing map[string]bool
	out     []Module
}

// add appends the module and, before it, what it depends on. required makes it an
// error for it to be missing.
func (r *resolver) add(name string, required bool) error {
	name = normal(name)
	if builtIn, _ := r.kernel.BuiltIn(name); builtIn || r.done[name] {
		return nil
	}
	file := r.swap[name]
	if file == "" {
		file = r.kernel.modules.files[name]
	}
	if file == "" {
		if required {
			r.missing[name] = true
		}
		return nil
	}
	r.done[name] = true // before its dependencies: a softdep may go in a circle
	m, info, err := r.load(name, file)
	if err != nil {
		return err
	}
	for _, before := range info.softPre {
		if err := r.add(before, false); err != nil {
			return err
		}
	}
	for _, before := range info.depends {
		// depends= names modules only, nothing that is built in (scripts/mod/modpost.c).
		if err := r.add(before, true); err != nil {
			return err
		}
	}
	r.out = append(r.out, m)
	return nil
}

// load reads a module and checks that it is the one asked for and fits the kernel.
func (r *resolver) load(name, file string) (Module, moduleInfo, error) {
	_, swapped := r.swap[name]
	data, info, err := readModule(file)
	if err != nil {
		return Module{}, info, err
	}
	if info.name != "" && normal(info.name) != name {
		return Module{}, info, usagef("%s is the module %s, not %s", file, info.name, name)
	}
	if swapped {
		if err := r.fits(name, file, info.vermagic); err != nil {
			return Module{}, info, err
		}
	}
	if release, _, _ := strings.Cut(info.vermagic, " "); release != r.kernel.Release {
		return Module{}, info, usagef("%s is built for kernel %s, but this kernel is %s", file, release, r.kernel.Release)
	}
	return Module{
		Name: name, File: file, Data: data,
		BuildID: info.buildID, Vermagic: info.vermagic, Swapped: swapped,
	}, info, nil
}

// fits compares a swapped module's vermagic with that of the module it replaces.
func (r *resolver) fits(name, file, vermagic string) error {
	own := r.kernel.modules.files[name]
	if own == "" {
		return nil
	}
	_, info, err := readModule(own)
	if err != nil {
		return err
	}
	if info.vermagic != vermagic {
		return usagef("%s can't replace this kernel's %s: its vermagic is %q, the kernel's own has %q", file, name, vermagic, info.vermagic)
	}
	return nil
}

// ModuleRelease is the release of the kernel that the module at file was built for, by its vermagic. An error that the user must
// mend is a *UsageError.
func ModuleRelease(file string) (string, error) {
	_, info, err := readModule(file)
	release, _, _ := strings.Cut(info.vermagic, " ")
	return release, err
}

// readModule reads and unpacks a module's file. That it is no module, or not there, is
// the user's mistake.
func readModule(file string) ([]byte, moduleInfo, error) {
	data, err := readUnpacked(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, moduleInfo{}, usagef("module %s: there is no such file", file)
	}
	if err != nil {
		return nil, moduleInfo{}, fmt.Errorf("read module %s: %w", file, err)
	}
	info, err := parseModule(data)
	if err != nil {
		return nil, info, usagef("module %s: %v", file, err)
	}
	return data, info, nil
}

// readUnpacked reads a file that may be compressed, whatever it is called.
func readUnpacked(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := readLimited(f, maxModule)
	if err != nil {
		return nil, err
	}
	unpacked, err := decompress(bytes.NewReader(raw))
	if errors.Is(err, errNotCompressed) {
		return raw, nil
	}
	if err != nil {
		return nil, err
	}
	defer unpacked.Close()
	return readLimited(unpacked, maxModule)
}
