package kernel

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"bondrepro/internal/osrun"
)

// archive is a fake apt: packages by name, and what was fetched from it.
type archive struct {
	debs    files
	fetched []string
}

func (a *archive) download(_ context.Context, dir, what string) error {
	a.fetched = append(a.fetched, what)
	name, version, _ := strings.Cut(what, "=")
	deb, ok := a.debs[name]
	if !ok {
		return &osrun.Error{Command: "apt-get download", ExitCode: 100, Tail: "E: Unable to locate package " + name}
	}
	return os.WriteFile(filepath.Join(dir, name+"_"+strings.ReplaceAll(cmp.Or(version, "1.0"), ":", "%3a")+"_amd64.deb"), deb, 0o600)
}

func testArchive(t *testing.T) *archive {
	image := files{"./boot/vmlinuz-" + release: buildImage(version, nil)}
	dir := "./lib/modules/" + release + "/"
	return &archive{debs: files{
		"linux-image-meta":    buildDeb(t, ".xz", "linux-image-6.1 (= 6.1.1) | x", nil),
		"linux-image-6.1":     buildDeb(t, ".xz", "", moduleFiles(t, dir, "").with("./boot/vmlinuz-"+release, image["./boot/vmlinuz-"+release])),
		"linux-image-7.2":     buildDeb(t, ".zst", "linux-binary-7.2, linux-modules-7.2", nil),
		"linux-binary-7.2":    buildDeb(t, ".zst", "", image),
		"linux-modules-7.2":   buildDeb(t, ".zst", "", moduleFiles(t, dir, ".zst")),
		"linux-image-no-mods": buildDeb(t, ".gz", "", image),
		"bash":                buildDeb(t, ".gz", "", files{"./bin/bash": nil}),
	}}
}

func testOpener(t *testing.T, a *archive) *opener {
	lists := files{"x_Packages.lz4": nil}.write(t, t.TempDir())
	o := must[*opener](t)(newOpener(Options{CacheDir: t.TempDir()}))
	o.apt = aptGet{download: a.download, lists: lists}
	return o
}

func TestFetch(t *testing.T) {
	for name, want := range map[string][]string{
		"linux-image-6.1":  {"linux-image-6.1"},
		"linux-image-meta": {"linux-image-meta", "linux-image-6.1=6.1.1"},
		"linux-image-7.2":  {"linux-image-7.2", "linux-binary-7.2", "linux-modules-7.2"},
	} {
		t.Run(name, func(t *testing.T) {
			a := testArchive(t)
			o := testOpener(t, a)
			for range 2 { // the second time all is in the cache
				whole(t, must[*Kernel](t)(o.open(t.Context(), "deb:"+name)))
			}
			if diff := gocmp.Diff(want, a.fetched); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFetchRefused(t *testing.T) {
	for name, text := range map[string]string{
		"linux-image-9.9":     "apt knows no such package",
		"linux-image-no-mods": "holds no modules, and none of the packages it depends on does; give them with --modules",
		"bash":                "holds no kernel image",
		"-o=x":                "that is no package name",
		"../x":                "that is no package name",
	} {
		o := testOpener(t, testArchive(t))
		_, err := o.open(t.Context(), "deb:"+name)
		wantUsage(t, err, text)
	}
	o := testOpener(t, testArchive(t))
	o.apt.lists = t.TempDir()
	_, err := o.open(t.Context(), "deb:linux-image-9.9")
	wantUsage(t, err, "apt has no package lists; run apt-get update first")
	o.apt.download = func(context.Context, string, string) error { return &osrun.Error{Err: osrun.ErrNotFound} }
	_, err = o.open(t.Context(), "deb:linux-image-9.9")
	wantUsage(t, err, "needs apt-get")
}

func TestParseRecord(t *testing.T) {
	got := parseRecord("Package: x\nPre-Depends: a (>= 1), b\nDepends: c | d,\n e:any (= 2), linux-image-7 (=7.1-2),\nRecommends: f\nDescription: g\n Depends: h\nInstalled-Size: 3\nSize: 4\n")
	want := record{name: "x", size: 4, unpacked: 3 << 10, depends: []dependency{{"a", ""}, {"b", ""}, {"c", ""}, {"e", "2"}, {"linux-image-7", "7.1-2"}}}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(record{}, dependency{})); diff != "" {
		t.Error(diff)
	}
}

func TestScratch(t *testing.T) {
	dir := t.TempDir()
	dead := files{scratchPattern + "dead/part.deb": nil, "kept.deb": nil}.write(t, dir)
	first, firstDone, err := scratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, secondDone, err := scratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer secondDone()
	for path, want := range map[string]bool{
		filepath.Join(dead, scratchPattern+"dead"): false, filepath.Join(dir, "kept.deb"): true,
		first: true, second: true,
	} {
		if exists(path) != want {
			t.Errorf("%s: exists is %v", strings.TrimPrefix(path, dir), !want)
		}
	}
	firstDone()
	if exists(first) {
		t.Error("done removes nothing")
	}
}
