// Package gitrepo asks git about a repository's history, and keeps a worktree of its own to check commits out in. The
// user's checkout, index, branches and configuration stay as they are.
package gitrepo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Repo is a repository.
type Repo struct {
	// Top is the folder of the working tree; empty for a bare repository.
	Top string
	// Prefix is the opened folder below Top, with a "/" at its end; empty for Top itself.
	Prefix string
	// GitDir is the git folder of this working tree, Common that of all working trees of the repository.
	GitDir, Common string
	// Bare has no working tree; Shallow lacks the older part of its history.
	Bare, Shallow bool
}

// Open finds the repository that a folder is in. A folder that is in none, or in one that git does not trust, is a
// *UserError.
func Open(ctx context.Context, dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	switch st, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil, userf("%s: there is no such folder", dir)
	case err != nil:
		return nil, err
	case !st.IsDir():
		return nil, userf("%s is no folder", dir)
	}
	out, err := run(ctx, dir, lookUp, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
		"--is-bare-repository", "--is-shallow-repository", "--is-inside-work-tree")
	if exited(err, 128) {
		var failed *Error
		errors.As(err, &failed)
		return nil, userf("%s is in no git repository that can be used: %s", dir, failed.Said)
	}
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 5 {
		return nil, userf("%s: git names its folders in %d lines instead of 5: rename folders with a line break in their name", dir, len(lines))
	}
	r := &Repo{GitDir: lines[0], Common: lines[1], Bare: lines[2] == "true", Shallow: lines[3] == "true"}
	if lines[4] != "true" {
		return r, nil
	}
	top, err := run(ctx, dir, lookUp, "rev-parse", "--show-toplevel", "--show-prefix")
	r.Top, r.Prefix, _ = strings.Cut(strings.TrimSuffix(top, "\n"), "\n")
	return r, err
}

// Dir is where git is run, and what the repository is called.
func (r *Repo) Dir() string {
	if r.Top != "" {
		return r.Top
	}
	return r.GitDir
}

func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	out, err := run(ctx, r.Dir(), lookUp, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// Dirty says, in one sentence, that tracked files are changed and not committed; it names the first. Empty: none is.
func (r *Repo) Dirty(ctx context.Context) (string, error) {
	if r.Top == "" {
		return "", nil
	}
	out, err := run(ctx, r.Top, walk, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
	if err != nil || out == "" {
		return "", err
	}
	entry, _, _ := strings.Cut(out, "\x00")
	return r.Top + " has changes that are not committed, the first one in " + entry[min(3, len(entry)):] + ": commit or stash them", nil
}

// Resolve gives the commit that a revision names. An unknown one is a *UserError.
func (r *Repo) Resolve(ctx context.Context, rev string) (string, error) {
	id, err := r.git(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
	if exited(err, 1) || exited(err, 128) { // 128 where the name itself can't be one
		return "", userf("%s is no revision of %s", rev, r.Dir())
	}
	return id, err
}

// Has tells whether a commit has a file or folder, named from the top.
func (r *Repo) Has(ctx context.Context, commit, path string) (bool, error) {
	out, err := r.git(ctx, "ls-tree", "--full-tree", "--name-only", commit, "--", strings.TrimSuffix(path, "/"))
	return out != "", err
}

// Size is how many bytes the files of a commit have.
func (r *Repo) Size(ctx context.Context, commit string) (bytes int64, err error) {
	out, err := run(ctx, r.Dir(), walk, "ls-tree", "--full-tree", "-r", "--long", commit)
	for line := range strings.Lines(out) { // MODE TYPE HASH SIZE\tPATH; a submodule's size is "-"
		if fields := strings.Fields(line); len(fields) > 3 {
			n, _ := strconv.ParseInt(fields[3], 10, 64)
			bytes += n
		}
	}
	return bytes, err
}

// GitPath is where git keeps a file of this working tree, as BISECT_LOG (git-rev-parse(1), --git-path).
func (r *Repo) GitPath(ctx context.Context, name string) (string, error) {
	return r.git(ctx, "rev-parse", "--path-format=absolute", "--git-path", name)
}
