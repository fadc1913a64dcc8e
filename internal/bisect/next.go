package bisect

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bondrepro/reproducer/result"
)

// findings are what the search came to when nothing is left to do.
type findings struct {
	plan       Plan
	marks      Marks
	candidates []string // more than the new one where skipped points hide which it is
	good, bad  []string // the two sides of the culprit: what must be good, and what bad
	missed     float64  // probability that a step erred
}

// next tells what to do next; no task: the search is over, and findings tell with what.
//
// It walks the whole search again each time, by what is known of each point by now. So when a point that passed as good
// shows the symptom later, the search takes another turn there, without any boot that was made being lost.
func (e *engine) next(ctx context.Context) (*task, findings, error) {
	var f findings
	t, err := e.badEnd()
	if t != nil || err != nil {
		return t, f, err
	}
	bad, counted, _ := e.state.rate()
	f.plan = newPlan(e.state.params.Confidence, bad, counted)
	if f.plan.StepRuns() > mostRuns {
		return nil, f, &UnclearError{Reason: fmt.Sprintf("the bad end showed the symptom in %d of %d boots only: a step would take %d boots", bad, counted, f.plan.StepRuns())}
	}
	if t, err = e.goodEnd(f.plan); t != nil || err != nil {
		return t, f, err
	}
	e.searching = true
	if t, err = e.search(ctx, &f); t != nil || err != nil || len(f.candidates) > 1 {
		return t, f, err
	}
	t, err = e.confirm(ctx, &f)
	return t, f, err
}

// badEnd boots the bad end until the symptom's rate is known.
func (e *engine) badEnd() (*task, error) {
	s := e.state
	id := s.params.Bad
	if why := s.point(id).broken; why != "" {
		return nil, &UsageError{Err: fmt.Errorf("the bad end %s can't be measured: %s", s.point(id).name, why)}
	}
	_, counted, known := s.rate()
	if known {
		return nil, nil
	}
	switch t := s.tally(id, roleBadEnd); {
	case t.bad == 0 && counted >= endPatience:
		return nil, &UsageError{Err: fmt.Errorf("the ends do not differ: the bad end %s did not show the symptom in %d boots", s.point(id).name, counted)}
	case t.failed >= mostFailed:
		return nil, &UsageError{Err: fmt.Errorf("the bad end %s can't be measured: %s", s.point(id).name, t.reason)}
	case t.lost >= mostLost && e.booted >= mostLost: // a machine that was too busy may not be any more when the bisect is resumed
		return nil, &UnclearError{Reason: fmt.Sprintf("the bad end %s can't be told: %s", s.point(id).name, t.reason)}
	case t.others >= endPatience:
		return nil, &UnclearError{Reason: fmt.Sprintf("the bad end %s has more than one symptom: in %s %s", s.point(id).name, result.Plural(t.others, "boot"), t.other)}
	}
	return &task{id: id, role: roleBadEnd}, nil
}

func (e *engine) goodEnd(p Plan) (*task, error) {
	s := e.state
	id := s.params.Good
	outcome, why := s.outcome(id, roleGoodEnd, p.StepRuns())
	if t := s.tally(id, roleGoodEnd); outcome == isSkipped && t.lost >= mostLost && t.failed < mostFailed && why == t.reason {
		if e.booted >= mostLost {
			return nil, &UnclearError{Reason: fmt.Sprintf("the good end %s can't be told: %s", s.point(id).name, why)}
		}
		outcome = undecided // the machine may be less busy now
	}
	switch outcome {
	case undecided:
		return &task{id: id, role: roleGoodEnd}, nil
	case isBad:
		return nil, &UsageError{Err: fmt.Errorf("the ends do not differ: the good end %s shows the symptom, too (%s)", s.point(id).name, s.diagnosis)}
	case isSkipped:
		return nil, &UsageError{Err: fmt.Errorf("the good end %s can't be measured: %s", s.point(id).name, why)}
	}
	return nil, nil
}

