package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bondrepro/internal/kernel"
)

// packages is a history of kernel packages, the oldest first.
type packages struct {
	options     PackageOptions
	list        []kernel.Candidate
	first, last int // the ends, in list
	modules     []moduleFor
	downloads   *downloads
	// release gives that of the kernel in a package that was fetched.
	release func(ctx context.Context, c kernel.Candidate) (string, error)
	// moduleRelease gives that of the kernel which a module was built for.
	moduleRelease func(file string) (string, error)
}

var (
	_ Space     = (*packages)(nil)
	_ Announcer = (*packages)(nil)
)

// moduleFor is a module for one kernel.
type moduleFor struct{ name, file, release string }

func newPackages(ctx context.Context, o PackageOptions, list []kernel.Candidate) *packages {
	p := &packages{options: o, list: list, moduleRelease: kernel.ModuleRelease}
	p.downloads = newDownloads(ctx, func(ctx context.Context, id string, keep []string, progress func(string)) error {
		_, err := kernel.Fetch(ctx, list[p.index(id)], kernel.Options{CacheLimit: o.CacheLimit, Keep: keep, Progress: progress})
		return err
	})
	p.release = func(ctx context.Context, c kernel.Candidate) (string, error) {
		k, err := kernel.Open(ctx, c.Spec, kernel.Options{ModulesDir: o.ModulesDir, CacheLimit: o.CacheLimit, Keep: []string{c.ID()}, Progress: o.Progress})
		if err != nil {
			return "", err
		}
		return k.Release, nil
	}
	return p
}

// index is where an id is in the list; -1 for nowhere.
func (p *packages) index(id string) int {
	return slices.IndexFunc(p.list, func(c kernel.Candidate) bool { return c.ID() == id })
}

// find gives a kernel of the list.
func (p *packages) find(id string) (int, error) {
	i := p.index(id)
	if i < 0 {
		return i, fmt.Errorf("there is no kernel %s in the list of this bisect", id)
	}
	return i, nil
}

// Left gives the kernels between the newest old one and m.New: the one in the middle, and then others further and further from it.
func (p *packages) Left(_ context.Context, m Marks) ([]string, error) {
	end, err := p.find(m.New)
	if err != nil {
		return nil, err
	}
	begin := -1
	for _, id := range m.Old {
		i, err := p.find(id)
		if err != nil {
			return nil, err
		}
		begin = max(begin, i)
	}
	var ids []string
	for c := range middleFirst(begin+1, end) {
		ids = append(ids, p.list[c].ID())
	}
	return ids, nil
}

// middleFirst gives the numbers from begin to end-1, those nearest the middle first.
func middleFirst(begin, end int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		low := (begin + end - 1) / 2
		for high := low + 1; low >= begin || high < end; low, high = low-1, high+1 {
			if low >= begin && !yield(low) || high < end && !yield(high) {
				return
			}
		}
	}
}

// Before gives the next older kernel.
func (p *packages) Before(_ context.Context, id string) ([]string, error) {
	i, err := p.find(id)
	if err != nil || i == 0 {
		return nil, err
	}
	return []string{p.list[i-1].ID()}, nil
}

// Describe names the package and its version.
func (p *packages) Describe(_ context.Context, id string) (string, error) {
	i, err := p.find(id)
	if err != nil {
		return "", err
	}
	return p.list[i].Package + " " + p.list[i].Version, nil
}

// Make fetches a kernel, or waits until that is done in the background. A package that is not to be had any more, or holds no kernel,
// is a *BrokenError.
func (p *packages) Make(ctx context.Context, id string) (Image, error) {
	i, err := p.find(id)
	if err != nil {
		return Image{}, err
	}
	if err := p.downloads.get(ctx, id, p.options.Progress); err != nil {
		if errors.Is(err, kernel.ErrNotOffered) {
			return Image{}, &BrokenError{Reason: err.Error()}
		}
		return Image{}, usageOfKernel(err)
	}
	p.announceFirst(i)
	release, err := p.release(ctx, p.list[i])
	var wrong *kernel.UsageError
	if errors.As(err, &wrong) {
		err = &BrokenError{Reason: err.Error()}
	}
	if err != nil {
		return Image{}, err
	}
	return Image{Kernel: p.list[i].Spec, ModulesDir: p.options.ModulesDir, Modules: p.modulesOf(release)}, nil
}

// modulesOf are the given modules that were built for that release.
func (p *packages) modulesOf(release string) map[string]string {
	fit := map[string]string{}
	for _, m := range p.modules {
		if m.release == release {
			fit[m.name] = m.file
		}
	}
	return fit
}

// announceFirst has the other end and the middle one fetched while an end is measured: no search has announced anything by then.
func (p *packages) announceFirst(i int) {
	if i != p.first && i != p.last {
		return
	}
	p.Announce([]string{p.list[p.first+p.last-i].ID(), p.list[(p.first+p.last)/2].ID()})
}

// ahead is how many kernels are fetched while another one is measured: what comes next is one of two.
const ahead = 2

// Announce has the first two of the ids fetched in the background, and stops fetching others.
func (p *packages) Announce(ids []string) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return p.index(id) < 0 })
	p.downloads.want(ids[:min(len(ids), ahead)])
}

// Close ends what is fetched in the background. What was fetched stays in the cache.
func (p *packages) Close(context.Context) error {
	p.downloads.stop()
	if p.options.Folder == "" {
		return nil
	}
	err := os.Remove(filepath.Join(p.options.Folder, listName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
