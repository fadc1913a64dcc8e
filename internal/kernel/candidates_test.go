package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"bondrepro/internal/osrun"
)

// otherRecords are packages that the recorded index lacks: those of a kernel that is spread over several, as in Debian 14; Ubuntu's
// names; an architecture we do not boot; one that is installed and can't be had; and a file's of a third party.
const otherRecords = `
Package: linux-image-7.2-amd64
Version: 7.2.1-1
Architecture: amd64
Depends: linux-binary-7.2-amd64 (= 7.2.1-1), linux-modules-7.2-amd64 (= 7.2.1-1)
Filename: pool/x

Package: linux-image-6.8.0-9-generic
Version: 6.8.0-9.9
Architecture: amd64
Filename: pool/x

Package: linux-image-unsigned-6.8.0-9-generic
Version: 6.8.0-9.9
Architecture: amd64
Filename: pool/x

Package: linux-image-unsigned-6.8.0-10-generic
Version: 6.8.0-10.10
Architecture: amd64
Filename: pool/x

Package: linux-image-generic
Version: 6.8.0-10.10
Architecture: amd64
Depends: linux-image-unsigned-6.8.0-10-generic, linux-modules-extra-6.8.0-10-generic
Filename: pool/x

Package: linux-image-9.9-arm64
Version: 9.9-1
Architecture: arm64
Filename: pool/x

Package: linux-image-5.0-amd64
Version: 5.0-1
Architecture: amd64
Status: install ok installed

Package: linux-image-loop
Version: 1
Architecture: amd64
Depends: linux-image-pool
Filename: pool/x

Package: linux-image-pool
Version: 1
Architecture: amd64
Depends: linux-image-loop
Filename: pool/x

Package: linux-image-older
Version: 1
Architecture: amd64
Depends: linux-image-rebuilt (= 1.0-1)
Filename: pool/x

Package: linux-image-rebuilt
Version: 1.0-1
Architecture: amd64
Filename: pool/x

Package: linux-image-rebuilt
Version: 1.0-2
Architecture: amd64
Filename: pool/x

Package: fast-kernel
Version: 1:2.0-1
Architecture: amd64
Filename: pool/x
`

// testIndex answers as apt-cache does, from a recorded index.
func testIndex(t *testing.T) func(context.Context, ...string) ([]byte, error) {
	recorded := string(must[[]byte](t)(os.ReadFile("testdata/apt-cache-show.txt"))) + otherRecords
	return func(_ context.Context, args ...string) ([]byte, error) {
		var names []string
		var found strings.Builder
		for paragraph := range strings.SplitSeq(recorded, "\n\n") {
			name := parseRecord(paragraph).name
			if args[0] == "pkgnames" && strings.HasPrefix(name, args[1]) && !slices.Contains(names, name) {
				names = append(names, name)
			}
			if args[0] == "show" && slices.Contains(args[1:], name) {
				found.WriteString(paragraph + "\n\n")
			}
		}
		if args[0] == "show" && found.Len() == 0 {
			return nil, &osrun.Error{Command: "apt-cache show", ExitCode: 100, Tail: "N: Unable to locate package x\nE: No packages found"}
		}
		return []byte(strings.Join(names, "\n") + found.String()), nil
	}
}

func ids(list []Candidate) (all []string) {
	for _, c := range list {
		all = append(all, c.ID())
	}
	return all
}

