package kernel

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultCacheLimit is how many bytes the cache of kernels may hold: eight full kernels of a distribution with all their modules,
// or thirty small ones for clouds.
const DefaultCacheLimit = 4 << 30

// The folders of the cache that are pruned.
const (
	packagesFolder  = "kernels"
	extractedFolder = "extracted"
	buildIDsFolder  = "build-ids"
)

// Kept is one thing in the cache of kernels: a package, a package's files, a build id.
type Kept struct {
	// Path is the file, or the folder.
	Path string
	// Size is in bytes, of all files in a folder.
	Size int64
	// Used is when it was used last.
	Used time.Time
}

// PruneOptions say what may stay. The zero value empties the cache but for what is in use.
type PruneOptions struct {
	// Limit is how many bytes may be in the cache.
	Limit int64
	// Keep are packages that stay, as PACKAGE=VERSION, with their files.
	Keep []string
	// DryRun removes nothing, and tells what would be removed.
	DryRun bool
}

// Pruned is what Prune did.
type Pruned struct {
	// Removed is what went, in that order.
	Removed []Kept
	// Left is how many bytes are in the cache now.
	Left int64
}

// Prune removes from the cache of kernels what was used least recently, until it holds no more than the limit. What
// a process uses now stays, and what is asked for to be kept. What lies beside the packages, their files and the build ids
// (modules that were built) is not counted and not touched.
func Prune(opt Options, how PruneOptions) (Pruned, error) {
	o, err := newOpener(opt)
	if err != nil {
		return Pruned{}, err
	}
	return o.prune(how)
}

func (o *opener) prune(how PruneOptions) (p Pruned, err error) {
	all, err := o.inventory()
	if err != nil {
		return p, fmt.Errorf("read the cache of kernels: %w", err)
	}
	for _, k := range all {
		p.Left += k.Size
	}
	keep := o.kept(how.Keep)
	for _, k := range all {
		if p.Left <= how.Limit {
			break
		}
		if slices.Contains(keep, k.Path) {
			continue
		}
		gone, err := remove(k.Path, how.DryRun)
		if err != nil {
			return p, fmt.Errorf("prune the cache of kernels: %w", err)
		}
		if gone {
			p.Removed = append(p.Removed, k)
			p.Left -= k.Size
		}
	}
	return p, nil
}

// inventory lists what is in the cache, the least recently used first.
func (o *opener) inventory() (all []Kept, err error) {
	for _, pattern := range []string{packagesFolder + "/*.deb", extractedFolder + "/[0-9]*", buildIDsFolder + "/[0-9a-f]*"} {
		paths, err := filepath.Glob(filepath.Join(escapeGlob(o.CacheDir), pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			st, err := os.Stat(path)
			if err != nil {
				continue // another command removed it
			}
			all = append(all, Kept{Path: path, Size: sizeOf(path), Used: st.ModTime()})
		}
	}
	slices.SortStableFunc(all, func(a, b Kept) int { return a.Used.Compare(b.Used) })
	return all, nil
}

// sizeOf sums up a file or the files of a folder. What goes meanwhile has no size.
func sizeOf(path string) (sum int64) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if st, err := entry.Info(); err == nil && st.Mode().IsRegular() {
			sum += st.Size()
		}
		return nil
	})
	return sum
}

// kept are the paths of packages in the cache and of their files.
func (o *opener) kept(packages []string) (paths []string) {
	for _, id := range packages {
		name, version, _ := strings.Cut(id, "=")
		deb := o.inCache(name, version)
		if deb == "" {
			continue
		}
		paths = append(paths, deb)
		if sum, err := sha256File(deb); err == nil {
			paths = append(paths, o.extractedOf(sum))
		}
	}
	return paths
}

// remove takes something out of the cache; it does not, and says so, where somebody uses it. A folder is renamed first, so that
// there is never half of one: what a killed command leaves is swept by scratch.
func remove(path string, dry bool) (bool, error) {
	f, err := lock(path, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return false, ignore(err, unix.EWOULDBLOCK, fs.ErrNotExist)
	}
	defer f.Close()
	if !sameFile(f, path) {
		return false, nil
	}
	if dry {
		return true, nil
	}
	out := filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%s-%d", scratchPattern, filepath.Base(path), os.Getpid()))
	if err := os.Rename(path, out); err != nil {
		return false, err
	}
	return true, os.RemoveAll(out)
}
