package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"bondrepro/internal/osrun"
)

// fetchTimeout bounds one download.
const fetchTimeout = 10 * time.Minute

// maxPackages bounds how far dependencies are followed: a meta package, its image,
// and the image's parts.
const maxPackages = 8

var (
	packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	// kernelPart are the packages that a kernel is spread over: since 7.x a
	// linux-image package depends on linux-binary-* and linux-modules-*.
	kernelPart = regexp.MustCompile(`^linux-(image|binary|modules)-`)
)

// aptGet is how packages come; tests replace it.
type aptGet struct {
	// download puts the package's .deb into dir.
	download func(ctx context.Context, dir, name string) error
	// lists is where apt keeps its package lists.
	lists string
}

var systemApt = aptGet{download: aptDownload, lists: "/var/lib/apt/lists"}

func aptDownload(ctx context.Context, dir, name string) error {
	_, err := osrun.Run(ctx, osrun.Cmd{
		Path:    "apt-get",
		Args:    []string{"download", name},
		Dir:     dir,
		Env:     append(os.Environ(), "LC_ALL=C"),
		Timeout: fetchTimeout,
	})
	return err
}

// fetch gives the kernel of the Debian package called name, following a meta package to
// the package it stands for and an image to its parts. A package in the cache is
// not fetched again.
func (o *opener) fetch(ctx context.Context, name string) (found, error) {
	var f found
	todo := []string{name}
	for i := 0; i < len(todo) && i < maxPackages; i++ {
		deb, err := o.fetchPackage(ctx, todo[i])
		if err != nil {
			return f, err
		}
		part, err := o.extract(ctx, deb)
		if err != nil {
			return f, err
		}
		if f.image == "" {
			f.image = part.image
		}
		if f.modulesDir == "" {
			f.modulesDir = part.modulesDir
		}
		if f.image != "" && f.modulesDir != "" {
			return f, nil
		}
		depends, err := debDepends(ctx, deb)
		if err != nil {
			return f, err
		}
		for _, d := range depends {
			if kernelPart.MatchString(d) && !slices.Contains(todo, d) {
				todo = append(todo, d)
			}
		}
	}
	switch {
	case f.image == "":
		return f, usagef("package %s holds no kernel image, and none of the packages it depends on does", name)
	case o.ModulesDir == "":
		return f, usagef("package %s holds no modules, and none of the packages it depends on does; give them with --modules", name)
	}
	return f, nil
}

// fetchPackage gives the path of the package's .deb in the cache, fetching it if need be.
func (o *opener) fetchPackage(ctx context.Context, name string) (string, error) {
	if !packageName.MatchString(name) {
		return "", usagef("kernel deb:%s: that is no package name", name)
	}
	dir := filepath.Join(o.CacheDir, "kernels")
	if deb := newestDeb(dir, name); deb != "" {
		return deb, nil
	}
	o.Progress(fmt.Sprintf("fetching package %s (once; kept in %s)", name, dir))
	tmp, done, err := scratch(dir)
	if err != nil {
		return "", err
	}
	defer done()
	if err := o.apt.download(ctx, tmp, name); err != nil {
		return "", o.explain(ctx, name, err)
	}
	deb := newestDeb(tmp, name)
	if deb == "" {
		return "", fmt.Errorf("apt-get download %s left no %s_*.deb", name, name)
	}
	kept := filepath.Join(dir, filepath.Base(deb))
	if err := os.Rename(deb, kept); err != nil {
		return "", fmt.Errorf("keep package %s: %w", name, err)
	}
	return kept, nil
}

// newestDeb is the package's .deb in dir that was fetched last; "" for none. Its name
// is NAME_VERSION_ARCHITECTURE.deb, and neither name nor version holds a "_".
func newestDeb(dir, name string) string {
	matches, _ := filepath.Glob(filepath.Join(dir, name+"_*.deb")) // the pattern is well-formed
	newest, at := "", time.Time{}
	for _, match := range matches {
		if st, err := os.Stat(match); err == nil && st.ModTime().After(at) {
			newest, at = match, st.ModTime()
		}
	}
	return newest
}

// explain says what to do about a failed download.
func (o *opener) explain(ctx context.Context, name string, err error) error {
	var run *osrun.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, osrun.ErrNotFound):
		return usagef("kernel deb:%s needs apt-get (Debian, Ubuntu); give a .deb or an image instead", name)
	}
	lists, _ := filepath.Glob(filepath.Join(o.apt.lists, "*_Packages*")) // the pattern is well-formed
	if len(lists) == 0 {
		return usagef("fetch package %s: apt has no package lists; run apt-get update first", name)
	}
	if errors.As(err, &run) && strings.Contains(run.Tail, "Unable to locate package") {
		return usagef("fetch package %s: apt knows no such package; run apt-get update, or give another", name)
	}
	return fmt.Errorf("fetch package %s: %w", name, err)
}