func TestCandidatesOfTheIndex(t *testing.T) {
	const (
		c56, c57, p57 = "linux-image-6.1.0-56-cloud-amd64=6.1.192-2", "linux-image-6.1.0-57-cloud-amd64=6.1.192-3", "linux-image-6.1.0-57-amd64=6.1.192-3"
		c100          = "linux-image-6.12.100+deb12-cloud-amd64=6.12.100-1~deb12u1"
		c113u         = "linux-image-6.12.113+deb12-cloud-amd64-unsigned=6.12.113-1~deb12u1"
		c117          = "linux-image-6.12.117+deb12-cloud-amd64=6.12.117-1~deb12u1"
	)
	for name, want := range map[string][]string{
		"deb:*-cloud-*":                                       {c56, c57, c100, c113u, c117},
		"deb:linux-image-6.1.0-57*":                           {p57, c57},
		"deb:linux-image-6.1.0-57-cloud-amd64":                {c57},
		"deb:linux-image-cloud-amd64":                         {c57},
		"deb:linux-image-*-rt-amd64":                          {"linux-image-6.1.0-57-rt-amd64=6.1.192-3"},
		"deb:linux-image-6.1*unsigned":                        {"linux-image-6.1.0-57-cloud-amd64-unsigned=6.1.192-3", c113u},
		"deb:linux-image-[67].[28]*":                          {"linux-image-6.8.0-9-generic=6.8.0-9.9", "linux-image-7.2-amd64=7.2.1-1"},
		"deb:*-generic":                                       {"linux-image-6.8.0-9-generic=6.8.0-9.9", "linux-image-unsigned-6.8.0-10-generic=6.8.0-10.10"},
		"deb:linux-image-generic":                             {"linux-image-unsigned-6.8.0-10-generic=6.8.0-10.10"},
		"deb:fast-kernel":                                     {"fast-kernel=1:2.0-1"},
		"deb:linux-image-older":                               {"linux-image-rebuilt=1.0-1"},
		"deb:linux-image-rebuilt":                             {"linux-image-rebuilt=1.0-2"},
		"deb:linux-image-reb*":                                {"linux-image-rebuilt=1.0-1", "linux-image-rebuilt=1.0-2"},
		"deb:fast-kernel=1:2.0-1":                             {"fast-kernel=1:2.0-1"},
		c57 + " deb:linux-image-6.1.0-5?-cloud-amd64 " + c100: {c56, c57, c100},
	} {
		o := testOpener(t, testArchive(t))
		o.apt.index = testIndex(t)
		specs := strings.Fields(name)
		for i, s := range specs {
			specs[i] = debSpec + strings.TrimPrefix(s, debSpec)
		}
		list, err := o.candidates(t.Context(), specs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := gocmp.Diff(want, ids(list)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, c := range list {
			if c.Spec != debSpec+c.ID() || c.File != "" || c.Cached {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

func TestCandidateIsWhatTheIndexSays(t *testing.T) {
	o := testOpener(t, testArchive(t))
	o.apt.index = testIndex(t)
	list := must[[]Candidate](t)(o.candidates(t.Context(), []string{"deb:linux-image-6.1.0-57-cloud-amd64"}))
	want := Candidate{
		Spec: "deb:linux-image-6.1.0-57-cloud-amd64=6.1.192-3", Package: "linux-image-6.1.0-57-cloud-amd64", Version: "6.1.192-3",
		Architecture: "amd64", Size: 26705532, Unpacked: 105548 << 10,
	}
	if diff := gocmp.Diff([]Candidate{want}, list); diff != "" {
		t.Error(diff)
	}
}

func TestRelease(t *testing.T) {
	for name, want := range map[string]string{
		"linux-image-6.1.0-57-cloud-amd64":          "6.1.0-57-cloud-amd64",
		"linux-image-6.1.0-57-cloud-amd64-unsigned": "6.1.0-57-cloud-amd64",
		"linux-image-unsigned-6.8.0-10-generic":     "6.8.0-10-generic",
		"fast-kernel":                               "",
	} {
		if got := (Candidate{Package: name}).Release(); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestOrder(t *testing.T) {
	want := []string{"no version", "6.1.99-1", "6.1.176-1", "6.1.192-2", "6.1.192-3~bpo1", "6.1.192-3", "6.12.1-1~deb12u1", "6.12.1-1", "1:5.10-1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareVersions)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// packageOf is a .deb with these control fields and the kernel of the tests, or with nothing.
func packageOf(t *testing.T, name, version, architecture string, content files) []byte {
	return buildDebOf(t, ".gz", fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nInstalled-Size: 3\n", name, version, architecture), content)
}

func TestCandidatesOfFiles(t *testing.T) {
	dir := files{
		"two/new.deb":      packageOf(t, "linux-image-6.2-mine", "6.2-1", "amd64", nil),
		"two/old.deb":      packageOf(t, "linux-image-6.1-mine", "6.1-1", "amd64", nil),
		"two/dbg.deb":      packageOf(t, "linux-image-6.1-mine-dbg", "6.1-1", "amd64", nil),
		"two/headers.deb":  packageOf(t, "linux-headers-6.1-mine", "6.1-1", "amd64", nil),
		"two/arm.deb":      packageOf(t, "linux-image-6.3-mine", "6.3-1", "arm64", nil),
		"two/README":       nil,
		"none/headers.deb": packageOf(t, "linux-headers-6.1-mine", "6.1-1", "amd64", nil),
		"fast.deb":         packageOf(t, "fast-kernel", "1-1", "amd64", nil),
		"same.deb":         packageOf(t, "linux-image-6.1-mine", "6.1-1", "amd64", nil),
		"arm.deb":          packageOf(t, "linux-image-6.3-mine", "6.3-1", "arm64", nil),
		"bzImage":          buildImage(version, nil),
		"cut.deb":          packageOf(t, "linux-image-6.3-mine", "6.3-1", "amd64", nil)[:150],
		"nameless.deb":     buildDebOf(t, ".gz", "Description: x\n", nil),
	}.write(t, t.TempDir())
	list := func(names ...string) ([]Candidate, error) {
		for i, n := range names {
			names[i] = filepath.Join(dir, n)
		}
		return Candidates(t.Context(), names, Options{CacheDir: t.TempDir()})
	}
	got := must[[]Candidate](t)(list("same.deb", "two", "fast.deb"))
	if diff := gocmp.Diff([]string{"fast-kernel=1-1", "linux-image-6.1-mine=6.1-1", "linux-image-6.2-mine=6.2-1"}, ids(got)); diff != "" {
		t.Error(diff)
	}
	if c := got[2]; c.Spec != filepath.Join(dir, "two/new.deb") || c.File != c.Spec || !c.Cached || c.Size == 0 || c.Unpacked != 3<<10 {
		t.Errorf("got %+v", c)
	}
	for name, text := range map[string]string{
		"gone":         "there is no such file; give a .deb, a folder of them, or deb:PATTERN",
		"none":         "there is no kernel package for amd64 (linux-image-*.deb) in this folder",
		"arm.deb":      "is a package for arm64; only kernels for amd64 can be booted",
		"bzImage":      "is no Debian package (.deb)",
		"cut.deb":      "is no readable Debian package",
		"nameless.deb": "its control file names no package",
	} {
		_, err := list(name)
		wantUsage(t, err, text)
	}
}

func TestCandidatesRefused(t *testing.T) {
	for spec, text := range map[string]string{
		"deb:linux-image-8*":                           "apt knows no kernel package for amd64 of that name; run apt-get update",
		"deb:linux-image-8":                            "apt knows no kernel package for amd64 of that name; run apt-get update",
		"deb:linux-image-6.1.0-57-cloud-amd64=6.1.1-1": "apt knows no kernel package for amd64 of that name; run apt-get update",
		"deb:linux-image-9.9-arm64":                    "apt knows no kernel package for amd64 of that name; run apt-get update",
		"deb:linux-image-5.0-amd64":                    "apt knows no kernel package for amd64 of that name; run apt-get update",
		"deb:linux-image-loop":                         "it stands for a package that stands for another",
		"deb:linux-image-[6":                           "that is no pattern",
		"deb:-o=x":                                     "that is no package name",
		"deb:":                                         "that is no package name",
	} {
		o := testOpener(t, testArchive(t))
		o.apt.index = testIndex(t)
		_, err := o.candidates(t.Context(), []string{spec})
		wantUsage(t, err, spec, text)
	}
	o := testOpener(t, testArchive(t))
	o.apt.lists = t.TempDir()
	o.apt.index = func(context.Context, ...string) ([]byte, error) { return nil, &osrun.Error{Err: osrun.ErrNotFound} }
	_, err := o.candidates(t.Context(), []string{"deb:x*"})
	wantUsage(t, err, "apt has no package lists; run apt-get update first (Debian, Ubuntu), or give .deb files")
	broken := &osrun.Error{Command: "apt-cache pkgnames", ExitCode: 100, Tail: "E: The package cache file is corrupted"}
	o.apt.index = func(context.Context, ...string) ([]byte, error) { return nil, broken }
	if _, err := o.candidates(t.Context(), []string{"deb:x*"}); err != broken {
		t.Errorf("got %v", err)
	}
}

// What is in the cache is a candidate, too, also where the index has it no more.
func TestCandidatesInTheCache(t *testing.T) {
	o := testOpener(t, testArchive(t))
	o.apt.index = testIndex(t)
	files{
		"linux-image-6.1.0-57-cloud-amd64_6.1.192-3_amd64.deb": packageOf(t, "linux-image-6.1.0-57-cloud-amd64", "6.1.192-3", "amd64", nil),
		"linux-image-5.10.0-1-cloud-amd64_5.10.1-1_amd64.deb":  packageOf(t, "linux-image-5.10.0-1-cloud-amd64", "5.10.1-1", "amd64", nil),
		"linux-image-5.9-cloud-amd64_5.9-1_amd64.deb":          []byte("damaged"),
	}.write(t, o.packages())
	list := must[[]Candidate](t)(o.candidates(t.Context(), []string{"deb:linux-image-[56].1*-cloud-amd64"}))
	cached := map[string]bool{}
	for _, c := range list {
		cached[c.Package] = c.Cached
	}
	want := map[string]bool{
		"linux-image-5.10.0-1-cloud-amd64": true, "linux-image-6.1.0-56-cloud-amd64": false, "linux-image-6.1.0-57-cloud-amd64": true,
		"linux-image-6.12.100+deb12-cloud-amd64": false, "linux-image-6.12.117+deb12-cloud-amd64": false,
	}
	if diff := gocmp.Diff(want, cached); diff != "" {
		t.Error(diff)
	}
}
