package gitrepo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a worktree at a commit, with build output that git is told to ignore.
func (h *history) tree(r *Repo, commit string) *Worktree {
	h.t.Helper()
	w, err := r.Worktree(h.t.Context(), filepath.Join(h.t.TempDir(), "tree"), commit)
	if err != nil {
		h.t.Fatal(err)
	}
	return w
}

func TestWorktree(t *testing.T) {
	h := newHistory(t)
	h.commit(".gitignore", "*.o\n")
	one, two := h.commit("a", "1"), h.commit("a", "2")
	three := h.commit("b", "3")
	h.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch "+h.dir+"/hooked\n")
	if err := os.Chmod(filepath.Join(h.dir, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := h.open()
	w := h.tree(r, three)
	for _, c := range []struct{ commit, a, b string }{{one, "1", ""}, {three, "2", "3"}, {two, "2", ""}} {
		os.WriteFile(filepath.Join(w.Dir, "a"), []byte("changed"), 0o644)
		os.WriteFile(filepath.Join(w.Dir, "built.o"), nil, 0o644)
		if err := w.Checkout(t.Context(), c.commit); err != nil {
			t.Fatal(err)
		}
		if content(w.Dir, "a") != c.a || content(w.Dir, "b") != c.b {
			t.Errorf("%s: a is %q, b is %q; want %q, %q", c.commit, content(w.Dir, "a"), content(w.Dir, "b"), c.a, c.b)
		}
		if _, err := os.Stat(filepath.Join(w.Dir, "built.o")); err != nil {
			t.Errorf("build output is gone: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(h.dir, "hooked")); err == nil {
		t.Error("the user's hook ran")
	}
	if h.git("rev-parse", "HEAD") != three || h.git("branch", "--show-current") != "main" || h.git("status", "--porcelain") != "" {
		t.Errorf("the user's checkout changed: %s", h.git("status"))
	}
	if err := w.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.nothingLeft(w)
	if err := w.Remove(t.Context()); err != nil {
		t.Errorf("removed again: %v", err)
	}
}

func (h *history) nothingLeft(w *Worktree) {
	h.t.Helper()
	if _, err := os.Lstat(w.Dir); err == nil {
		h.t.Errorf("%s is still there", w.Dir)
	}
	if list := h.git("worktree", "list"); strings.Count(list, "\n") != 0 {
		h.t.Errorf("git still knows\n%s", list)
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, ".git/worktrees/*")); len(left) > 0 {
		h.t.Errorf("left: %v", left)
	}
}

// TestLeftovers: what a killed process may leave is no obstacle, neither to go on nor to remove it.
func TestLeftovers(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(h *history, w *Worktree){
		"locks": func(h *history, w *Worktree) {
			must(os.WriteFile(filepath.Join(w.gitDir, "index.lock"), nil, 0o644))
			must(os.WriteFile(filepath.Join(w.gitDir, "HEAD.lock"), nil, 0o644))
		},
		"the folder is gone": func(h *history, w *Worktree) { must(os.RemoveAll(w.Dir)) },
		"the folder is gone, while it was being made": func(h *history, w *Worktree) {
			must(os.RemoveAll(w.Dir))
			must(os.WriteFile(filepath.Join(w.gitDir, "locked"), []byte("initializing"), 0o644))
		},
		"half made": func(h *history, w *Worktree) {
			must(os.WriteFile(filepath.Join(w.gitDir, "locked"), []byte("initializing"), 0o644))
			must(os.Remove(filepath.Join(w.gitDir, "HEAD")))
			must(os.Remove(filepath.Join(w.gitDir, "index")))
		},
		"the .git file is gone":   func(h *history, w *Worktree) { must(os.Remove(filepath.Join(w.Dir, ".git"))) },
		"git's knowledge is gone": func(h *history, w *Worktree) { must(os.RemoveAll(w.gitDir)) },
		"the index is damaged": func(h *history, w *Worktree) {
			must(os.WriteFile(filepath.Join(w.gitDir, "index"), []byte("x"), 0o644))
		},
		"the .git file is empty":           func(h *history, w *Worktree) { must(os.WriteFile(filepath.Join(w.Dir, ".git"), nil, 0o644)) },
		"a conflict that nobody resolved":  func(h *history, w *Worktree) { h.conflict(w) },
		"files that are no longer tracked": func(h *history, w *Worktree) { must(os.Remove(filepath.Join(w.Dir, "a"))) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			one, two := h.commit("a", "1"), h.commit("a", "2")
			r := h.open()
			w := h.tree(r, two)
			damage(h, w)
			again, err := r.Worktree(t.Context(), w.Dir, one)
			if err != nil {
				t.Fatal(err)
			}
			if content(again.Dir, "a") != "1" {
				t.Errorf("a is %q after it was made again", content(again.Dir, "a"))
			}
			must(again.Checkout(t.Context(), two))
			damage(h, again)
			must(again.Remove(t.Context()))
			h.nothingLeft(again)
		})
	}
}

// TestLocksOfAKilledGit: nobody else is in our worktree, so they are in nobody's way.
func TestLocksOfAKilledGit(t *testing.T) {
	h := newHistory(t)
	one, two := h.commit("a", "1"), h.commit("a", "2")
	w := h.tree(h.open(), two)
	for _, lock := range []string{"index.lock", "HEAD.lock"} {
		if err := os.WriteFile(filepath.Join(w.gitDir, lock), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Checkout(t.Context(), one); err != nil || content(w.Dir, "a") != "1" {
		t.Errorf("a is %q, %v", content(w.Dir, "a"), err)
	}
}

// conflict leaves the worktree in the middle of a revert.
func (h *history) conflict(w *Worktree) {
	h.t.Helper()
	parent := h.git("rev-parse", "main~1")
	if _, err := run(h.t.Context(), w.Dir, lookUp, "checkout", "--quiet", "--detach", "main"); err != nil {
		h.t.Fatal(err)
	}
	if _, err := run(h.t.Context(), w.Dir, lookUp, "revert", "--no-commit", parent); err == nil {
		h.t.Fatal("there was no conflict")
	}
}

// TestWorktreeByALink: git writes paths down without symbolic links, whatever the user called them.
func TestWorktreeByALink(t *testing.T) {
	h := newHistory(t)
	one, two := h.commit("a", "1"), h.commit("a", "2")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(h.dir, link); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{one, two} { // made, then taken over
		w, err := r.Worktree(t.Context(), filepath.Join(link, ".git", "tree"), id)
		if err != nil || w.Dir != filepath.Join(h.dir, ".git", "tree") || content(w.Dir, "a") == "" {
			t.Fatalf("the worktree is %+v, %v", w, err)
		}
		if id == two {
			if err := w.Remove(t.Context()); err != nil {
				t.Error(err)
			}
			h.nothingLeft(w)
		}
	}
}

// TestForeignFolder: what is not ours is not touched.
func TestForeignFolder(t *testing.T) {
	h := newHistory(t)
	id := h.commit("a", "1")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := h.open().Worktree(t.Context(), dir, id)
	wantUserError(t, err, dir, "is no worktree of")
	if content(dir, "mine") != "x" {
		t.Error("the file is gone")
	}
}

func TestRevertOnto(t *testing.T) {
	h := newHistory(t)
	h.commit("a", "1")
	free := h.commit("b", "1")
	early := h.commit("a", "2")
	h.git("checkout", "--quiet", "-b", "side")
	h.commit("c", "side")
	h.git("checkout", "--quiet", "main")
	h.git("merge", "--quiet", "--no-ff", "-m", "merge side", "side")
	merge := h.git("rev-parse", "HEAD")
	gone := h.commit("d", "1")
	h.git("revert", "--no-edit", gone)
	tip := h.commit("a", "3")
	w := h.tree(h.open(), tip)
	for _, c := range []struct {
		name, commit string
		clean        bool
		a, b, c      string
	}{
		{"clean", free, true, "3", "", "side"},
		{"conflict", early, false, "3", "1", "side"},
		{"merge", merge, true, "3", "1", ""},
		{"reverted already", gone, false, "3", "1", "side"},
		{"clean again", free, true, "3", "", "side"},
	} {
		clean, err := w.RevertOnto(t.Context(), tip, c.commit)
		if err != nil || clean != c.clean {
			t.Errorf("%s: clean %v, %v; want %v", c.name, clean, err, c.clean)
		}
		if content(w.Dir, "a") != c.a || content(w.Dir, "b") != c.b || content(w.Dir, "c") != c.c || content(w.Dir, "d") != "" {
			t.Errorf("%s: a %q, b %q, c %q", c.name, content(w.Dir, "a"), content(w.Dir, "b"), content(w.Dir, "c"))
		}
	}
	if err := w.Checkout(t.Context(), tip); err != nil || content(w.Dir, "b") != "1" {
		t.Errorf("back at the tip b is %q, %v", content(w.Dir, "b"), err)
	}
	if h.git("status", "--porcelain") != "" || h.git("rev-parse", "HEAD") != tip {
		t.Error("the user's checkout changed")
	}
}
