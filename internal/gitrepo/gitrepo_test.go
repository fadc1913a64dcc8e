package gitrepo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// history is a repository made for a test. Its git is the package's own, with a name to commit by.
type history struct {
	t   *testing.T
	dir string
}

func newHistory(t *testing.T) *history {
	t.Helper()
	h := &history{t: t, dir: t.TempDir()}
	h.git("init", "--quiet", "-b", "main")
	return h
}

func (h *history) git(args ...string) string {
	h.t.Helper()
	out, err := run(context.Background(), h.dir, lookUp, append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (h *history) write(file, text string) {
	h.t.Helper()
	file = filepath.Join(h.dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		h.t.Fatal(err)
	}
}

// commit writes a file and commits it; it gives the commit.
func (h *history) commit(file, text string) string {
	h.t.Helper()
	h.write(file, text)
	h.git("add", file)
	h.git("commit", "--quiet", "-m", "change "+file+" to "+text)
	return h.git("rev-parse", "HEAD")
}

func (h *history) open() *Repo {
	h.t.Helper()
	r, err := Open(context.Background(), h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// content is what a folder's file holds; "" where it is not there.
func content(dir, file string) string {
	text, _ := os.ReadFile(filepath.Join(dir, file))
	return string(text)
}

// wantUserError wants one sentence that says all of it.
func wantUserError(t *testing.T, err error, says ...string) {
	t.Helper()
	var user *UserError
	if !errors.As(err, &user) {
		t.Fatalf("got %v, want a UserError", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q has more than a line", err)
	}
}

func TestOpen(t *testing.T) {
	h := newHistory(t)
	first := h.commit("drivers/net/a.c", "1")
	h.commit("drivers/net/a.c", "2")
	r, err := Open(t.Context(), filepath.Join(h.dir, "drivers/net"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Top != h.dir || r.Prefix != "drivers/net/" || r.GitDir != filepath.Join(h.dir, ".git") || r.Common != r.GitDir || r.Bare || r.Shallow {
		t.Errorf("opened as %+v", r)
	}

	shallow := filepath.Join(t.TempDir(), "shallow")
	h.git("clone", "--quiet", "--depth", "1", "file://"+h.dir, shallow)
	if r, err = Open(t.Context(), shallow); err != nil || !r.Shallow {
		t.Errorf("a shallow clone is opened as %+v, %v", r, err)
	}
	_, err = r.Resolve(t.Context(), first)
	wantUserError(t, err, first, shallow)

	bare := filepath.Join(t.TempDir(), "bare")
	h.git("clone", "--quiet", "--bare", h.dir, bare)
	if r, err = Open(t.Context(), bare); err != nil || !r.Bare || r.Top != "" || r.Dir() != bare {
		t.Errorf("a bare clone is opened as %+v, %v", r, err)
	}
	if id, err := r.Resolve(t.Context(), "main~1"); err != nil || id != first {
		t.Errorf("main~1 of a bare clone is %s, %v; want %s", id, err, first)
	}

	_, err = Open(t.Context(), t.TempDir())
	wantUserError(t, err, "no git repository")
	_, err = Open(t.Context(), filepath.Join(h.dir, "gone"))
	wantUserError(t, err, "no such folder")
	_, err = Open(t.Context(), filepath.Join(h.dir, "drivers/net/a.c"))
	wantUserError(t, err, "is no folder")
}

// TestOwner: what git does not trust is told in git's words.
func TestOwner(t *testing.T) {
	h := newHistory(t)
	if err := os.Chown(h.dir, 4242, 4242); err != nil {
		t.Skipf("only root gives folders away: %v", err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	_, err := Open(t.Context(), h.dir)
	wantUserError(t, err, "dubious ownership")
	// What the user's environment configures is heard.
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "safe.directory")
	t.Setenv("GIT_CONFIG_VALUE_0", "*")
	if _, err := Open(t.Context(), h.dir); err != nil {
		t.Errorf("with safe.directory: %v", err)
	}
}

func TestDirty(t *testing.T) {
	h := newHistory(t)
	h.commit("a b.c", "1")
	r := h.open()
	h.write("untracked", "x")
	if why, err := r.Dirty(t.Context()); err != nil || why != "" {
		t.Errorf("a clean tree is dirty: %q, %v", why, err)
	}
	h.write("a b.c", "2")
	why, err := r.Dirty(t.Context())
	if err != nil || !strings.Contains(why, "the first one in a b.c: commit or stash them") || !strings.Contains(why, h.dir) {
		t.Errorf("a dirty tree: %q, %v", why, err)
	}
}

func TestResolve(t *testing.T) {
	h := newHistory(t)
	id := h.commit("a", "1")
	h.git("tag", "-a", "-m", "one", "v1")
	r := h.open()
	for _, rev := range []string{"v1", "main", id, id[:10], "HEAD"} {
		if got, err := r.Resolve(t.Context(), rev); err != nil || got != id {
			t.Errorf("%s is %s, %v; want %s", rev, got, err, id)
		}
	}
	for _, rev := range []string{"v2", "", "--all", "main:a", "a..b", "HEAD~7", strings.Repeat("1", 40)} {
		_, err := r.Resolve(t.Context(), rev)
		wantUserError(t, err, rev+" is no revision of "+h.dir)
	}
}

// TestForeignGit: a repository that surrounds us by its environment is not ours.
func TestForeignGit(t *testing.T) {
	other, h := newHistory(t), newHistory(t)
	other.commit("x", "1")
	id := h.commit("a", "1")
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	t.Setenv("GIT_WORK_TREE", other.dir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.dir, "index"))
	r := h.open()
	if got, err := r.Resolve(t.Context(), "HEAD"); err != nil || got != id || r.Top != h.dir {
		t.Errorf("HEAD of %s is %s, %v; want %s", r.Top, got, err, id)
	}
}

func TestHistory(t *testing.T) {
	h := newHistory(t)
	var ids []string
	for _, text := range []string{"1", "2", "3", "4", "5"} {
		ids = append(ids, h.commit("a", text))
	}
	h.git("checkout", "--quiet", "-b", "side", ids[1])
	side := h.commit("b", "side")
	h.git("checkout", "--quiet", "main")
	h.git("merge", "--quiet", "--no-ff", "-m", "merge side", "side")
	merge := h.git("rev-parse", "HEAD")
	r := h.open()

	if p, err := r.Parents(t.Context(), merge); err != nil || !slices.Equal(p, []string{ids[4], side}) {
		t.Errorf("the merge's parents are %v, %v", p, err)
	}
	if p, err := r.Parents(t.Context(), ids[0]); err != nil || len(p) != 0 {
		t.Errorf("the root's parents are %v, %v", p, err)
	}
	if s, err := r.Subject(t.Context(), ids[1]); err != nil || s != ids[1][:12]+" change a to 2" {
		t.Errorf("the subject is %q, %v", s, err)
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{ids[0], merge, true}, {side, merge, true}, {merge, side, false}, {side, ids[4], false}, {side, side, true}} {
		if got, err := r.IsAncestor(t.Context(), c.a, c.b); err != nil || got != c.want {
			t.Errorf("IsAncestor(%s, %s) = %v, %v", c.a, c.b, got, err)
		}
	}

	for _, c := range []struct {
		name  string
		bad   string
		goods []string
		paths []string
		want  []string // in any order
		first []string // any of them
	}{
		{"all", merge, ids[:1], nil, []string{ids[1], ids[2], ids[3], ids[4], side}, []string{ids[3], ids[2]}},
		{"two goods", merge, []string{ids[3], side}, nil, []string{ids[4]}, nil},
		{"a path", merge, ids[:1], []string{"b"}, []string{side}, nil}, // the merge is side's, as far as b goes
		{"none", ids[1], ids[:1], nil, nil, nil},
	} {
		got, err := r.BisectAll(t.Context(), c.bad, c.goods, c.paths)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 && c.first != nil && !slices.Contains(c.first, got[0]) {
			t.Errorf("%s: %s comes first", c.name, got[0])
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		not, paths []string
		want       string
	}{{ids[:1], []string{"b"}, side}, {ids[:1], nil, merge}, {[]string{side}, []string{"b"}, ""}, {nil, []string{"gone"}, ""}} {
		if id, err := r.Newest(t.Context(), merge, c.not, c.paths); err != nil || id != c.want {
			t.Errorf("the newest commit, but for %v, that touches %v is %s, %v; want %s", c.not, c.paths, id, err, c.want)
		}
	}
	if base, err := r.MergeBase(t.Context(), side, ids[4]); err != nil || base != ids[1] {
		t.Errorf("the merge base is %s, %v; want %s", base, err, ids[1])
	}
	h.git("checkout", "--quiet", "--orphan", "alone")
	alone := h.commit("c", "1")
	if base, err := r.MergeBase(t.Context(), alone, merge); err != nil || base != "" {
		t.Errorf("the merge base of two histories is %s, %v; want none", base, err)
	}
}

func TestFiles(t *testing.T) {
	h := newHistory(t)
	h.commit("drivers/net/Makefile", "1234")
	id := h.commit("a", "56")
	r, err := Open(t.Context(), filepath.Join(h.dir, "drivers"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.Size(t.Context(), id); err != nil || n != 6 {
		t.Errorf("the size is %d, %v; want 6", n, err)
	}
	for path, want := range map[string]bool{"a": true, "drivers/net/": true, "drivers/net/Makefile": true, "net": false, "b": false} {
		if has, err := r.Has(t.Context(), id, path); err != nil || has != want {
			t.Errorf("Has(%s) = %v, %v", path, has, err)
		}
	}
}

func TestParseBisectAll(t *testing.T) {
	got := parseBisectAll("aa (HEAD -> main, tag: v1, dist=2)\nbb (dist=1)\ncc (dist=0)\ndd (dist=0)\n", "cc")
	if !slices.Equal(got, []string{"aa", "bb", "dd"}) {
		t.Errorf("got %v", got)
	}
}
