package gitrepo

import (
	"context"
	"strings"
)

// Subject names a commit in one line: its short hash and its subject.
func (r *Repo) Subject(ctx context.Context, id string) (string, error) {
	return r.git(ctx, "log", "-1", "--abbrev=12", "--format=%h %s", id, "--")
}

// Parents gives a commit's parents, none for a root.
func (r *Repo) Parents(ctx context.Context, id string) ([]string, error) {
	out, err := r.git(ctx, "rev-list", "--parents", "-n", "1", id, "--")
	if err != nil {
		return nil, err
	}
	return strings.Fields(out)[1:], nil
}

// IsAncestor tells whether b's history has a in it. A commit is its own ancestor.
func (r *Repo) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	_, err := run(ctx, r.Dir(), walk, "merge-base", "--is-ancestor", a, b)
	if exited(err, 1) {
		return false, nil
	}
	return err == nil, err
}

// MergeBase gives where two histories part, empty where they have nothing in common.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := run(ctx, r.Dir(), walk, "merge-base", a, b)
	if exited(err, 1) {
		return "", nil
	}
	return strings.TrimSuffix(out, "\n"), err
}

// Newest gives the newest commit of rev's history, and of none of the others', that touches paths: as far as they go, its
// tree is rev's. Empty: none does.
func (r *Repo) Newest(ctx context.Context, rev string, not, paths []string) (string, error) {
	args := append([]string{"rev-list", "-n", "1", rev, "--not"}, not...)
	out, err := run(ctx, r.Dir(), walk, append(append(args, "--"), paths...)...)
	return strings.TrimSuffix(out, "\n"), err
}

// BisectAll gives the commits of bad's history that are in no good's, the one that halves them best first, without bad.
// With paths, only commits that touch them (git-rev-list(1), --bisect-all and History Simplification).
func (r *Repo) BisectAll(ctx context.Context, bad string, goods, paths []string) ([]string, error) {
	args := append([]string{"rev-list", "--bisect-all", bad, "--not"}, goods...)
	out, err := run(ctx, r.Dir(), walk, append(append(args, "--"), paths...)...)
	if err != nil {
		return nil, err
	}
	return parseBisectAll(out, bad), nil
}

// parseBisectAll takes the hashes of lines like "HASH (HEAD -> main, dist=3)". git sorts them. bad itself is among them
// with dist=0; so is, with paths, what stands for a bad that does not touch them, and that is kept.
func parseBisectAll(out, bad string) []string {
	var ids []string
	for line := range strings.Lines(out) {
		if id, _, _ := strings.Cut(strings.TrimSpace(line), " "); id != "" && id != bad {
			ids = append(ids, id)
		}
	}
	return ids
}
