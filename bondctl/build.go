package bondctl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bondrepro/internal/ports"
)

// restoreLimit is how long putting back may take: a real link takes seconds to come up.
const restoreLimit = 2 * time.Minute

// RestoreError says what could not be put back, item by item, or why putting back came to no end.
type RestoreError struct {
	Left []Leftover
	Err  error
}

func (e *RestoreError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("not everything could be put back: %v", e.Err)
	}
	lines := []string{"not everything could be put back:"}
	for _, l := range e.Left {
		lines = append(lines, "  "+l.String())
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the cause.
func (e *RestoreError) Unwrap() error { return e.Err }

// Split parts what nobody can put back, as its interface is gone or has lost its carrier, from the rest, which is nil
// where there is none.
func (e *RestoreError) Split() (beyond []string, rest error) {
	r := &RestoreError{Err: e.Err}
	for _, l := range e.Left {
		if l.beyond() {
			beyond = append(beyond, l.String())
		} else {
			r.Left = append(r.Left, l)
		}
	}
	if r.Err == nil && len(r.Left) == 0 {
		return beyond, nil
	}
	return beyond, r
}

// Build is Ensure for interfaces that are somebody's: what they are is written down first. On error they are put back;
// else the journal is kept until TakeDown. A bond that is as asked already is left alone, and nothing is written down.
// dir is JournalDir, command what others are told of who does it.
func (c *Client) Build(ctx context.Context, dir, command string, want Bond) (steps []Step, err error) {
	journals, err := OpenJournals(dir, command)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journals.Close()) }()
	if err := journals.Finished(); err != nil {
		return nil, err
	}
	have, err := c.Interfaces()
	if err != nil {
		return nil, err
	}
	if steps, err := Plan(want, have); err != nil || len(steps) == 0 {
		return nil, err
	}
	if err := c.Refusals(want); err != nil {
		return nil, err
	}
	journal, err := journals.Begin(ctx, Change{Bond: want.Name, Makes: true, Interfaces: want.slaveNames()})
	if err != nil {
		return nil, err
	}
	want.Ifindex = journal.Ifindex()
	if steps, err = c.Ensure(ctx, want); err == nil {
		err = journal.Keep()
	}
	if err != nil {
		return nil, errors.Join(err, c.PutBack(ctx, journal))
	}
	return steps, nil
}

// InUseError says that interfaces are used for something.
type InUseError struct{ Reasons []string }

func (e *InUseError) Error() string { return strings.Join(e.Reasons, "; ") }

// inUse are the reasons of internal/ports not to make a port a slave, and whether Bond.Take overrides one.
var inUse = map[string]bool{"ssh": false, "default_route": true, "addresses": true, "uppers": false, "loopback": false, "not_ethernet": false}

// Refusals is an *InUseError where slaves are used for something that Build does not take them from.
func (*Client) Refusals(want Bond) error {
	e := &InUseError{}
	for _, name := range want.slaveNames() {
		facts, err := ports.Inspect(name)
		if err != nil {
			return err
		}
		for _, r := range ports.Refuse(facts, ports.Ask{}) {
			taken, known := inUse[r.Code]
			switch {
			case known && !taken:
				e.Reasons = append(e.Reasons, r.String())
			case known && !want.Take:
				e.Reasons = append(e.Reasons, r.Text+"; --take makes "+name+" a slave all the same, and bondctl down gives that back")
			}
		}
	}
	if len(e.Reasons) == 0 {
		return nil
	}
	return e
}

func (b Bond) slaveNames() []string {
	names := make([]string, len(b.Slaves))
	for i, s := range b.Slaves {
		names[i] = s.Name
	}
	return names
}

// PutBack restores a journal, also when ctx has ended. Every error is a *RestoreError.
func (c *Client) PutBack(ctx context.Context, journal *Journal) error {
	if err := journal.release(); err != nil {
		return &RestoreError{Err: err}
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), restoreLimit, fmt.Errorf("it took longer than %v: bondctl restore goes on", restoreLimit))
	defer cancel()
	left, err := journal.Restore(ctx, c.Changed)
	if err != nil || len(left) > 0 {
		return &RestoreError{Left: left, Err: err}
	}
	return nil
}

// Outcome is what became of a bond that was taken down.
type Outcome int

// The outcomes.
const (
	NotThere Outcome = iota // there was none
	Removed                 // its slaves are free, and down
	Restored                // its slaves are what they were before Build
)

// TakeDown removes a bond. The slaves of one that Build made become what they were before; those of another are free then,
// and down.
func (c *Client) TakeDown(ctx context.Context, dir, command, name string) (outcome Outcome, err error) {
	journals, err := OpenJournals(dir, command)
	if err != nil {
		return NotThere, err
	}
	defer func() { err = errors.Join(err, journals.Close()) }()
	if err := journals.Finished(); err != nil {
		return NotThere, err
	}
	have, err := c.Interfaces()
	if err != nil {
		return NotThere, err
	}
	journal, err := journals.Of(name)
	if err != nil {
		return NotThere, err
	}
	if journal != nil && !journal.spent(have) {
		return Restored, c.PutBack(ctx, journal)
	}
	if journal != nil { // the bond of that name is another one
		if err := journal.Forget(); err != nil {
			return NotThere, err
		}
	}
	if _, there := have[name]; !there {
		return NotThere, nil
	}
	return Removed, c.Down(name)
}

// RestoreAll puts back what every journal holds whose command ended before it did so, and those of the bonds named, kept
// or not. It gives what was put back. With forget, the journals are closed and nothing is put back.
func (c *Client) RestoreAll(ctx context.Context, dir, command string, bonds []string, forget bool) (done []Entry, err error) {
	journals, err := OpenJournals(dir, command)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journals.Close()) }()
	chosen, err := journals.choose(bonds)
	if err != nil {
		return nil, err
	}
	have, err := c.Interfaces()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, x := range chosen {
		if err := context.Cause(ctx); err != nil {
			errs = append(errs, err)
			break
		}
		if there, ok := have[x.record.Bond]; ok && !forget && len(x.record.Made) > 0 && there.Index != x.Ifindex() {
			errs = append(errs, fmt.Errorf("%s is not the bond that the journal is about: it is left alone; bondctl restore --forget %[1]s drops the journal", x.record.Bond))
			continue
		}
		end := c.PutBack
		if forget {
			end = func(context.Context, *Journal) error { return x.Forget() }
		}
		if err := end(ctx, x); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, x.Entry())
	}
	return done, errors.Join(errs...)
}

// choose gives the journals of the bonds named or, where none is, those that nobody keeps.
func (j *Journals) choose(bonds []string) (chosen []*Journal, err error) {
	for _, name := range bonds {
		x, err := j.Of(name)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return nil, fmt.Errorf("%s: there is no journal of this bond", name)
		}
		chosen = append(chosen, x)
	}
	if len(bonds) > 0 {
		return chosen, nil
	}
	all, err := j.All()
	for _, x := range all {
		if !x.record.Kept {
			chosen = append(chosen, x)
		}
	}
	return chosen, err
}
