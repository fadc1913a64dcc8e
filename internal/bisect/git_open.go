package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bondrepro/internal/gitrepo"
)

// TreeOptions are what `bisect tree` was given.
type TreeOptions struct {
	// Repo is a folder in the kernel's repository; empty: the current one.
	Repo string `json:"repo"`
	// Good and Bad are revisions. Good is the older of the two; with FindFix, Bad is.
	Good    string `json:"-"`
	Bad     string `json:"-"`
	FindFix bool   `json:"-"`
	// Paths, relative to Repo, limit the candidates to commits that touch them.
	Paths []string `json:"paths,omitempty"`
	// Config is a .config to start from, Build a shell command in place of our make. See kbuild.Tree.
	Config string `json:"config,omitempty"`
	Build  string `json:"build,omitempty"`
	// Folder is the bisect's: worktree, build output, images and logs go below it.
	Folder string `json:"-"`
	// Progress is told what is being done; nil is silence.
	Progress func(string) `json:"-"`
}

// ModuleOptions are what `bisect module` was given.
type ModuleOptions struct {
	// Name is the module's, Source its folder in a repository, Headers what it is built against.
	Name    string `json:"name"`
	Source  string `json:"source"`
	Headers string `json:"headers"`
	// Kernel is what every point boots, as of `run --kernel`.
	Kernel string `json:"kernel"`
	// Good and Bad are revisions. Good is the older of the two; with FindFix, Bad is.
	Good     string       `json:"-"`
	Bad      string       `json:"-"`
	FindFix  bool         `json:"-"`
	Folder   string       `json:"-"`
	Progress func(string) `json:"-"`
}

// Where a space's things are, below the bisect's folder.
const (
	treeName   = "tree"   // the worktree
	outName    = "out"    // what is being built
	imagesName = "images" // what is booted
	logsName   = "logs"   // what make said
)

// Room that building takes besides the checkout, in bytes, images and results with it: a kernel of our config (its objects
// were 161 MB of Linux 6.1), one of a config of the user's, a module.
const (
	treeRoom   = 512 << 20
	configRoom = 3 << 30
	moduleRoom = 64 << 20
)

// keepTrees and keepModules are how many images are kept at most. The engine goes back to a few: the ends, the culprit
// and its parents.
const (
	keepTrees   = 12
	keepModules = 256
)

// OpenTree opens the history of a kernel tree between two revisions. What the user got wrong is a *UsageError, and nothing
// is left then.
func OpenTree(ctx context.Context, o TreeOptions) (*GitSpace, Ends, error) {
	s, ends, err := openTreeSpace(ctx, o)
	return s, ends, asUsage(err)
}

func openTreeSpace(ctx context.Context, o TreeOptions) (*GitSpace, Ends, error) {
	repo, err := openRepo(ctx, cmp.Or(o.Repo, "."), o.Folder)
	if err != nil {
		return nil, Ends{}, err
	}
	r := revisions{repo: repo, good: o.Good, bad: o.Bad, findFix: o.FindFix}
	for _, p := range o.Paths {
		r.paths = append(r.paths, filepath.Clean(repo.Prefix+p))
	}
	ends, err := r.ends(ctx)
	if err != nil {
		return nil, Ends{}, err
	}
	if o.Build == "" {
		if err := checkTree(ctx, repo, o.Config, ends.New); err != nil {
			return nil, Ends{}, err
		}
	}
	s := &GitSpace{
		repo: repo, paths: r.paths, ends: ends, progress: o.Progress,
		images:  &images{folder: o.Folder, most: keepTrees},
		builder: treeBuilder{config: o.Config, command: o.Build, folder: o.Folder},
	}
	if o.Config != "" || o.Build != "" {
		return s, ends, s.checkOut(ctx, configRoom)
	}
	return s, ends, s.checkOut(ctx, treeRoom)
}

