package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// testCache is a cache with things of 100 bytes, the oldest first.
func testCache(t *testing.T, names ...string) *opener {
	t.Helper()
	o := must[*opener](t)(newOpener(Options{CacheDir: t.TempDir()}))
	for i, name := range names {
		if filepath.Dir(name) == extractedFolder {
			files{name + "/modules/a.ko": make([]byte, 60), name + "/vmlinuz-1": make([]byte, 40)}.write(t, o.CacheDir)
		} else {
			files{name: make([]byte, 100)}.write(t, o.CacheDir)
		}
		used := time.Now().Add(time.Duration(i-1000) * time.Hour)
		if err := os.Chtimes(filepath.Join(o.CacheDir, name), used, used); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// pruned gives the names of what went.
func pruned(t *testing.T, o *opener, how PruneOptions) (names []string, left int64) {
	t.Helper()
	p := must[Pruned](t)(o.prune(how))
	for _, k := range p.Removed {
		name := must[string](t)(filepath.Rel(o.CacheDir, k.Path))
		names = append(names, name)
		if exists(k.Path) != how.DryRun {
			t.Errorf("%s: is there: %v", name, exists(k.Path))
		}
		if k.Size != 100 || k.Used.IsZero() {
			t.Errorf("%+v", k)
		}
	}
	return names, p.Left
}

const (
	oldDeb = "kernels/linux-image-1_1.0_amd64.deb"
	newDeb = "kernels/linux-image-1_2.0_amd64.deb"
	oldDir = "extracted/1-00"
	newDir = "extracted/1-11"
	oldID  = "build-ids/00ff"
)

func TestPruneOrder(t *testing.T) {
	all := []string{oldDir, newDeb, oldID, oldDeb, newDir, "mutants/x/bonding.ko", "kernels/README", "kvm-probe.json"}
	for _, tt := range []struct {
		limit int64
		want  []string
	}{
		{1 << 20, nil}, {500, nil}, {499, all[:1]}, {400, all[:1]}, {201, all[:3]}, {0, all[:5]},
	} {
		dry, _ := pruned(t, testCache(t, all...), PruneOptions{Limit: tt.limit, DryRun: true})
		got, left := pruned(t, testCache(t, all...), PruneOptions{Limit: tt.limit})
		if diff := gocmp.Diff(tt.want, got); diff != "" || left != int64(500-100*len(tt.want)) {
			t.Errorf("limit %d: %d bytes left: %s", tt.limit, left, diff)
		}
		if diff := gocmp.Diff(got, dry); diff != "" {
			t.Errorf("limit %d: a dry run differs: %s", tt.limit, diff)
		}
	}
	o := testCache(t, all...)
	pruned(t, o, PruneOptions{})
	for _, name := range all[5:] {
		if !exists(filepath.Join(o.CacheDir, name)) {
			t.Errorf("%s went", name)
		}
	}
	if left := must[[]string](t)(filepath.Glob(o.CacheDir + "/*/" + scratchPattern + "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestPruneNoCache(t *testing.T) {
	if p, err := Prune(Options{CacheDir: filepath.Join(t.TempDir(), "none")}, PruneOptions{}); err != nil || len(p.Removed) > 0 || p.Left != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// What is in use stays, and so does what is to be kept, with its files.
func TestPruneKeeps(t *testing.T) {
	o := testCache(t, oldDeb, newDeb, oldDir, newDir)
	sum := must[string](t)(sha256File(filepath.Join(o.CacheDir, newDeb)))
	if err := os.Rename(filepath.Join(o.CacheDir, newDir), o.extractedOf(sum)); err != nil {
		t.Fatal(err)
	}
	held := must[*os.File](t)(hold(filepath.Join(o.CacheDir, oldDir)))
	got, left := pruned(t, o, PruneOptions{Keep: []string{"linux-image-1=2.0", "linux-image-9=9"}})
	if diff := gocmp.Diff([]string{oldDeb}, got); diff != "" || left != 300 {
		t.Errorf("%d bytes left: %s", left, diff)
	}
	held.Close()
	if got, _ := pruned(t, o, PruneOptions{Keep: []string{"linux-image-1=2.0"}}); len(got) != 1 || got[0] != oldDir {
		t.Errorf("got %v", got)
	}
}

// A kernel that is open keeps its files, in another process, too; using it puts off its turn.
func TestPruneOpenKernel(t *testing.T) {
	o := testOpener(t, testArchive(t))
	k := must[*Kernel](t)(o.open(t.Context(), "deb:linux-image-6.1"))
	other := must[*opener](t)(newOpener(Options{CacheDir: o.CacheDir}))
	p := must[Pruned](t)(other.prune(PruneOptions{}))
	if len(p.Removed) != 1 || filepath.Ext(p.Removed[0].Path) != ".deb" {
		t.Errorf("removed %+v", p.Removed)
	}
	whole(t, k)
	runtime.KeepAlive(k)
	for _, f := range k.held {
		f.Close()
	}
	old := time.Now().Add(-time.Hour)
	dir := filepath.Dir(k.Image)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	whole(t, must[*Kernel](t)(o.open(t.Context(), "deb:linux-image-6.1")))
	if st, err := os.Stat(dir); err != nil || !st.ModTime().After(old) {
		t.Errorf("its use was not noted: %v", err)
	}
}

// A fetch prunes, but never what it fetched itself, nor what is to be kept.
func TestFetchPrunes(t *testing.T) {
	a := testArchive(t)
	o := testOpener(t, a)
	o.CacheLimit = 1
	in := func(version string) bool { return o.inCache("linux-image-6.1", version) != "" }
	for _, version := range []string{"1", "2", "3"} {
		must[string](t)(o.fetchCandidate(t.Context(), Candidate{Package: "linux-image-6.1", Version: version}))
		o.Keep = []string{"linux-image-6.1=2"}
	}
	if in("1") || !in("2") || !in("3") {
		t.Errorf("in the cache: %v %v %v", in("1"), in("2"), in("3"))
	}
}

// What is removed while others wait for it is not taken for being there.
func TestHoldOfWhatIsRemoved(t *testing.T) {
	dir := files{"x": nil}.write(t, t.TempDir())
	path := filepath.Join(dir, "x")
	f := must[*os.File](t)(lock(path, unix.LOCK_EX))
	failed := make(chan error)
	go func() {
		_, err := hold(path)
		failed <- err
	}()
	time.Sleep(20 * time.Millisecond) // most likely it waits by now; when it does not, the outcome is the same
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := <-failed; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
