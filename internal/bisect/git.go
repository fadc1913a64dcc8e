package bisect

import (
	"context"
	"slices"
	"strings"

	"bondrepro/internal/gitrepo"
)

// Ends are the two ends of a history, as its space names them. Which of them shows the symptom is the caller's business.
type Ends struct{ Old, New string }

// GitSpace is a history of commits. It checks them out in a worktree of its own, below the bisect's folder; the user's
// checkout stays as it is. Images that were built are kept, so a point that comes again is not built again.
type GitSpace struct {
	repo     *gitrepo.Repo
	tree     *gitrepo.Worktree
	paths    []string // only commits that touch these are points; none: all are
	ends     Ends
	images   *images
	builder  builder
	progress func(string)
	// left are the answers of Left: the engine asks for all of its way again before each boot, and in a kernel's history each
	// answer takes git seconds.
	left map[string][]string
}

var (
	_ Space    = (*GitSpace)(nil)
	_ Reverter = (*GitSpace)(nil)
)

// Left gives the commits that may still be the first of the new kind, the one that halves them best first.
func (s *GitSpace) Left(ctx context.Context, m Marks) ([]string, error) {
	key := m.New + " ^" + strings.Join(m.Old, " ^")
	ids, known := s.left[key]
	if !known {
		var err error
		if ids, err = s.repo.BisectAll(ctx, m.New, m.Old, s.paths); err != nil {
			return nil, err
		}
		if s.left == nil {
			s.left = map[string][]string{}
		}
		s.left[key] = ids
	}
	return slices.Clone(ids), nil
}

// Before gives a commit's own parents, all of a merge's, also where paths limit the points and a parent is no point. Between
// a point and the points before it in the simplified history of those paths there may be commits that touch other files;
// only the commit's own parent differs from it by its change and nothing else. For a module it makes no difference: a
// parent's source is that of the point before.
func (s *GitSpace) Before(ctx context.Context, id string) ([]string, error) {
	return s.repo.Parents(ctx, id)
}

// Describe gives the short hash and the subject.
func (s *GitSpace) Describe(ctx context.Context, id string) (string, error) {
	return s.repo.Subject(ctx, id)
}

// Make checks the commit out and builds it, or takes what was built of it before.
func (s *GitSpace) Make(ctx context.Context, id string) (Image, error) {
	if folder, ok := s.images.find(id); ok {
		return s.builder.image(folder), nil
	}
	s.say(ctx, "building ", id)
	if err := s.tree.Checkout(ctx, id); err != nil {
		return Image{}, err
	}
	return s.build(ctx, id)
}

// MakeReverted builds the new end without the change of id.
func (s *GitSpace) MakeReverted(ctx context.Context, id string) (Image, bool, error) {
	name := "without-" + id
	if folder, ok := s.images.find(name); ok {
		return s.builder.image(folder), true, nil
	}
	s.say(ctx, "building the new end without ", id)
	clean, err := s.tree.RevertOnto(ctx, s.ends.New, id)
	if err != nil || !clean {
		return Image{}, false, err
	}
	image, err := s.build(ctx, name)
	return image, true, err
}

// say tells what is being done with a commit.
func (s *GitSpace) say(ctx context.Context, what, id string) {
	if name, err := s.repo.Subject(ctx, id); err == nil {
		s.progress(what + name)
	}
}

// Close removes the worktree, what was built in it, and the images.
func (s *GitSpace) Close(ctx context.Context) error {
	if err := s.tree.Remove(ctx); err != nil {
		return err
	}
	return s.images.remove()
}