// OpenModule opens the history of one module's source between two revisions: the commits that touch its folder. What the
// user got wrong is a *UsageError, and nothing is left then.
func OpenModule(ctx context.Context, o ModuleOptions) (*GitSpace, Ends, error) {
	s, ends, err := openModuleSpace(ctx, o)
	return s, ends, asUsage(err)
}

func openModuleSpace(ctx context.Context, o ModuleOptions) (*GitSpace, Ends, error) {
	if err := checkHeaders(o.Headers); err != nil {
		return nil, Ends{}, err
	}
	repo, err := openRepo(ctx, o.Source, o.Folder)
	if err != nil {
		return nil, Ends{}, fmt.Errorf("--source: %w", err)
	}
	r := revisions{repo: repo, good: o.Good, bad: o.Bad, findFix: o.FindFix}
	if repo.Prefix != "" {
		r.paths = []string{filepath.Clean(repo.Prefix)}
	}
	ends, err := r.ends(ctx)
	if err != nil {
		return nil, Ends{}, err
	}
	if has, err := anyOf(ctx, repo, ends.New, repo.Prefix+"Kbuild", repo.Prefix+"Makefile"); err != nil || !has {
		return nil, Ends{}, cmp.Or(err, wrong("--source %s: there is neither a Kbuild nor a Makefile in it at %s: name the module's own folder", o.Source, ends.New))
	}
	s := &GitSpace{
		repo: repo, paths: r.paths, ends: ends, progress: o.Progress,
		images:  &images{folder: o.Folder, most: keepModules},
		builder: moduleBuilder{name: o.Name, prefix: repo.Prefix, headers: o.Headers, kernel: o.Kernel},
	}
	return s, ends, s.checkOut(ctx, moduleRoom)
}

// checkOut makes the worktree, after all that can be wrong was looked at. room is what building takes besides it, in
// bytes.
func (s *GitSpace) checkOut(ctx context.Context, room int64) error {
	if s.progress == nil {
		s.progress = func(string) {}
	}
	folder := s.images.folder
	tree := filepath.Join(folder, treeName)
	if !exists(tree) { // a resumed bisect has its room already
		size, err := s.repo.Size(ctx, s.ends.New)
		if err != nil {
			return err
		}
		if err := checkRoom(folder, size+room); err != nil {
			return err
		}
	}
	made := !exists(folder)
	if err := os.MkdirAll(filepath.Join(folder, logsName), 0o755); err != nil {
		return fmt.Errorf("make the bisect's folder: %w", err)
	}
	s.say(ctx, "checking out ", s.ends.New)
	var err error
	if s.tree, err = s.repo.Worktree(ctx, tree, s.ends.New); err != nil && made {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// openRepo opens a repository whose history is whole and whose tree holds nothing that would not be measured.
// A bisect that is resumed knows its commits: what was changed in the user's checkout meanwhile is none of its business.
func openRepo(ctx context.Context, dir, folder string) (*gitrepo.Repo, error) {
	repo, err := gitrepo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	if repo.Shallow {
		return nil, wrong("%s is a shallow clone, whose history ends early: fetch the rest by 'git fetch --unshallow'", repo.Dir())
	}
	if resumed(folder) {
		return repo, nil
	}
	why, err := repo.Dirty(ctx)
	if err == nil && why != "" {
		err = wrong("%s", why)
	}
	return repo, err
}

// anyOf tells whether a commit has one of the files.
func anyOf(ctx context.Context, repo *gitrepo.Repo, commit string, files ...string) (bool, error) {
	for _, f := range files {
		if has, err := repo.Has(ctx, commit, f); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

// wrong is a mistake in what was asked for.
func wrong(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// asUsage makes gitrepo's mistakes of the user this room's.
func asUsage(err error) error {
	var user *gitrepo.UserError
	var ours *UsageError
	if errors.As(err, &user) && !errors.As(err, &ours) {
		return &UsageError{Err: err}
	}
	return err
}
