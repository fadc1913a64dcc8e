package kernel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"bondrepro/internal/osrun"
)

// A candidate is fetched once, with all that its kernel is spread over and in the versions that its package names, and nothing is extracted.
func TestFetchCandidate(t *testing.T) {
	image := files{"./boot/vmlinuz-" + release: buildImage(version, nil)}
	a := testArchive(t)
	a.debs["linux-image-8"] = buildDeb(t, ".xz", "linux-binary-8 (= 8.1-2), linux-modules-8 (= 8.1-2), linux-modules-extra-8", nil)
	a.debs["linux-binary-8"] = buildDeb(t, ".xz", "", image)
	a.debs["linux-modules-8"] = buildDeb(t, ".xz", "", moduleFiles(t, "./lib/modules/"+release+"/", ""))
	o := testOpener(t, a)
	for range 2 {
		file := must[string](t)(o.fetchCandidate(t.Context(), Candidate{Package: "linux-image-8", Version: "8.1-2"}))
		if want := filepath.Join(o.packages(), "linux-image-8_8.1-2_amd64.deb"); file != want {
			t.Errorf("got %s, want %s", file, want)
		}
	}
	if exists(filepath.Join(o.CacheDir, extractedFolder)) {
		t.Error("it was extracted")
	}
	whole(t, must[*Kernel](t)(o.open(t.Context(), "deb:linux-image-8=8.1-2")))
	if diff := gocmp.Diff([]string{"linux-image-8=8.1-2", "linux-binary-8=8.1-2", "linux-modules-8=8.1-2"}, a.fetched); diff != "" {
		t.Error(diff)
	}
}

func TestFetchOwnFile(t *testing.T) {
	o := testOpener(t, testArchive(t))
	if file, err := o.fetchCandidate(t.Context(), Candidate{Package: "x", Version: "1", File: "/k.deb"}); file != "/k.deb" || err != nil {
		t.Errorf("got %s, %v", file, err)
	}
}

// Of several versions in the cache, one without a version named is the newest one, whichever came last.
func TestVersionsInTheCache(t *testing.T) {
	o := testOpener(t, testArchive(t))
	for _, version := range []string{"1:2.0-1", "1:10.0-1", "9.0"} {
		must[string](t)(o.fetchCandidate(t.Context(), Candidate{Package: "linux-image-6.1", Version: version}))
	}
	for version, want := range map[string]string{"": "1%3a10.0-1", "1:2.0-1": "1%3a2.0-1", "9.0": "9.0", "9.1": ""} {
		if want != "" {
			want = filepath.Join(o.packages(), "linux-image-6.1_"+want+"_amd64.deb")
		}
		if got := o.inCache("linux-image-6.1", version); got != want {
			t.Errorf("%q: got %s, want %s", version, got, want)
		}
	}
}

func TestFetchConcurrently(t *testing.T) {
	a := testArchive(t)
	download := a.download
	var mu sync.Mutex
	a2 := func(ctx context.Context, dir, what string) error {
		mu.Lock()
		defer mu.Unlock()
		return download(ctx, dir, what)
	}
	o := testOpener(t, a)
	o.apt.download = a2
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			one := *o // as another process has it
			if _, err := one.fetchCandidate(t.Context(), Candidate{Package: "linux-image-6.1", Version: "6.1.1"}); err != nil {
				t.Error(err)
			}
			if _, err := one.open(t.Context(), "deb:linux-image-6.1=6.1.1"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	left := must[[]string](t)(filepath.Glob(filepath.Join(o.CacheDir, "*", "*")))
	left = append(left, must[[]string](t)(filepath.Glob(filepath.Join(o.CacheDir, "*", scratchPattern+"*")))...)
	if len(left) != 2 {
		t.Errorf("in the cache: %v", left)
	}
}

func TestFetchFails(t *testing.T) {
	c := Candidate{Package: "linux-image-6.1", Version: "6.1.1", Size: 30 << 20, Unpacked: 100 << 20}
	for text, tail := range map[string]string{
		"apt knows no such package; run apt-get update": "E: Version '6.1.1' for 'linux-image-6.1' was not found",
		"or give another": "E: Failed to fetch http://x/pool/l/x_6.1.1.deb  404  Not Found [IP: 1 80]",
	} {
		o := testOpener(t, testArchive(t))
		o.apt.download = func(context.Context, string, string) error {
			return &osrun.Error{Command: "apt-get download", ExitCode: 100, Tail: tail}
		}
		_, err := o.fetchCandidate(t.Context(), c)
		wantUsage(t, err, "fetch package linux-image-6.1=6.1.1: ", text)
		if !errors.Is(err, ErrNotOffered) {
			t.Errorf("%v is not ErrNotOffered", err)
		}
	}
	o := testOpener(t, testArchive(t))
	o.apt.download = func(context.Context, string, string) error {
		return &osrun.Error{Command: "apt-get download", ExitCode: 100, Tail: "E: Temporary failure resolving 'x'"}
	}
	if _, err := o.fetchCandidate(t.Context(), c); err == nil || errors.Is(err, ErrNotOffered) || !strings.Contains(err.Error(), "Temporary failure") {
		t.Errorf("got %v", err)
	}
	_, err := o.fetchCandidate(t.Context(), Candidate{Package: "x", Version: "-o=y"})
	wantUsage(t, err, "that is no package name")
}

func TestNoRoom(t *testing.T) {
	a := testArchive(t)
	o := testOpener(t, a)
	o.free = func(dir string) (int64, error) { return 130<<20 - 1, nil }
	c := Candidate{Package: "linux-image-6.1", Version: "6.1.1", Size: 30 << 20, Unpacked: 100 << 20}
	_, err := o.fetchCandidate(t.Context(), c)
	wantUsage(t, err, "fetch package linux-image-6.1=6.1.1: it needs 130 MiB in "+o.packages()+", and 129 MiB are free")
	if len(a.fetched) > 0 {
		t.Errorf("fetched %v", a.fetched)
	}
	o.free = func(dir string) (int64, error) { return 130 << 20, nil }
	must[string](t)(o.fetchCandidate(t.Context(), c))
	o.free = func(dir string) (int64, error) { return 0, nil } // it is there already
	must[string](t)(o.fetchCandidate(t.Context(), c))
	if free, err := freeBytes(t.TempDir()); free <= 0 || err != nil {
		t.Errorf("free: %d, %v", free, err)
	}
}

func TestFetchCancelled(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	o := testOpener(t, testArchive(t))
	o.apt.download = func(ctx context.Context, dir, _ string) error {
		if err := os.WriteFile(filepath.Join(dir, "x.deb.part"), nil, 0o600); err != nil {
			return err
		}
		cancel(stop)
		return &osrun.Error{Err: context.Cause(ctx)}
	}
	if _, err := o.fetchCandidate(ctx, Candidate{Package: "linux-image-6.1", Version: "6.1.1"}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(o.packages())); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
