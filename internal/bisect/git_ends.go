package bisect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"bondrepro/internal/gitrepo"
)

// revisions are the two that the user named.
type revisions struct {
	repo      *gitrepo.Repo
	good, bad string
	findFix   bool
	paths     []string
}

// ends resolves the revisions and checks that there is a history between them.
func (r revisions) ends(ctx context.Context) (e Ends, err error) {
	good, err := r.repo.Resolve(ctx, r.good)
	if err != nil {
		return e, fmt.Errorf("--good: %w", err)
	}
	bad, err := r.repo.Resolve(ctx, r.bad)
	if err != nil {
		return e, fmt.Errorf("--bad: %w", err)
	}
	if good == bad {
		return e, wrong("--good %s and --bad %s are the same commit, %s: there is nothing between them", r.good, r.bad, good)
	}
	e = Ends{Old: good, New: bad}
	if r.findFix {
		e = Ends{Old: bad, New: good}
	}
	if err := r.order(ctx, e); err != nil {
		return e, err
	}
	return r.stand(ctx, e)
}

// order checks that the old end is in the new one's history.
func (r revisions) order(ctx context.Context, e Ends) error {
	old, new := "--good "+r.good, "--bad "+r.bad
	hint := "swap them, or look for the commit that ended the symptom with --find-fix"
	if r.findFix {
		old, new, hint = new, old, "swap them, or look for the commit that began the symptom without --find-fix"
	}
	if fits, err := r.repo.IsAncestor(ctx, e.Old, e.New); fits || err != nil {
		return err
	}
	if turned, err := r.repo.IsAncestor(ctx, e.New, e.Old); turned || err != nil {
		return cmp.Or(err, wrong("%s is younger than %s: %s", old, new, hint))
	}
	base, err := r.repo.MergeBase(ctx, e.Old, e.New)
	switch {
	case err != nil:
		return err
	case base == "":
		return wrong("%s and %s have no history in common", old, new)
	}
	flag, _, _ := strings.Cut(old, " ")
	return wrong("%s is no ancestor of %s: they part at %s; measure that one, and give it as %s if it is of that kind", old, new, base, flag)
}

// stand is the ends where paths limit the points. A new end that does not touch them is no point, and would be called the
// culprit when none is left; the newest commit that touches them stands for it: as far as they go, it is the same.
func (r revisions) stand(ctx context.Context, e Ends) (Ends, error) {
	if len(r.paths) == 0 {
		return e, nil
	}
	id, err := r.repo.Newest(ctx, e.New, []string{e.Old}, r.paths)
	if err == nil && id == "" {
		err = wrong("no commit between --good %s and --bad %s touches %s", r.good, r.bad, strings.Join(r.paths, " "))
	}
	return Ends{Old: e.Old, New: id}, err
}
