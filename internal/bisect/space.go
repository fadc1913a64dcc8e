// Package bisect finds the first point of a history (commits of a kernel tree, commits of one module, distribution
// kernels) that shows a symptom, although the symptom is flaky, points do not build, and the command is killed.
//
//   - A Space knows the history: which points are left between the ends, how one is built or fetched.
//   - A Runner boots a point once and says what that showed.
//   - Engine decides what to do next. Everything it knows is in a Journal, so it may be killed at any time.
//   - Plan is the statistics: how many boots a decision takes.
package bisect

import (
	"context"

	"bondrepro/reproducer/result"
)

// Space is a history with an old and a new end, which differ in whether they show the symptom.
type Space interface {
	// Left gives the points that may still be the first of the new kind, the most useful to try first, without
	// m.New itself. Points in m.Skipped are among them: whoever asks leaves them out. None left: m.New is the first.
	Left(ctx context.Context, m Marks) ([]string, error)
	// Before gives the points right before id (a commit's parents); none for the first one.
	Before(ctx context.Context, id string) ([]string, error)
	// Make builds or fetches a point. A *BrokenError is the point's own fault (it does not build): it is skipped. Any other
	// error ends the bisect.
	Make(ctx context.Context, id string) (Image, error)
	// Describe names the point in one line for people: "0123456789ab net: do this" or "linux-image-… 6.1.192-3".
	Describe(ctx context.Context, id string) (string, error)
	// Close removes what is of no use after the bisect (worktree, build output). It is called when the bisect is over, not
	// when it will be resumed.
	Close(ctx context.Context) error
}

// Announcer is a Space that likes to know what may be asked of it next, to get it meanwhile (downloads).
type Announcer interface {
	// Announce names points that Make may be asked for soon, the likeliest first. It does not wait for them.
	Announce(ids []string)
}

// Reverter is a Space that can take one point's change off the new end.
type Reverter interface {
	// MakeReverted builds the new end without the change of id. clean is false where it can't be taken off without
	// conflicts; a *BrokenError where the outcome does not build.
	MakeReverted(ctx context.Context, id string) (image Image, clean bool, err error)
}

// Builder is a Space whose points are built with something that may change while a bisect is interrupted.
type Builder interface {
	// BuiltWith is a hash of that.
	BuiltWith() (string, error)
}

// Marks are what is known of the points: everything of the old kind so far, one of the new, those that can't be told.
type Marks struct {
	Old     []string
	New     string
	Skipped []string
}

// Image is what is booted for a point, as the options of `bondrepro run` name it.
type Image struct {
	Kernel     string            `json:"kernel"`
	ModulesDir string            `json:"modules_dir,omitempty"`
	Modules    map[string]string `json:"modules,omitempty"`
}

// BrokenError is a point that can't be measured by its own fault: it does not build.
type BrokenError struct {
	Reason string // one sentence, with the last lines of the build's output
}

func (e *BrokenError) Error() string { return e.Reason }

// UsageError is a mistake in what was asked for: one sentence, exit code 128, nothing left behind.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Runner boots an image once.
type Runner interface {
	// Fingerprint is a hash of the image file and of every module that would be loaded: results of equal fingerprints are
	// interchangeable.
	Fingerprint(ctx context.Context, image Image) (string, error)
	// Run boots it and measures once. lineRate is that of an earlier trial, nil for the first one. A kernel that fails is a
	// trial (Failed), not an error.
	Run(ctx context.Context, image Image, lineRate []float64) (result.Trial, error)
}
