package bisect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bondrepro/reproducer/result"
)

// engine runs one bisect: it looks at the state, does the one thing that is to be done next, writes it down, and looks
// again.
type engine struct {
	space  Space
	runner Runner
	state  *state
	record func(event) error // puts an event on disk
	log    func(event)
	now    func() time.Time
	booted int // by this process
	// searching: the ends are settled. What goes wrong from then on is no mistake in what was asked for, and must not cost the
	// boots that were made.
	searching bool

	current struct { // what was made last and may be booted
		id, role, print string
		image           Image
	}
}

// task is the next thing to do: boot a point in a role.
type task struct {
	id, role string
	left     int      // candidates, of a step
	soon     []string // what may be asked for after it
}

// run goes on until there is a report. A *UsageError says that what was asked for can't be bisected.
func (e *engine) run(ctx context.Context) (result.BisectReport, error) {
	for {
		if ctx.Err() != nil {
			return result.BisectReport{}, context.Cause(ctx)
		}
		t, f, err := e.next(ctx)
		if err != nil {
			return result.BisectReport{}, err
		}
		if t == nil {
			return e.report(ctx, f)
		}
		if err := e.do(ctx, *t); err != nil {
			return result.BisectReport{}, err
		}
	}
}

// add records an event and applies it.
func (e *engine) add(ev event) error {
	ev.At = e.now()
	if err := e.record(ev); err != nil {
		return err
	}
	e.state.apply(ev)
	e.log(ev)
	return nil
}

// do makes a point or, when that is done, boots it.
func (e *engine) do(ctx context.Context, t task) error {
	if e.current.id != t.id || e.current.role != t.role || !e.state.visited(t.id, t.role) {
		return e.make(ctx, t)
	}
	if a, ok := e.space.(Announcer); ok && len(t.soon) > 0 {
		a.Announce(t.soon)
	}
	trial, err := e.runner.Run(ctx, e.current.image, e.state.lineRate)
	if err != nil {
		return err
	}
	if trial.Predicted && isEnd(t.role) || trial.Cause == result.CauseConfiguration && t.role == roleBadEnd {
		why := trial.Reason
		if trial.Predicted {
			why = "the send buffers together hold more packets than a slave's queue and ring."
		}
		return &UsageError{Err: fmt.Errorf("good kernels are predicted to fail this scenario, so it can't tell good from bad: %s Lower traffic.senders or traffic.socket.sndbuf, or raise topology.slaves.txqueuelen, until 'bondrepro run' on a good kernel is GOOD", why)}
	}
	trial.Fingerprint = e.current.print
	trial.Other = e.state.diagnosis != "" && isOther(trial, e.state.diagnosis)
	e.booted++
	return e.add(event{Kind: evTrial, ID: t.id, Role: t.role, Trial: &trial})
}

// make builds or fetches the task's point.
func (e *engine) make(ctx context.Context, t task) error {
	name, err := e.describe(ctx, t)
	if err != nil {
		return err
	}
	start := e.now()
	var print string
	image, err := e.image(ctx, t)
	if err == nil {
		print, err = e.runner.Fingerprint(ctx, image)
	}
	ev := event{Kind: evMade, ID: t.id, Name: name, Role: t.role, Left: t.left, Fingerprint: print, BuildS: e.now().Sub(start).Seconds()}
	var broken *BrokenError
	switch {
	case errors.As(err, &broken):
		ev.Kind, ev.Reason = evBroken, broken.Reason
	case err != nil:
		return err
	}
	e.current.id, e.current.role, e.current.print, e.current.image = t.id, t.role, print, image
	return e.add(ev)
}

// image is that of a point, or of the new end without a point's change.
func (e *engine) image(ctx context.Context, t task) (Image, error) {
	if t.role != roleReverted {
		return e.space.Make(ctx, t.id)
	}
	image, clean, err := e.space.(Reverter).MakeReverted(ctx, reverted(t.id))
	if err == nil && !clean {
		err = &BrokenError{Reason: "its change can't be taken off the new end without conflicts"}
	}
	return image, err
}

func (e *engine) describe(ctx context.Context, t task) (string, error) {
	if t.role == roleReverted {
		return "the new end without " + e.state.point(reverted(t.id)).name, nil
	}
	return e.space.Describe(ctx, t.id)
}

// withoutPrefix marks the id of the new end without a point's change.
const withoutPrefix = "without "

func without(id string) string  { return withoutPrefix + id }
func reverted(id string) string { return id[len(withoutPrefix):] }
