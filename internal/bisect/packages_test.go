package bisect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"bondrepro/internal/kernel"
)

// cloud is a kernel package of the list that the tests use.
func cloud(n int) kernel.Candidate {
	c := kernel.Candidate{Package: fmt.Sprintf("linux-image-6.1.0-%d-cloud-amd64", n), Version: fmt.Sprintf("6.1.%d-1", 100+n), Architecture: "amd64"}
	c.Spec = "deb:" + c.ID()
	return c
}

func cloudID(n int) string { return cloud(n).ID() }

// clouds are kernels 1 to n.
func clouds(n int) (list []kernel.Candidate) {
	for i := range n {
		list = append(list, cloud(i+1))
	}
	return list
}

// server is where the tests' packages come from: each download waits until it is let through.
type server struct {
	mu      sync.Mutex
	running map[string]chan error
	begun   []string // in the order they began
	ended   []string // those that were stopped
	kept    []string // what the last one was told to keep
	most    int      // at the same time
}

func (s *server) fetch(ctx context.Context, id string, keep []string, _ func(string)) error {
	s.mu.Lock()
	let := make(chan error, 1)
	s.running[id] = let
	s.begun = append(s.begun, id)
	s.kept = keep
	s.most = max(s.most, len(s.running))
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, id)
	}()
	select {
	case err := <-let:
		return err
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = append(s.ended, id)
		return context.Cause(ctx)
	}
}

// let ends the download of an id.
func (s *server) let(id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[id] == nil {
		panic(id + " is not being downloaded")
	}
	s.running[id] <- err
}

// now gives what is being downloaded, once everything stands still.
func (s *server) now() (ids []string) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.running {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// served is a history of n kernels that come from a server.
func served(t *testing.T, n int) (*packages, *server) {
	s := &server{running: map[string]chan error{}}
	p := newPackages(t.Context(), PackageOptions{Progress: func(string) {}}, clouds(n))
	p.downloads = newDownloads(t.Context(), s.fetch)
	p.release = func(_ context.Context, c kernel.Candidate) (string, error) { return c.Release(), nil }
	p.last = n - 1
	return p, s
}

func wantNow(t *testing.T, s *server, numbers ...int) {
	t.Helper()
	var want []string
	for _, n := range numbers {
		want = append(want, cloudID(n))
	}
	if diff := cmp.Diff(want, s.now()); diff != "" {
		t.Errorf("being downloaded: %s", diff)
	}
}

// make1 makes a kernel and gives the outcome when it is there.
func make1(t *testing.T, p *packages, n int) <-chan error {
	made := make(chan error, 1)
	go func() {
		image, err := p.Make(t.Context(), cloudID(n))
		if err == nil && image.Kernel != cloud(n).Spec {
			err = fmt.Errorf("it boots %s", image.Kernel)
		}
		made <- err
	}()
	return made
}

// While a kernel is measured the next two are downloaded, and no more; a third is left for later.
func TestPackagesAreFetchedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := served(t, 9)
		made := make1(t, p, 9)
		wantNow(t, s, 9)
		s.let(cloudID(9), nil)
		if err := <-made; err != nil {
			t.Fatal(err)
		}
		wantNow(t, s, 1, 5) // the other end and the middle one, while the first end is measured
		s.let(cloudID(5), nil)
		wantNow(t, s, 1)
		made = make1(t, p, 1) // waits for what is under way, then looks whether it is there
		wantNow(t, s, 1)
		s.let(cloudID(1), nil)
		wantNow(t, s, 1)
		s.let(cloudID(1), nil)
		if err := <-made; err != nil {
			t.Fatal(err)
		}
		made = make1(t, p, 5)
		wantNow(t, s, 5)
		s.let(cloudID(5), nil)
		if err := <-made; err != nil {
			t.Fatal(err)
		}
		p.Announce([]string{cloudID(3), cloudID(7), cloudID(2)})
		wantNow(t, s, 3, 7)
		p.Announce([]string{cloudID(3), cloudID(7)}) // the engine says so before each boot
		wantNow(t, s, 3, 7)
		if diff := cmp.Diff([]string{cloudID(3), cloudID(7), cloudID(5)}, s.kept); diff != "" {
			t.Errorf("kept meanwhile: %s", diff)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantNow(t, s)
		p.Announce([]string{cloudID(2)})
		wantNow(t, s)
		if s.most > 2 {
			t.Errorf("%d downloads at the same time", s.most)
		}
	})
}