// search goes through the history, between the ends.
func (e *engine) search(ctx context.Context, f *findings) (*task, error) {
	s := e.state
	f.marks = Marks{Old: []string{s.params.old()}, New: s.params.new()}
	decided := 1 // the good end
	for {
		left, err := e.space.Left(ctx, f.marks)
		if err != nil {
			return nil, err
		}
		open := slices.DeleteFunc(slices.Clone(left), func(id string) bool { return slices.Contains(f.marks.Skipped, id) })
		if len(open) == 0 {
			f.candidates = append(left, f.marks.New)
			f.missed = f.plan.Missed(decided)
			return nil, nil
		}
		id := open[pick(len(open), len(left)-len(open))]
		outcome, _ := s.outcome(id, roleStep, f.plan.StepRuns())
		switch outcome {
		case undecided:
			return &task{id: id, role: roleStep, left: len(left) + 1, soon: e.soon(ctx, f.marks, id)}, nil
		case isSkipped:
			f.marks.Skipped = append(f.marks.Skipped, id)
			continue
		}
		decided++
		if (outcome == isBad) == s.params.FindFix {
			f.marks.Old = append(f.marks.Old, id)
		} else {
			f.marks.New = id
		}
	}
}

// pick chooses from n candidates, the best first, after so many were skipped: the best at first, then others further and
// further away from it (by the golden ratio, so that none is near another): points that do not build lie side by side.
func pick(n, skipped int) int {
	if skipped == 0 {
		return 0
	}
	const golden = 0.6180339887498949
	_, frac := math.Modf(float64(skipped) * golden)
	return int(frac * float64(n))
}

// soon are the points that may come next, whatever the outcome of this one is.
func (e *engine) soon(ctx context.Context, m Marks, id string) []string {
	if _, ok := e.space.(Announcer); !ok {
		return nil
	}
	var ids []string
	for _, after := range []Marks{
		{Old: m.Old, New: id, Skipped: m.Skipped},
		{Old: append(slices.Clone(m.Old), id), New: m.New, Skipped: m.Skipped},
	} {
		left, err := e.space.Left(ctx, after)
		if err == nil && len(left) > 0 && !slices.Contains(m.Skipped, left[0]) { // else the step itself will tell
			ids = append(ids, left[0])
		}
	}
	return ids
}

// confirm boots both sides of the culprit once more, and the new end without its change.
func (e *engine) confirm(ctx context.Context, f *findings) (*task, error) {
	before, err := e.space.Before(ctx, f.marks.New)
	if err != nil {
		return nil, err
	}
	f.good, f.bad = before, []string{f.marks.New}
	if e.state.params.FindFix {
		f.good, f.bad = f.bad, f.good
	}
	for _, c := range []struct {
		ids  []string
		role string
		need int
	}{
		{f.good, roleConfirm, f.plan.ConfirmRuns(f.missed)},
		{f.bad, roleCulprit, f.plan.StepRuns()},
	} {
		for _, id := range c.ids {
			if outcome, _ := e.confirmed(id, c.role, c.need); outcome == undecided {
				return &task{id: id, role: c.role}, nil
			}
		}
	}
	if _, ok := e.space.(Reverter); !ok {
		return nil, nil
	}
	id := without(f.marks.New)
	if outcome, _ := e.state.outcome(id, roleReverted, f.plan.StepRuns()); outcome == undecided {
		return &task{id: id, role: roleReverted}, nil
	}
	return nil, nil
}

// confirmed is the outcome of a side of the culprit. The bad one has to be booted once more, where it has not been
// booted twice.
func (e *engine) confirmed(id, role string, need int) (outcome, why string) {
	outcome, why = e.state.outcome(id, role, need)
	if role == roleCulprit && outcome == isBad && e.state.tally(id, role).bad < 2 {
		t := e.state.tally(id, role)
		if t.clean < need && t.failed < mostFailed && t.lost < mostLost {
			return undecided, ""
		}
		return isSkipped, fmt.Sprintf("it showed the symptom in one of %s only", result.Plural(t.bad+t.clean, "boot"))
	}
	return outcome, why
}
