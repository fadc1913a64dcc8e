package bisect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bondrepro/internal/gitrepo"
	"bondrepro/internal/kbuild"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
)

// StepOptions are what `bisect step` was given: one commit, checked out by somebody else, is to be judged.
type StepOptions struct {
	// Dir is the folder it stands in; empty: the current one.
	Dir string
	// Run are the options of a run. An empty Kernel is the tree that Dir is in. Its Progress must be set.
	Run reproducer.Options
	// Build: build first, by Command (a shell command, started in the top folder of the tree) or, when that is empty, by our
	// own make of a kernel.
	Build   bool
	Command string
	// Log is told one line a decision.
	Log func(line string)
}

// Step judges the commit that is checked out, once, for git bisect run. Its outcome is good, bad or skipped; the commit's
// own faults (it does not build, boot or measure) are skipped. An error is ours, the machine's or the user's.
//
// While a bisect is under way, its state is kept in the git folder: the line rate, which all steps must share; the diagnosis
// of the bad end, which is that of the first bad step; and the verdicts, by what was booted.
func Step(ctx context.Context, o StepOptions) (result.BisectStep, error) {
	step, err := tools{runner: NewRunner(o.Run, ""), tree: buildTree, command: kbuild.Command}.step(ctx, o)
	return step, asUsage(err)
}

// tools are what a step works with; tests have others.
type tools struct {
	runner  Runner
	tree    func(context.Context, kbuild.Tree) (string, error)
	command func(ctx context.Context, dir, command, log string, progress func(string)) error
}

func buildTree(ctx context.Context, t kbuild.Tree) (string, error) { return t.Build(ctx) }

func (u tools) step(ctx context.Context, o StepOptions) (step result.BisectStep, err error) {
	step = result.BisectStep{Role: roleStep}
	repo, err := stepRepo(ctx, o)
	if err != nil {
		return step, err
	}
	if repo != nil {
		if step.ID, err = repo.Resolve(ctx, "HEAD"); err != nil {
			return step, err
		}
		if step.Name, err = repo.Subject(ctx, step.ID); err != nil {
			return step, err
		}
	}
	state, err := openStepState(ctx, repo, o)
	if err != nil {
		return step, err
	}
	start := time.Now()
	image, err := u.image(ctx, repo, o)
	step.BuildS = time.Since(start).Seconds()
	var fingerprint string
	if err == nil {
		fingerprint, err = u.runner.Fingerprint(ctx, image)
	}
	if broken := (*BrokenError)(nil); errors.As(err, &broken) {
		step.Outcome, step.Why = isSkipped, broken.Reason
		return step, nil
	}
	if err != nil {
		return step, err
	}
	j := judging{runner: u.runner, runs: o.Run.Scenario.Runs, state: state, log: o.Log}
	if err := j.judge(ctx, &step, image, fingerprint); err != nil {
		return step, err
	}
	return step, state.save()
}

// stepRepo is the repository that the step stands in; nil where it stands in none and needs none.
func stepRepo(ctx context.Context, o StepOptions) (*gitrepo.Repo, error) {
	dir := o.Dir
	if dir == "" {
		dir = "."
	}
	repo, err := gitrepo.Open(ctx, dir)
	var outside *gitrepo.UserError
	if errors.As(err, &outside) && o.Run.Kernel != "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("no --kernel is named, and %w", err)
	}
	return repo, nil
}