// What will not be needed is not downloaded to its end; what is waited for is.
func TestPackagesStopFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := served(t, 9)
		p.Announce([]string{cloudID(3), cloudID(7)})
		wantNow(t, s, 3, 7)
		made := make1(t, p, 3)
		wantNow(t, s, 3, 7)
		p.Announce([]string{cloudID(2), cloudID(4)})
		wantNow(t, s, 2, 3, 4)
		if diff := cmp.Diff([]string{cloudID(7)}, s.ended); diff != "" {
			t.Errorf("stopped: %s", diff)
		}
		s.let(cloudID(3), nil)
		wantNow(t, s, 2, 3, 4)
		s.let(cloudID(3), nil)
		if err := <-made; err != nil {
			t.Error(err)
		}
		p.Announce([]string{cloudID(7), cloudID(4)}) // stopped once, and wanted again
		wantNow(t, s, 4, 7)
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A download that fails in the background is tried again when its kernel is asked for, and only then is an error told.
func TestPackagesThatCanNotBeFetched(t *testing.T) {
	gone := &kernel.UsageError{Message: "fetch package x: apt knows no such package", Cause: kernel.ErrNotOffered}
	for _, tt := range []struct {
		name   string
		err    error
		broken bool
		usage  bool
	}{
		{"gone", gone, true, false},
		{"no room", &kernel.UsageError{Message: "fetch package x: it needs 130 MiB"}, false, true},
		{"no network", errors.New("fetch package x: Temporary failure resolving"), false, false},
		{"fine the second time", nil, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, s := served(t, 9)
				p.Announce([]string{cloudID(3), cloudID(7)})
				wantNow(t, s, 3, 7)
				s.let(cloudID(3), errors.New("broken off"))
				s.let(cloudID(7), nil)
				wantNow(t, s)
				made := make1(t, p, 3)
				wantNow(t, s, 3)
				s.let(cloudID(3), tt.err)
				err := <-made
				var broken *BrokenError
				var usage *UsageError
				if errors.As(err, &broken) != tt.broken || errors.As(err, &usage) != tt.usage || (err == nil) != (tt.err == nil) || err != nil && err.Error() != tt.err.Error() {
					t.Errorf("got %v (%T)", err, err)
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A bisect that is stopped stops its downloads.
func TestPackagesEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{running: map[string]chan error{}}
		ctx, cancel := context.WithCancel(t.Context())
		d := newDownloads(ctx, s.fetch)
		d.want([]string{"a", "b"})
		if now := s.now(); len(now) != 2 {
			t.Errorf("being downloaded: %v", now)
		}
		cancel()
		if now := s.now(); len(now) != 0 {
			t.Errorf("being downloaded: %v", now)
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		d.started["c"] = download{done: make(chan struct{}), cancel: func() {}}
		if err := d.get(stopped, "c", func(string) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPackagesLeft(t *testing.T) {
	p := newPackages(t.Context(), PackageOptions{}, clouds(9))
	for _, tt := range []struct {
		old  []int
		new  int
		want []int
	}{
		{[]int{1}, 9, []int{5, 6, 4, 7, 3, 8, 2}},
		{[]int{1, 5, 3}, 9, []int{7, 8, 6}},
		{[]int{1}, 4, []int{2, 3}},
		{[]int{3}, 4, nil},
		{nil, 3, []int{1, 2}},
	} {
		m := Marks{New: cloudID(tt.new)}
		for _, n := range tt.old {
			m.Old = append(m.Old, cloudID(n))
		}
		var want []string
		for _, n := range tt.want {
			want = append(want, cloudID(n))
		}
		got, err := p.Left(t.Context(), m)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v to %d: %v %s", tt.old, tt.new, err, diff)
		}
	}
	for _, m := range []Marks{{New: "x=1"}, {Old: []string{"x=1"}, New: cloudID(2)}} {
		if _, err := p.Left(t.Context(), m); err == nil || err.Error() != "there is no kernel x=1 in the list of this bisect" {
			t.Errorf("got %v", err)
		}
	}
}

func TestPackagesBeforeAndDescribe(t *testing.T) {
	p := newPackages(t.Context(), PackageOptions{}, clouds(3))
	if got, err := p.Before(t.Context(), cloudID(3)); err != nil || len(got) != 1 || got[0] != cloudID(2) {
		t.Errorf("before 3: %v, %v", got, err)
	}
	if got, err := p.Before(t.Context(), cloudID(1)); err != nil || len(got) != 0 {
		t.Errorf("before 1: %v, %v", got, err)
	}
	if got, err := p.Describe(t.Context(), cloudID(3)); got != "linux-image-6.1.0-3-cloud-amd64 6.1.103-1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// opened opens a history from a list that was kept, so that no package system is asked.
func opened(t *testing.T, n int, change func(*PackageOptions)) (Space, Ends, error) {
	t.Helper()
	o := PackageOptions{Kernels: []string{"deb:x*"}, Folder: t.TempDir()}
	data, err := json.Marshal(kernelList{o.Kernels, clouds(n)})
	if err == nil {
		err = os.WriteFile(filepath.Join(o.Folder, listName), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	change(&o)
	return OpenPackages(t.Context(), o)
}

func TestPackagesEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		good, bad string
		fix       bool
		old, new  int
	}{
		"default":  {"", "", false, 1, 5},
		"fix":      {"", "", true, 1, 5},
		"ids":      {cloudID(2), cloudID(4), false, 2, 4},
		"fix, ids": {cloudID(4), cloudID(2), true, 2, 4},
		"others":   {"linux-image-6.1.0-2-cloud-amd64", "6.1.0-4-cloud-amd64", false, 2, 4},
		"specs":    {cloud(1).Spec, "6.1.102-1", false, 1, 2},
	} {
		space, ends, err := opened(t, 5, func(o *PackageOptions) { o.Good, o.Bad, o.FindFix = tt.good, tt.bad, tt.fix })
		if err != nil || ends != (Ends{cloudID(tt.old), cloudID(tt.new)}) {
			t.Errorf("%s: %v, %v", name, ends, err)
			continue
		}
		p := space.(*packages)
		if p.first != tt.old-1 || p.last != tt.new-1 {
			t.Errorf("%s: from %d to %d", name, p.first, p.last)
		}
		if err := p.Close(t.Context()); err != nil || exists(filepath.Join(p.options.Folder, listName)) {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

func TestPackagesRefuse(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, tt := range map[string]struct {
		n      int
		change func(*PackageOptions)
		says   string
	}{
		"one":      {1, func(*PackageOptions) {}, "there is one kernel only, " + cloudID(1) + "; at least two are needed"},
		"same":     {3, func(o *PackageOptions) { o.Good = cloudID(3) }, "--good and --bad are the same kernel, " + cloudID(3)},
		"reversed": {3, func(o *PackageOptions) { o.Good, o.Bad = cloudID(3), cloudID(1) }, "--good " + cloudID(3) + " is newer than --bad " + cloudID(1) + "; --find-fix"},
		"fix, reversed": {3, func(o *PackageOptions) { o.Good, o.Bad, o.FindFix = cloudID(1), cloudID(3), true },
			"--bad " + cloudID(3) + " is newer than --good " + cloudID(1) + "; without --find-fix"},
		"unknown":   {3, func(o *PackageOptions) { o.Bad = "/no/such/file" }, "--bad /no/such/file is none of the 3 kernels, " + cloudID(1) + " to " + cloudID(3)},
		"no file":   {3, func(o *PackageOptions) { o.Kernels = []string{"/no/such/file"} }, "kernel package /no/such/file: there is no such file"},
		"no module": {3, func(o *PackageOptions) { o.Modules = map[string]string{"bonding": "/no/such.ko"} }, "module /no/such.ko: there is no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := opened(t, tt.n, tt.change)
			wantUsage(t, err, tt.says)
		})
	}
	p := newPackages(t.Context(), PackageOptions{}, append(clouds(2), kernel.Candidate{Package: cloud(2).Package, Version: "7"}))
	_, err := p.end(t.Context(), "--bad", cloud(2).Package, 0)
	wantUsage(t, err, "--bad "+cloud(2).Package+" is 2 of the kernels, the first "+cloudID(2)+" and the last "+cloud(2).Package+"=7: name one as PACKAGE=VERSION")
}

// A module goes into the kernel that it was built for, and into no other.
func TestPackagesModules(t *testing.T) {
	dir := t.TempDir()
	fits := func(release string) error {
		p := newPackages(t.Context(), PackageOptions{Modules: map[string]string{"bonding": filepath.Join(dir, "b.ko")}}, clouds(4))
		p.first, p.last = 1, 3
		p.moduleRelease = func(string) (string, error) { return release, nil }
		if err := p.settleModules(); err != nil {
			return err
		}
		p.downloads = newDownloads(t.Context(), func(context.Context, string, []string, func(string)) error { return nil })
		p.release = func(_ context.Context, c kernel.Candidate) (string, error) { return c.Release(), nil }
		for n := range 4 {
			image, err := p.Make(t.Context(), cloudID(n+1))
			if err != nil {
				return err
			}
			want := map[string]string{}
			if cloud(n+1).Release() == release {
				want["bonding"] = filepath.Join(dir, "b.ko")
			}
			if diff := cmp.Diff(want, image.Modules); diff != "" {
				t.Errorf("kernel %d: %s", n+1, diff)
			}
		}
		p.release = func(context.Context, kernel.Candidate) (string, error) {
			return "", &kernel.UsageError{Message: "k.deb holds no kernel image"}
		}
		_, err := p.Make(t.Context(), cloudID(4))
		var broken *BrokenError
		if !errors.As(err, &broken) || broken.Reason != "k.deb holds no kernel image" {
			t.Errorf("got %v", err)
		}
		return p.Close(t.Context())
	}
	if err := fits(cloud(4).Release()); err != nil {
		t.Error(err)
	}
	for _, release := range []string{cloud(1).Release(), "5.10.0"} { // the first one lies before the ends
		wantUsage(t, fits(release), "--module bonding="+dir+"/b.ko is built for kernel "+release+", which is none of the 3 kernels, "+cloudID(2)+" to "+cloudID(4))
	}
}

// A bisect that goes on has the list that it began with, though the index has changed meanwhile; another bisect has not.
func TestPackagesListIsKept(t *testing.T) {
	o := PackageOptions{Kernels: []string{"deb:x*"}, Folder: filepath.Join(t.TempDir(), "new")}
	if _, kept, err := loadList(o); kept || err != nil {
		t.Errorf("a list from nowhere: %v", err)
	}
	if err := saveList(o, clouds(3)); err != nil {
		t.Fatal(err)
	}
	list, kept, err := loadList(o)
	if diff := cmp.Diff(clouds(3), list); diff != "" || !kept || err != nil {
		t.Errorf("%v %v %s", kept, err, diff)
	}
	o.Kernels = []string{"deb:y*"}
	if _, kept, err := loadList(o); kept || err != nil {
		t.Errorf("another's list: %v", err)
	}
	if err := os.WriteFile(filepath.Join(o.Folder, listName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadList(o); err == nil {
		t.Error("a damaged list is read")
	}
}
