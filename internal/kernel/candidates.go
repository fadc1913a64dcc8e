package kernel

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Candidate is one kernel package among several.
type Candidate struct {
	// Spec is what Open takes for it: a file, or deb:PACKAGE=VERSION.
	Spec string `json:"spec"`
	// Package, Version and Architecture are its control fields.
	Package      string `json:"package"`
	Version      string `json:"version"`
	Architecture string `json:"architecture"`
	// File is the user's own .deb; empty for a package of the package system.
	File string `json:"file,omitempty"`
	// Size is that of the .deb and Unpacked that of its files, in bytes; 0 where nobody tells.
	Size     int64 `json:"size"`
	Unpacked int64 `json:"unpacked"`
	// Cached is set when nothing need be fetched.
	Cached bool `json:"-"`
}

// ID names the package in a list of candidates: PACKAGE=VERSION.
func (c Candidate) ID() string { return c.Package + "=" + c.Version }

// Release is what the package's name says of the kernel's release (uname -r); empty when the name follows another rule.
func (c Candidate) Release() string { return releaseOf(c.Package) }

// architecture is that of the kernels we boot, as packages name it.
const architecture = "amd64"

// debSpec is the spec of a package of the package system.
const debSpec = "deb:"

// Candidates gives the kernel packages that the specs name, each once, in the order of their versions (deb-version(7)),
// equal versions by name. A spec is
//
//   - a package's file (.deb);
//   - a folder: the kernel packages in it;
//   - deb:PACKAGE or deb:PACKAGE=VERSION: that package, or the one it stands for, as Open takes it; the newest version where none
//     is named;
//   - deb:PATTERN with *, ? or [ in it (path.Match): all versions of all kernel packages that the package system offers
//     or the cache holds. Debugging symbols, packages that stand for another, real-time kernels and unsigned copies of
//     signed ones are left out; real-time and unsigned ones are not where the pattern names them.
//
// Nothing is fetched. An error that the user must mend is a *UsageError.
func Candidates(ctx context.Context, specs []string, opt Options) ([]Candidate, error) {
	o, err := newOpener(opt)
	if err != nil {
		return nil, err
	}
	return o.candidates(ctx, specs)
}

func (o *opener) candidates(ctx context.Context, specs []string) ([]Candidate, error) {
	var all []Candidate
	for _, spec := range specs {
		some, err := o.candidatesOf(ctx, spec)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Or(compareVersions(a.Version, b.Version), cmp.Compare(a.Package, b.Package))
	})
	return slices.CompactFunc(all, func(a, b Candidate) bool { return a.ID() == b.ID() }), nil
}

// candidatesOf reads one spec.
func (o *opener) candidatesOf(ctx context.Context, spec string) ([]Candidate, error) {
	if pattern, ok := strings.CutPrefix(spec, debSpec); ok {
		return o.offered(ctx, pattern)
	}
	st, err := os.Stat(spec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("kernel package %s: there is no such file; give a .deb, a folder of them, or deb:PATTERN", spec)
	case err != nil:
		return nil, err
	case st.IsDir():
		return packagesIn(ctx, spec)
	}
	c, err := packageFile(ctx, spec)
	if err == nil && c.Architecture != architecture {
		return nil, usagef("%s is a package for %s; only kernels for %s can be booted", spec, c.Architecture, architecture)
	}
	return []Candidate{c}, err
}

// packageFile reads what the package at file is.
func packageFile(ctx context.Context, file string) (Candidate, error) {
	if !isDeb(file) {
		return Candidate{}, usagef("%s is no Debian package (.deb); 'bondrepro run --kernel' takes other kinds of kernels, one at a time", file)
	}
	r, err := debRecord(ctx, file)
	if err != nil {
		return Candidate{}, err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return Candidate{}, err
	}
	return Candidate{
		Spec: path, Package: r.name, Version: r.version, Architecture: r.architecture,
		File: path, Size: r.size, Unpacked: r.unpacked, Cached: true,
	}, nil
}

// packagesIn finds the kernel packages in a folder.
func packagesIn(ctx context.Context, dir string) ([]Candidate, error) {
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.deb"))
	if err != nil {
		return nil, err
	}
	var records []record
	found := map[string]Candidate{}
	for _, file := range files {
		c, err := packageFile(ctx, file)
		if err != nil {
			return nil, err
		}
		if c.Architecture == architecture && strings.HasPrefix(c.Package, imagePrefix) {
			r, err := debRecord(ctx, file)
			if err != nil {
				return nil, err
			}
			records = append(records, r)
			found[c.ID()] = c
		}
	}
	var all []Candidate
	for _, r := range bootable(records, "rt") {
		all = append(all, found[r.name+"="+r.version])
	}
	if len(all) == 0 {
		return nil, usagef("%s: there is no kernel package for %s (%s*.deb) in this folder", dir, architecture, imagePrefix)
	}
	return all, nil
}

// escapeGlob makes a path stand for itself in a pattern (path.Match).
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
