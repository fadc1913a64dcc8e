package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bondrepro/internal/osrun"
)

// maxPackages bounds how far dependencies are followed: a meta package, its image,
// and the image's parts.
const maxPackages = 8

var (
	packageName    = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	packageVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+.:~-]*$`)
	// kernelPart are the packages that a kernel is spread over: since 7.x a
	// linux-image package depends on linux-binary-* and linux-modules-*.
	kernelPart = regexp.MustCompile(`^linux-(image|binary|modules)-`)
	// extraPart are modules besides a kernel's own, in Ubuntu.
	extraPart = regexp.MustCompile(`^linux-modules-extra-`)
)

// Fetch gets a candidate, and what its kernel is spread over, into the cache, so that Open finds it there. It gives the package's
// file: the user's own, or the one in the cache. It may be called concurrently, also by several processes. What
// was used least recently goes out of the cache when it holds more than the limit, see Prune. An error that the user must mend
// is a *UsageError.
func Fetch(ctx context.Context, c Candidate, opt Options) (string, error) {
	o, err := newOpener(opt)
	if err != nil {
		return "", err
	}
	return o.fetchCandidate(ctx, c)
}

func (o *opener) fetchCandidate(ctx context.Context, c Candidate) (string, error) {
	if c.File != "" {
		return c.File, nil
	}
	if o.inCache(c.Package, c.Version) == "" {
		if err := o.hasRoom(c); err != nil {
			return "", err
		}
	}
	var file string
	err := o.walk(ctx, dependency{c.Package, c.Version}, func(deb string) (bool, error) {
		if file == "" {
			file = deb
		}
		return false, nil
	})
	return file, err
}

// fetch gives the kernel of the Debian package called what (NAME or NAME=VERSION), following a meta package to
// the package it stands for and an image to its parts.
func (o *opener) fetch(ctx context.Context, what string) (f found, err error) {
	name, version, _ := strings.Cut(what, "=")
	err = o.walk(ctx, dependency{name, version}, func(deb string) (bool, error) {
		part, err := o.extract(ctx, deb)
		if err != nil {
			return false, err
		}
		f.held = append(f.held, part.held...)
		if f.image == "" {
			f.image = part.image
		}
		if f.modulesDir == "" {
			f.modulesDir = part.modulesDir
		}
		return f.image != "" && f.modulesDir != "", nil
	})
	switch {
	case err != nil:
		return f, err
	case f.image == "":
		return f, usagef("package %s holds no kernel image, and none of the packages it depends on does", what)
	case f.modulesDir == "" && o.ModulesDir == "":
		return f, usagef("package %s holds no modules, and none of the packages it depends on does; give them with --modules", what)
	}
	return f, nil
}

// walk visits a package's file and then those of the packages that its kernel is spread over, until visit has enough.
func (o *opener) walk(ctx context.Context, first dependency, visit func(deb string) (enough bool, err error)) error {
	todo := []dependency{first}
	for i := 0; i < len(todo) && i < maxPackages; i++ {
		enough, depends, err := o.visit(ctx, todo[i], visit)
		if enough || err != nil {
			return err
		}
		for _, d := range depends {
			known := slices.ContainsFunc(todo, func(t dependency) bool { return t.name == d.name })
			if kernelPart.MatchString(d.name) && !extraPart.MatchString(d.name) && !known {
				todo = append(todo, d)
			}
		}
	}
	return nil
}

// visit has one package's file, locked, visited, and tells what the package depends on.
func (o *opener) visit(ctx context.Context, p dependency, visit func(string) (bool, error)) (bool, []dependency, error) {
	deb, held, err := o.fetchPackage(ctx, p)
	if err != nil {
		return false, nil, err
	}
	defer held.Close()
	enough, err := visit(deb)
	if enough || err != nil {
		return enough, nil, err
	}
	r, err := debRecord(ctx, deb)
	return false, r.depends, err
}

// fetchPackage gives the path of the package's .deb in the cache, fetching it if need be, and the lock that keeps it there.
func (o *opener) fetchPackage(ctx context.Context, p dependency) (string, *os.File, error) {
	what := p.String()
	if !packageName.MatchString(p.name) || p.version != "" && !packageVersion.MatchString(p.version) {
		return "", nil, usagef("kernel deb:%s: that is no package name", what)
	}
	for range holdTries { // a prune may be faster than we are
		if deb := o.inCache(p.name, p.version); deb != "" {
			held, err := hold(deb)
			if !errors.Is(err, fs.ErrNotExist) {
				return deb, held, err
			}
		}
		if err := o.download(ctx, what, p); err != nil {
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("keep package %s: it goes out of the cache as often as it is fetched", what)
}

// download gets the package into the cache, and makes room for it there.
func (o *opener) download(ctx context.Context, what string, p dependency) error {
	dir := o.packages()
	o.Progress(fmt.Sprintf("fetching package %s (once; kept in %s)", what, dir))
	tmp, done, err := scratch(dir)
	if err != nil {
		return err
	}
	defer done()
	if err := o.apt.download(ctx, tmp, what); err != nil {
		return o.explain(ctx, what, err)
	}
	deb := newestDeb(tmp, p.name, p.version)
	if deb == "" {
		return fmt.Errorf("apt-get download %s left no %s_*.deb", what, p.name)
	}
	kept := filepath.Join(dir, filepath.Base(deb))
	err = syncFolder(tmp)
	if err == nil {
		err = os.Rename(deb, kept)
	}
	if err != nil {
		return fmt.Errorf("keep package %s: %w", what, err)
	}
	_, err = o.prune(PruneOptions{Limit: o.CacheLimit, Keep: append(slices.Clone(o.Keep), packageID(kept))})
	return err
}

// String is the package as apt-get takes it: NAME or NAME=VERSION.
func (d dependency) String() string {
	if d.version == "" {
		return d.name
	}
	return d.name + "=" + d.version
}

// packages is the folder of the packages in the cache.
func (o *opener) packages() string { return filepath.Join(o.CacheDir, packagesFolder) }

// inCache is the package's file in the cache; "" for none. Without a version it is the newest.
func (o *opener) inCache(name, version string) string { return newestDeb(o.packages(), name, version) }

// newestDeb is the package's .deb in dir with the highest version, or with that version; "" for none.
func newestDeb(dir, name, version string) string {
	matches, _ := filepath.Glob(filepath.Join(escapeGlob(dir), name+"_*.deb")) // the pattern is well-formed
	newest, of := "", ""
	for _, match := range matches {
		_, v, _ := strings.Cut(packageID(match), "=")
		if version == "" && (newest == "" || compareVersions(v, of) > 0) || version != "" && v == version {
			newest, of = match, v
		}
	}
	return newest
}

// packageID is NAME=VERSION of a file that apt-get named NAME_VERSION_ARCHITECTURE.deb. Neither name nor version holds a "_"; the
// colon of an epoch is written as %3a.
func packageID(file string) string {
	name, rest, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".deb"), "_")
	version, _, _ := strings.Cut(rest, "_")
	return name + "=" + strings.ReplaceAll(version, "%3a", ":")
}

// notOffered is what apt-get says of a name, or of a version, that its index lacks, and of one that the server has no more.
var notOffered = regexp.MustCompile(`Unable to locate package|Version '[^']*' for '[^']*' was not found|Failed to fetch .* 404 `)

// explain says what to do about a failed download.
func (o *opener) explain(ctx context.Context, name string, err error) error {
	var run *osrun.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, osrun.ErrNotFound):
		return usagef("kernel deb:%s needs apt-get (Debian, Ubuntu); give a .deb or an image instead", name)
	}
	if !o.apt.hasLists() {
		return usagef("fetch package %s: apt has no package lists; run apt-get update first", name)
	}
	if errors.As(err, &run) && notOffered.MatchString(run.Tail) {
		return notOfferedf("fetch package %s: apt knows no such package; run apt-get update, or give another", name)
	}
	return fmt.Errorf("fetch package %s: %w", name, err)
}
