package kbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Module is one module to build outside its kernel's tree, against the kernel's headers.
type Module struct {
	// Source is the folder with the module's Makefile or Kbuild. It gets what is built, too: kbuild knows no other place.
	Source string
	// Headers is lib/modules/RELEASE/build, a linux-headers folder, or a built kernel tree.
	Headers string
	// Name is the module's, as in bonding. "-" and "_" are the same.
	Name string
	// Jobs is how many compilers run at once, 0 for one a CPU.
	Jobs int
	// Progress is told, in a sentence, of what takes longer than a moment. nil is silent.
	Progress func(string)
	// Log is a file that gets all that the build writes; it is emptied first. Empty means none.
	Log string
}

// Build builds the module, without debug info, and gives its file, Source/NAME.ko or one in a folder below. A module of an earlier
// build is removed first. Errors are as Tree.Build's.
func (m Module) Build(ctx context.Context) (file string, err error) {
	if m.Source, err = filepath.Abs(m.Source); err != nil {
		return "", err
	}
	if m.Headers, err = filepath.Abs(m.Headers); err != nil {
		return "", err
	}
	if err := areHeaders(m.Headers); err != nil {
		return "", err
	}
	options, err := moduleOptions(m.Source, m.Name)
	if err != nil {
		return "", err
	}
	if err := look(modulePrograms); err != nil {
		return "", err
	}
	locked, err := lock(m.Source)
	if err != nil {
		return "", err
	}
	defer locked.Close()
	if err := spaceLeft(m.Source, againBytes); err != nil {
		return "", err
	}
	old, err := m.built()
	if err != nil {
		return "", err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return "", fmt.Errorf("remove the module of an earlier build: %w", err)
		}
	}
	b, err := start(m.Progress, m.Jobs, m.Log, m.Source, m.Source)
	if err != nil {
		return "", err
	}
	b.progress(fmt.Sprintf("building %s with %d jobs", m.Name, b.jobs))
	if err = b.close(b.modules(ctx, m, options)); err != nil {
		return "", err
	}
	made, err := m.built()
	switch {
	case err != nil:
		return "", err
	case len(made) == 0:
		return "", &BuildError{Reason: fmt.Sprintf("make ended well and built no %s.ko: its Makefile builds no such module", m.Name)}
	}
	return made[0], nil
}

// modules runs make. Options are given on its command line, as m, whatever the kernel's config says: the Makefile of a driver in the
// kernel's tree builds it as that says. Debug info, and the type information made of it, hold line numbers and only cost time.
func (b *build) modules(ctx context.Context, m Module, options []string) error {
	args := []string{"M=" + m.Source, "CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF=", "CONFIG_DEBUG_INFO_BTF_MODULES="}
	for _, o := range options {
		args = append(args, o+"=m")
	}
	return resumable(m.Source, func() error { return b.make(ctx, m.Headers, nil, append(args, "modules")...) })
}

// built are the files of the module in Source.
func (m Module) built() ([]string, error) {
	var files []string
	err := filepath.WalkDir(m.Source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, ok := strings.CutSuffix(d.Name(), ".ko"); ok && normal(name) == normal(m.Name) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the module: %w", err)
	}
	return files, nil
}

// normal is a module's name as the kernel writes it.
func normal(name string) string { return strings.ReplaceAll(name, "-", "_") }

// headerFiles are some of what kbuild can't build a module without.
var headerFiles = []string{"Makefile", "include/config/auto.conf", "scripts/mod/modpost"}

// areHeaders is an error for a folder that modules can't be built against.
func areHeaders(dir string) error {
	for _, name := range headerFiles {
		_, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s holds no headers to build modules against: there is no %s in it; give lib/modules/RELEASE/build, a linux-headers folder or a built kernel tree", dir, name)
		}
		if err != nil {
			return fmt.Errorf("the kernel's headers: %w", err)
		}
	}
	return nil
}
