package bisect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"

	"github.com/google/renameio/v2"
)

// Env is what a bisect tells while it is under way. All of it may be called from one goroutine only.
type Env struct {
	Log      func(line string) // one line a decision
	Progress func(text string) // what is being done
}

// openers open the space of a kind and settle its ends.
var openers = map[string]func(context.Context, *Params, string, Env) (Space, error){
	"tree":     openTree,
	"module":   openModule,
	"packages": openPackages,
}

func openTree(ctx context.Context, p *Params, folder string, env Env) (Space, error) {
	o := *p.Tree
	o.Good, o.Bad, o.FindFix, o.Folder, o.Progress = p.Good, p.Bad, p.FindFix, folder, env.Progress
	space, ends, err := OpenTree(ctx, o)
	return settle(p, space, ends, err)
}

func openModule(ctx context.Context, p *Params, folder string, env Env) (Space, error) {
	o := *p.Module
	o.Good, o.Bad, o.FindFix, o.Folder, o.Progress = p.Good, p.Bad, p.FindFix, folder, env.Progress
	space, ends, err := OpenModule(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := checkModuleKernel(ctx, o); err != nil {
		return nil, errors.Join(err, closeSpace(ctx, space))
	}
	return settle(p, space, ends, nil)
}

func openPackages(ctx context.Context, p *Params, folder string, env Env) (Space, error) {
	o := *p.Packages
	o.Good, o.Bad, o.FindFix, o.Folder, o.Progress = p.Good, p.Bad, p.FindFix, folder, env.Progress
	space, ends, err := OpenPackages(ctx, o)
	return settle(p, space, ends, err)
}

// settle puts the ends as the space names them into the params.
func settle(p *Params, space Space, ends Ends, err error) (Space, error) {
	if err != nil {
		return nil, err
	}
	p.Good, p.Bad = ends.Old, ends.New
	if p.FindFix {
		p.Good, p.Bad = p.Bad, p.Good
	}
	return space, nil
}

// Begin runs a bisect whose journal is in folder, which must be new or empty. After an error before its first event, and
// after a *UsageError before the ends are settled, nothing of it is left; after any other error Resume goes on.
func Begin(ctx context.Context, folder string, p Params, env Env) (r result.BisectReport, err error) {
	if err := p.check(); err != nil {
		return r, err
	}
	if _, err := osrun.Look(cmp.Or(p.QEMU, "qemu-system-x86_64")); err != nil {
		return r, &UsageError{Err: fmt.Errorf("guests need QEMU: %w; install qemu-system-x86, or name the program with --qemu", err)}
	}
	_, before := os.Stat(folder)
	j, err := createJournal(folder)
	if err != nil {
		return r, err
	}
	var begun *engine
	defer func() {
		var wrong *UsageError
		err = errors.Join(err, j.Close())
		if err != nil && begun == nil || errors.As(err, &wrong) && !begun.searching {
			err = errors.Join(err, forget(folder, before == nil))
		}
	}()
	space, err := openers[p.Kind](ctx, &p, folder, env)
	if err != nil {
		return r, err
	}
	if p.BuiltWith, err = builtWith(space); err != nil {
		return r, errors.Join(err, closeSpace(ctx, space))
	}
	env.Log(fmt.Sprintf("journal and results: %s (after an interruption: bondrepro bisect resume --dir %s)", folder, folder))
	e := newEngine(space, j, p, folder, env)
	if err := e.add(event{Kind: evBegin, Params: &p}); err != nil {
		return r, errors.Join(err, closeSpace(ctx, space))
	}
	begun = e
	return finish(ctx, e, folder)
}

// Resume goes on with the bisect in folder, from its journal. The bisect that is over is told again.
func Resume(ctx context.Context, folder string, env Env) (r result.BisectReport, err error) {
	j, err := openJournal(folder)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if j.events[len(j.events)-1].Kind == evEnd {
		return ReadReport(folder)
	}
	p := *j.events[0].Params
	space, err := openers[p.Kind](ctx, &p, folder, env)
	if err != nil {
		return r, err
	}
	now, err := builtWith(space)
	if err == nil && now != p.BuiltWith {
		err = &UsageError{Err: errors.New("what commits are built with has changed since the bisect began (the config, the build command, the headers or this program's own config): put it back, or begin anew in another folder")}
	}
	if err != nil {
		return r, err
	}
	e := newEngine(space, j, p, folder, env)
	for _, ev := range j.events {
		e.state.apply(ev)
	}
	env.Log(fmt.Sprintf("going on after %s in %s", result.Plural(len(e.state.boots), "boot"), folder))
	return finish(ctx, e, folder)
}

// builtWith is a hash of what the space's points are built with; "" where nothing is built.
func builtWith(space Space) (string, error) {
	b, ok := space.(Builder)
	if !ok {
		return "", nil
	}
	return b.BuiltWith()
}

func newEngine(space Space, j *journal, p Params, folder string, env Env) *engine {
	runner := NewRunner(reproducer.Options{Scenario: p.Scenario, QEMU: p.QEMU, Version: p.Tool, Progress: env.Progress}, filepath.Join(folder, resultsName))
	return &engine{space: space, runner: runner, state: newState(), record: j.add, log: func(ev event) { env.Log(ev.String()) }, now: time.Now}
}

// finish runs the engine to its end and writes the report. What is built stays for a bisect that can be resumed.
func finish(ctx context.Context, e *engine, folder string) (r result.BisectReport, err error) {
	if r, err = e.run(ctx); err != nil {
		var wrong *UsageError
		if errors.As(err, &wrong) && !e.searching {
			err = errors.Join(err, closeSpace(ctx, e.space))
		}
		return result.BisectReport{}, err
	}
	for _, name := range []string{filepath.Join(folder, reportName), e.state.params.Output} {
		if err := writeReport(name, r); err != nil {
			return result.BisectReport{}, err
		}
	}
	// Before the end is written down: killed in between, the bisect that is resumed does it again.
	if err := closeSpace(ctx, e.space); err != nil {
		return result.BisectReport{}, err
	}
	return r, e.add(event{Kind: evEnd, Reason: summary(r)})
}

// closeTime is how long a worktree may take to be removed.
const closeTime = time.Minute

// closeSpace removes what the space has made, also after ctx has ended.
func closeSpace(ctx context.Context, space Space) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return space.Close(closing)
}

func summary(r result.BisectReport) string {
	if r.Culprit == "" {
		return fmt.Sprintf("one of %s", result.Plural(len(r.Candidates), "candidate"))
	}
	return r.Name
}

// writeReport writes the whole report or nothing. No name is no file.
func writeReport(name string, r result.BisectReport) error {
	if name == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(name, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// ReadReport gives the report of a bisect that is over.
func ReadReport(folder string) (r result.BisectReport, err error) {
	name := filepath.Join(folder, reportName)
	data, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// forget removes all of a bisect; the folder itself stays where it was there before, and empty.
func forget(folder string, was bool) error {
	if !was {
		return os.RemoveAll(folder)
	}
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
	}
	return err
}
