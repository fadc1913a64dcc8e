package kernel

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// imagePrefix is how names of kernel packages start, in Debian and its children.
const imagePrefix = "linux-image-"

// offered finds the kernel packages that are called so, in the package system's index and in the cache.
func (o *opener) offered(ctx context.Context, pattern string) ([]Candidate, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		c, err := o.exact(ctx, pattern)
		return []Candidate{c}, err
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, usagef("deb:%s: that is no pattern: a [ lacks its ]", pattern)
	}
	records, err := o.records(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []Candidate
	for _, r := range bootable(records, pattern) {
		if ok, _ := path.Match(pattern, r.name); ok { // well-formed
			all = append(all, o.candidate(r))
		}
	}
	if len(all) == 0 {
		return nil, o.nothing(ctx, pattern)
	}
	return all, nil
}

// exact finds one package, NAME or NAME=VERSION, or the one it stands for.
func (o *opener) exact(ctx context.Context, what string) (Candidate, error) {
	name, version, _ := strings.Cut(what, "=")
	if !packageName.MatchString(name) {
		return Candidate{}, usagef("deb:%s: that is no package name", what)
	}
	records, err := o.records(ctx, name)
	if err != nil {
		return Candidate{}, err
	}
	for range maxPackages {
		same := slices.DeleteFunc(slices.Clone(records), func(r record) bool {
			return r.name != name || version != "" && r.version != version
		})
		if len(same) == 0 {
			return Candidate{}, o.nothing(ctx, what)
		}
		newest := slices.MaxFunc(same, func(a, b record) int { return compareVersions(a.version, b.version) })
		image := newest.standsFor()
		if image.name == "" {
			return o.candidate(newest), nil
		}
		name, version = image.name, image.version
	}
	return Candidate{}, usagef("deb:%s: it stands for a package that stands for another, and so on", what)
}

// records gives what can be had: all kernel packages and the one called name, if that is another.
func (o *opener) records(ctx context.Context, name string) ([]record, error) {
	if o.kernels == nil {
		text, err := o.apt.index(ctx, "pkgnames", imagePrefix)
		if err != nil && !isNothing(err) {
			return nil, err
		}
		all, err := o.apt.offers(ctx, strings.Fields(string(text)))
		if err != nil {
			return nil, err
		}
		o.kernels = unique(append(all, o.cached(ctx)...))
	}
	if name == "" || slices.ContainsFunc(o.kernels, func(r record) bool { return r.name == name }) {
		return o.kernels, nil
	}
	others, err := o.apt.offers(ctx, []string{name})
	return unique(append(others, o.kernels...)), err
}

// cached reads what the packages in the cache are. One that can't be read is left out: it is fetched anew.
func (o *opener) cached(ctx context.Context) (all []record) {
	files, _ := filepath.Glob(filepath.Join(escapeGlob(o.packages()), "*.deb")) // the pattern is well-formed
	for _, file := range files {
		if r, err := debRecord(ctx, file); err == nil && r.architecture == architecture {
			all = append(all, r)
		}
	}
	return all
}

// unique drops what is offered in two places.
func unique(all []record) []record {
	slices.SortStableFunc(all, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.name, b.name), compareVersions(a.version, b.version))
	})
	return slices.CompactFunc(all, func(a, b record) bool { return a.name == b.name && a.version == b.version })
}

// candidate is the package system's package as a candidate.
func (o *opener) candidate(r record) Candidate {
	c := Candidate{Package: r.name, Version: r.version, Architecture: r.architecture, Size: r.size, Unpacked: r.unpacked}
	c.Spec = debSpec + c.ID()
	c.Cached = o.inCache(r.name, r.version) != ""
	return c
}

// standsFor is the kernel package that a package without files of its own points to; the zero value for others.
func (r record) standsFor() dependency {
	for _, d := range r.depends {
		if strings.HasPrefix(d.name, imagePrefix) && d.name != r.name {
			return d
		}
	}
	return dependency{}
}

var (
	noKernel = regexp.MustCompile(`-(dbg|dbgsym|template)$`)
	unsigned = regexp.MustCompile(`-unsigned(-|$)`)
	realTime = regexp.MustCompile(`-rt(-|$)`)
	// realTimeWord is what a pattern has that means real-time kernels.
	realTimeWord = regexp.MustCompile(`\brt\b`)
)

// bootable leaves the packages that hold a kernel: one for each release, the signed one where there is one. Real-time and
// unsigned kernels stay where the pattern speaks of them.
func bootable(all []record, pattern string) []record {
	signed := map[string]bool{}
	for _, r := range all {
		signed[r.name+"="+r.version] = !unsigned.MatchString(r.name)
	}
	return slices.DeleteFunc(slices.Clone(all), func(r record) bool {
		copied := unsigned.MatchString(r.name) && signed[unsigned.ReplaceAllString(r.name, "$1")+"="+r.version]
		return !strings.HasPrefix(r.name, imagePrefix) || noKernel.MatchString(r.name) || r.standsFor().name != "" ||
			copied && !strings.Contains(pattern, "unsigned") ||
			realTime.MatchString(r.name) && !realTimeWord.MatchString(pattern)
	})
}

// releaseOf takes the release out of linux-image-RELEASE, linux-image-RELEASE-unsigned and linux-image-unsigned-RELEASE.
func releaseOf(name string) string {
	release, ok := strings.CutPrefix(unsigned.ReplaceAllString(name, "$1"), imagePrefix)
	if !ok {
		return ""
	}
	return release
}

// nothing says that the package system has no such package, and what to do.
func (o *opener) nothing(ctx context.Context, what string) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !o.apt.hasLists():
		return usagef("deb:%s: apt has no package lists; run apt-get update first (Debian, Ubuntu), or give .deb files", what)
	}
	return notOfferedf("deb:%s: apt knows no kernel package for %s of that name; run apt-get update, or give another ('bondrepro kernels list' names them)", what, architecture)
}
