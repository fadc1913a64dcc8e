package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
)

// Bench measures cells: reproducer.Run and reproducer.Fingerprint, or a test's.
type Bench struct {
	Run         func(context.Context, reproducer.Options) (result.Result, error)
	Fingerprint func(context.Context, reproducer.Options) (string, error)
}

// Options say how a plan is run.
type Options struct {
	Shard   Shard
	Version string // of the tool, for the record
	Host    string // this machine; empty: as it calls itself
	// Progress is told what is being done; nil is silence.
	Progress func(text string)
}

// Run measures the shard's cells that have no result in the store, one after the other, and writes each down when it is there. A
// cell that this machine's fault keeps from being measured is recorded with its sentence, and the rest goes on. An error is
// that of the store, of a kernel or module that can't be one (before anything boots), or the cause of ctx's end.
func Run(ctx context.Context, p Plan, s *Store, bench Bench, o Options) error {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Host == "" {
		o.Host = hostName()
	}
	cells := o.Shard.Take(p.Cells)
	prints, err := prepare(ctx, p, cells, s, bench, o.Progress)
	if err != nil {
		return err
	}
	for i, c := range cells {
		done, err := s.Done(c)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("cell %d of %d, %s", i+1, len(cells), c.ID)
		if done {
			o.Progress(what + ": measured already")
			continue
		}
		if err := measure(ctx, c, prints[i], s, bench, o, what); err != nil {
			return err
		}
	}
	return nil
}

// prepare writes the plan and looks at the files of kernels and modules that are the user's own: results of files that are other ones
// now are forgotten. It gives the fingerprint of each cell, "" where its files are not the user's.
func prepare(ctx context.Context, p Plan, cells []Cell, s *Store, bench Bench, progress func(string)) ([]string, error) {
	prints := make([]string, len(cells))
	for i, c := range cells {
		if !c.local {
			continue
		}
		progress("looking at the files of " + c.ID)
		print, err := bench.Fingerprint(ctx, c.Options)
		var kernel *reproducer.KernelError
		if err != nil && !errors.As(err, &kernel) { // what the kernel lacks is for the cell to tell
			return nil, fmt.Errorf("%s: %w", c.ID, err)
		}
		prints[i] = print
		rec, found, err := s.Record(c.ID)
		if err != nil {
			return nil, err
		}
		if found && rec.State == Measured && rec.Fingerprint != print {
			if err := s.Forget(c.ID); err != nil {
				return nil, err
			}
		}
	}
	return prints, s.SetPlan(p)
}

// measure measures one cell and writes down how that ended.
func measure(ctx context.Context, c Cell, print string, s *Store, bench Bench, o Options, what string) error {
	rec := Record{Key: c.Key, State: Begun, Fingerprint: print, Host: o.Host, Shard: o.Shard.String(), Attempt: 1, Began: time.Now().UTC()}
	last, found, err := s.Record(c.ID)
	if err != nil {
		return err
	}
	if found && last.Key == c.Key {
		rec.Attempt = last.Attempt + 1
	}
	if err := s.SetRecord(c.ID, rec); err != nil {
		return err
	}
	o.Progress(what)
	options := c.Options
	options.Version = o.Version
	options.Progress = func(text string) { o.Progress(what + ": " + text) }
	began := time.Now()
	r, err := bench.Run(ctx, options)
	rec.TookS = time.Since(began).Seconds()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		o.Progress(what + ": " + err.Error())
		rec.State, rec.Why = Failed, err.Error()
		return s.SetRecord(c.ID, rec)
	}
	if err := s.SetResult(c.ID, r, rec); err != nil {
		return err
	}
	o.Progress(fmt.Sprintf("%s: %s: %s", what, r.Judgement.Verdict, r.Judgement.Reason))
	return nil
}

// hostName is the machine's name; that of a Slurm node where this is one, as several may be one machine.
func hostName() string {
	if node := os.Getenv("SLURMD_NODENAME"); node != "" {
		return node
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
