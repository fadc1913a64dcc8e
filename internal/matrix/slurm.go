package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DefaultWait is how long an array is waited for when nobody says: a day, since it may have to queue.
const DefaultWait = 24 * time.Hour

// rounds is how often an array is submitted for cells that have no result. Slurm itself runs the tasks of a dead node again
// (--requeue); a round is for tasks that ended and left cells without a result.
const rounds = 3

// Slurm has a cluster measure a plan: an array, each task of which is `bondrepro matrix` with a shard. Program, matrix file, what
// that names, and the store must be seen by the nodes under the same paths.
type Slurm struct {
	File      string        // the matrix file
	Program   string        // bondrepro; empty: this one
	Shards    int           // tasks of the array; 0: one a cell
	Partition string        // empty: Slurm's default
	Wait      time.Duration // for one array, from its submission to its end
	// Poll is the time between two looks at the array; 0 is 2 s.
	Poll time.Duration

	client  slurmClient
	name    string // of the array
	dir     string // of the store, absolute
	shards  int
	missing map[string]bool // ids of cells without a result
	shown   string          // the progress that was shown last
}

// Run submits the array and follows it until it has ended, and submits again for what has no result then. Cells that have none in the
// end are for Merge to tell. When ctx ends the array is cancelled. Errors are one sentence: no Slurm, no partition of that
// name, an array of this matrix that goes on already, one that did not end in time.
func (e Slurm) Run(ctx context.Context, p Plan, s *Store, bench Bench, o Options) error {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if err := e.client.look(); err != nil {
		return err
	}
	if err := e.settle(p, s); err != nil {
		return err
	}
	o.Progress("asking Slurm")
	going, err := e.client.named(ctx, e.name)
	if err != nil {
		return err
	}
	if len(going) > 0 {
		return fmt.Errorf("an array of this matrix and folder is there already, job %s of Slurm: wait for it, or end it with scancel %s", going[0], going[0])
	}
	_, err = os.Stat(e.dir)
	fresh := errors.Is(err, os.ErrNotExist)
	if _, err := prepare(ctx, p, p.Cells, s, bench, o.Progress); err != nil {
		return err
	}
	if err := os.MkdirAll(e.logs(), 0o755); err != nil {
		return err
	}
	e.missing = map[string]bool{}
	for _, c := range p.Cells {
		e.missing[c.ID] = true
	}
	for round := 1; round <= rounds; round++ {
		if err := e.count(p, s); err != nil {
			return err
		}
		if len(e.missing) == 0 {
			return nil
		}
		if round > 1 {
			o.Progress(fmt.Sprintf("round %d of %d: no result yet of %s", round, rounds, e.why(p, s)))
		}
		job, err := e.submit(ctx, p)
		if err != nil {
			if fresh && round == 1 {
				s.discard(e.logs())
			}
			return err
		}
		if err := e.see(ctx, job, p, s, o.Progress); err != nil {
			return err
		}
	}
	return e.count(p, s)
}

// settle makes absolute paths, names and numbers of what may be left out.
func (e *Slurm) settle(p Plan, s *Store) (err error) {
	if e.Program == "" {
		if e.Program, err = os.Executable(); err != nil {
			return err
		}
	}
	if e.Poll == 0 {
		e.Poll = 2 * time.Second
	}
	if e.Wait == 0 {
		e.Wait = DefaultWait
	}
	if e.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	if e.File, err = filepath.Abs(e.File); err != nil {
		return err
	}
	e.shards = len(p.Cells)
	if e.Shards > 0 {
		e.shards = min(e.Shards, e.shards)
	}
	e.name = "bondrepro-" + hash([]string{e.dir, p.Key})[:12]
	return nil
}

// count takes the cells that have a result by now off those that are missing.
func (e *Slurm) count(p Plan, s *Store) error {
	for _, c := range p.Cells {
		if !e.missing[c.ID] {
			continue
		}
		done, err := s.Done(c)
		if err != nil {
			return err
		}
		if done {
			delete(e.missing, c.ID)
		}
	}
	return nil
}

// why tells which cells are missing, by the reason.
func (e *Slurm) why(p Plan, s *Store) string {
	var reasons []string
	ids := map[string][]string{}
	for _, c := range p.Cells {
		if !e.missing[c.ID] {
			continue
		}
		reason := "not begun"
		if rec, found, err := s.Record(c.ID); err == nil && found {
			reason, _, _ = strings.Cut(absence(c, rec), "\n")
		}
		if ids[reason] == nil {
			reasons = append(reasons, reason)
		}
		ids[reason] = append(ids[reason], c.ID)
	}
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s (%s)", strings.Join(ids[reason], " "), reason)
	}
	return strings.Join(reasons, "; ")
}

// submit submits one array for what is missing.
func (e *Slurm) submit(ctx context.Context, p Plan) (job string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return e.client.submit(ctx, submission{
		name: e.name, partition: e.Partition, array: ranges(e.tasks(p)), logs: e.logs(), script: taskScript(e.Program, e.File, e.dir, e.shards),
	})
}

// logs is where the tasks write what they have to say.
func (e *Slurm) logs() string { return filepath.Join(e.dir, "slurm") }

// see sees an array to its end, which is that of ctx at the latest.
func (e *Slurm) see(ctx context.Context, job string, p Plan, s *Store, progress func(string)) error {
	waited, stop := context.WithTimeoutCause(ctx, e.Wait, errors.New("it did not end in time"))
	defer stop()
	err := e.follow(waited, job, p, s, progress)
	if waited.Err() == nil {
		return err
	}
	if failed := e.client.cancel(ctx, job, e.Poll); failed != nil {
		progress(failed.Error())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("job %s of Slurm did not end within %v and was cancelled, with no result of %d of %d cells: the same command, with a longer --wait, goes on from here",
		job, e.Wait, len(e.missing), len(p.Cells))
}

// follow returns when Slurm has no task of the job any more.
func (e *Slurm) follow(ctx context.Context, job string, p Plan, s *Store, progress func(string)) error {
	answered := time.Now()
	for {
		tasks, err := e.client.tasks(ctx, job)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			answered = time.Now()
		case time.Since(answered) > silence:
			return fmt.Errorf("job %s of Slurm can't be followed any more: %w; it goes on: call the same command again when it has ended", job, err)
		}
		if err := e.count(p, s); err != nil {
			return err
		}
		if err == nil {
			if len(tasks) == 0 {
				return nil
			}
			if held(tasks) {
				return e.client.cancel(ctx, job, e.Poll)
			}
			e.show(progress, fmt.Sprintf("job %s: %d of %d cells measured; %s", job, len(p.Cells)-len(e.missing), len(p.Cells), summary(tasks)))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(e.Poll):
		}
	}
}

// show shows what is new.
func (e *Slurm) show(progress func(string), text string) {
	if text != e.shown {
		progress(text)
	}
	e.shown = text
}
