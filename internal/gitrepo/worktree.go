package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Worktree is a working tree of our own, with a detached HEAD. One process uses it at a time.
type Worktree struct {
	Dir  string
	repo *Repo
	// gitDir is its own git folder, below the repository's.
	gitDir string
}

// Worktree checks a commit out in dir, which is made (git-worktree(1)). What a killed process left there is taken over
// where git knows it, and made anew where it does not. A folder that is no worktree is a *UserError.
func (r *Repo) Worktree(ctx context.Context, dir, commit string) (*Worktree, error) {
	// git writes down, and compares, the path without symbolic links.
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil, fmt.Errorf("make a worktree: %w", err)
	}
	w := &Worktree{Dir: filepath.Join(parent, filepath.Base(dir)), repo: r}
	if w.find(ctx) && w.Checkout(ctx, commit) == nil {
		return w, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := w.Remove(ctx); err != nil {
		return nil, err
	}
	if _, err := run(ctx, r.Dir(), write, "worktree", "add", "--quiet", "--detach", w.Dir, commit); err != nil {
		return nil, err
	}
	if !w.find(ctx) {
		return nil, fmt.Errorf("%s: git made a worktree that it does not know", w.Dir)
	}
	return w, nil
}

// find looks for the worktree's git folder. A .git file whose folder is gone, or that is of another repository, is none.
func (w *Worktree) find(ctx context.Context) bool {
	if _, err := os.Stat(filepath.Join(w.Dir, ".git")); err != nil {
		return false
	}
	found, err := Open(ctx, w.Dir)
	if err != nil || found.Common != w.repo.Common || found.Top != w.Dir {
		return false
	}
	w.gitDir = found.GitDir
	return true
}

// unlock takes away locks that a killed git left: nobody else uses this worktree.
func (w *Worktree) unlock() {
	for _, lock := range []string{"index.lock", "HEAD.lock"} {
		os.Remove(filepath.Join(w.gitDir, lock))
	}
}

// Checkout brings another commit into the worktree, whatever was changed there. Files that git does not track or is told
// to ignore, like build output, stay.
func (w *Worktree) Checkout(ctx context.Context, commit string) error {
	w.unlock()
	_, err := run(ctx, w.Dir, write, "checkout", "--quiet", "--detach", "--force", commit, "--")
	return err
}

// RevertOnto brings tip into the worktree and takes one commit's change off it, uncommitted; of a merge, all that it
// brought into its first parent. clean is false where that conflicts with what came later, or changes nothing; the
// worktree is then tip's.
func (w *Worktree) RevertOnto(ctx context.Context, tip, commit string) (clean bool, err error) {
	parents, err := w.repo.Parents(ctx, commit)
	if err != nil {
		return false, err
	}
	if err := w.Checkout(ctx, tip); err != nil {
		return false, err
	}
	args := []string{"revert", "--no-commit"}
	if len(parents) > 1 {
		args = append(args, "-m", "1")
	}
	_, err = run(ctx, w.Dir, write, append(args, commit)...)
	switch {
	case exited(err, 1): // conflicts
		return false, w.reset(ctx, tip)
	case err != nil:
		return false, errors.Join(err, w.reset(ctx, tip))
	}
	changed, err := run(ctx, w.Dir, walk, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
	return changed != "", err
}

// reset puts the worktree right after a revert that did not work.
func (w *Worktree) reset(ctx context.Context, tip string) error {
	w.unlock()
	_, err := run(ctx, w.Dir, write, "reset", "--quiet", "--hard", tip, "--")
	return err
}

// Remove takes the worktree away, folder and git's knowledge of it. It is no error where there is none.
func (w *Worktree) Remove(ctx context.Context) error {
	known, err := w.known(ctx)
	if err != nil {
		return err
	}
	if known && w.unregister(ctx) == nil {
		return nil
	}
	if err := w.removeFolder(known); err != nil || !known {
		return err
	}
	return w.unregister(ctx) // what it would not remove while the folder was there
}

// unregister has git remove the worktree and forget it. Twice --force: also one that is locked, as a killed
// `worktree add` leaves it.
func (w *Worktree) unregister(ctx context.Context) error {
	_, err := run(ctx, w.repo.Dir(), write, "worktree", "remove", "--force", "--force", w.Dir)
	return err
}

// removeFolder removes what git would not: a folder whose .git is damaged or leads nowhere.
func (w *Worktree) removeFolder(known bool) error {
	entries, err := os.ReadDir(w.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	if st, err := os.Lstat(filepath.Join(w.Dir, ".git")); len(entries) > 0 && !known && (err != nil || !st.Mode().IsRegular()) {
		return userf("%s is there and is no worktree of %s: name another folder", w.Dir, w.repo.Dir())
	}
	if err := os.RemoveAll(w.Dir); err != nil {
		return fmt.Errorf("remove a worktree: %w", err)
	}
	return nil
}

// known tells whether git has the worktree in its list.
func (w *Worktree) known(ctx context.Context) (bool, error) {
	out, err := w.repo.git(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(out) {
		if strings.TrimSuffix(line, "\n") == "worktree "+w.Dir {
			return true, nil
		}
	}
	return false, nil
}
