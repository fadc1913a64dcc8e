package bisect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bondrepro/internal/kernel"

	"github.com/google/renameio/v2"
)

// PackageOptions are what `bisect packages` was given.
type PackageOptions struct {
	// Kernels are packages (.deb), folders of them, and deb:PATTERN, see kernel.Candidates.
	Kernels []string `json:"kernels"`
	// Modules are put in place of a kernel's own, NAME: FILE, in the kernels they were built for; other kernels keep theirs.
	Modules map[string]string `json:"modules,omitempty"`
	// ModulesDir holds modules of kernels whose packages hold none, in folders called by the release.
	ModulesDir string `json:"modules_dir,omitempty"`
	// CacheLimit is how many bytes of kernels are kept in the cache; 0 is kernel.DefaultCacheLimit.
	CacheLimit int64 `json:"cache_limit,omitempty"`
	// Good and Bad are ends: a PACKAGE, PACKAGE=VERSION, VERSION, RELEASE, file, or deb:PACKAGE. Empty ones are the two ends of the
	// list. Good is the older one; with FindFix, Bad is.
	Good    string `json:"-"`
	Bad     string `json:"-"`
	FindFix bool   `json:"-"`
	// Folder is the bisect's. What the specs stood for at first is kept in it, as the package system's index may change meanwhile.
	Folder string `json:"-"`
	// Progress is told what is being done; nil is silence.
	Progress func(string) `json:"-"`
}

// listName is the file of the list of kernels, in the bisect's folder.
const listName = "kernels.json"

// kernelList is what is in it.
type kernelList struct {
	Specs   []string           `json:"specs"`
	Kernels []kernel.Candidate `json:"kernels"`
}

// OpenPackages makes a history of kernel packages, in the order of their versions. Nothing is fetched yet. Errors are *UsageError or of the
// environment.
func OpenPackages(ctx context.Context, o PackageOptions) (Space, Ends, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	list, kept, err := loadList(o)
	if err != nil {
		return nil, Ends{}, err
	}
	if !kept {
		o.Progress("looking for kernel packages")
		if list, err = kernel.Candidates(ctx, o.Kernels, kernel.Options{}); err != nil {
			return nil, Ends{}, usageOfKernel(err)
		}
	}
	if len(list) < 2 {
		return nil, Ends{}, &UsageError{Err: fmt.Errorf("bisect packages %s: there is one kernel only, %s; at least two are needed", strings.Join(o.Kernels, " "), list[0].ID())}
	}
	p := newPackages(ctx, o, list)
	ends, err := p.settleEnds(ctx)
	if err == nil {
		err = p.settleModules()
	}
	if err == nil && !kept {
		err = saveList(o, list)
	}
	if err != nil {
		return nil, Ends{}, errors.Join(err, p.Close(ctx))
	}
	return p, ends, nil
}

// usageOfKernel makes usage errors of the kernel's room this one's.
func usageOfKernel(err error) error {
	var wrong *kernel.UsageError
	if errors.As(err, &wrong) {
		return &UsageError{Err: err}
	}
	return err
}

// loadList gives the list that was kept for the same specs.
func loadList(o PackageOptions) (list []kernel.Candidate, kept bool, err error) {
	if o.Folder == "" {
		return nil, false, nil
	}
	name := filepath.Join(o.Folder, listName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	var l kernelList
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the list of kernels %s: %w", name, err)
	}
	return l.Kernels, slices.Equal(l.Specs, o.Kernels) && len(l.Kernels) > 0, nil
}

// saveList keeps the list for a bisect that goes on later.
func saveList(o PackageOptions, list []kernel.Candidate) error {
	if o.Folder == "" {
		return nil
	}
	data, err := json.MarshalIndent(kernelList{o.Kernels, list}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return fmt.Errorf("keep the list of kernels: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(o.Folder, listName), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep the list of kernels: %w", err)
	}
	return nil
}

// settleEnds finds the ends in the list.
func (p *packages) settleEnds(ctx context.Context) (Ends, error) {
	oldFlag, newFlag := "--good", "--bad"
	oldName, newName := p.options.Good, p.options.Bad
	if p.options.FindFix {
		oldFlag, newFlag, oldName, newName = newFlag, oldFlag, newName, oldName
	}
	first, err := p.end(ctx, oldFlag, oldName, 0)
	if err != nil {
		return Ends{}, err
	}
	last, err := p.end(ctx, newFlag, newName, len(p.list)-1)
	if err != nil {
		return Ends{}, err
	}
	ends := Ends{Old: p.list[first].ID(), New: p.list[last].ID()}
	switch {
	case first == last:
		return ends, &UsageError{Err: fmt.Errorf("%s and %s are the same kernel, %s", oldFlag, newFlag, ends.Old)}
	case first > last:
		hint := "; --find-fix looks for the kernel that ends a symptom"
		if p.options.FindFix {
			hint = "; without --find-fix the kernel is looked for that starts a symptom"
		}
		return ends, &UsageError{Err: fmt.Errorf("%s %s is newer than %s %s%s", oldFlag, ends.Old, newFlag, ends.New, hint)}
	}
	p.first, p.last = first, last
	return ends, nil
}

// end finds one end by any of its names; "" is the default.
func (p *packages) end(ctx context.Context, flag, name string, byDefault int) (int, error) {
	if name == "" {
		return byDefault, nil
	}
	var at []int
	for i, c := range p.list {
		if slices.Contains([]string{c.ID(), c.Spec, c.Package, c.Version, c.Release()}, name) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		// A file by another path, or a package that stands for another.
		if some, err := kernel.Candidates(ctx, []string{name}, kernel.Options{}); err == nil && len(some) == 1 {
			if i := p.index(some[0].ID()); i >= 0 {
				at = append(at, i)
			}
		}
	}
	switch {
	case len(at) == 0:
		return 0, &UsageError{Err: fmt.Errorf("%s %s is none of the %d kernels, %s to %s", flag, name, len(p.list), p.list[0].ID(), p.list[len(p.list)-1].ID())}
	case len(at) > 1:
		return 0, &UsageError{Err: fmt.Errorf("%s %s is %d of the kernels, the first %s and the last %s: name one as PACKAGE=VERSION", flag, name, len(at), p.list[at[0]].ID(), p.list[at[len(at)-1]].ID())}
	}
	return at[0], nil
}

// settleModules finds out which kernels the modules are for.
func (p *packages) settleModules() error {
	for _, name := range slices.Sorted(maps.Keys(p.options.Modules)) {
		file, err := filepath.Abs(p.options.Modules[name])
		if err != nil {
			return err
		}
		release, err := p.moduleRelease(file)
		if err != nil {
			return usageOfKernel(err)
		}
		// A package that is not called by its release is looked into when it has been fetched.
		fits := slices.ContainsFunc(p.list[p.first:p.last+1], func(c kernel.Candidate) bool { return c.Release() == release || c.Release() == "" })
		if !fits {
			return &UsageError{Err: fmt.Errorf("--module %s=%s is built for kernel %s, which is none of the %d kernels, %s to %s",
				name, file, release, p.last-p.first+1, p.list[p.first].ID(), p.list[p.last].ID())}
		}
		p.modules = append(p.modules, moduleFor{name, file, release})
	}
	return nil
}
