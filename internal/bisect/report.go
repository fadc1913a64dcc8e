package bisect

import (
	"context"
	"fmt"
	"slices"

	"bondrepro/reproducer/result"
)

// report says what was found. Boots and times are those of all processes that worked on the bisect.
func (e *engine) report(ctx context.Context, f findings) (result.BisectReport, error) {
	s := e.state
	p := s.params
	bad, counted, _ := s.rate()
	r := result.BisectReport{
		Schema: result.BisectSchema, Tool: "bondrepro " + p.Tool, Kind: p.Kind, Scenario: p.Scenario.Name, Created: e.now().UTC(),
		FindFix: p.FindFix, Diagnosis: s.diagnosis, Rate: float64(bad) / float64(counted), RateLow: f.plan.RateLow,
		StepRuns: f.plan.StepRuns(), Confidence: p.Confidence, Wrong: 1, Boots: len(s.boots), Steps: s.steps(f.plan),
	}
	for _, b := range s.boots {
		r.TookS += b.trial.TookS
	}
	for _, v := range s.visits {
		r.TookS += v.buildS
	}
	if len(f.candidates) > 1 {
		r.Candidates = f.candidates
		return r, nil
	}
	r.ConfirmRuns = f.plan.ConfirmRuns(f.missed)
	name, err := e.space.Describe(ctx, f.marks.New)
	if err != nil {
		return r, err
	}
	r.Culprit, r.Name = f.marks.New, name
	e.tellConfirmed(&r, f)
	return r, nil
}

// tellConfirmed says how each side of the culprit was confirmed, and how sure that makes it.
func (e *engine) tellConfirmed(r *result.BisectReport, f findings) {
	s := e.state
	confirmed := f.plan.ConfirmRuns(f.missed)
	if len(f.good) == 0 { // a root among several
		confirmed = 0
		r.Warnings = append(r.Warnings, result.Warning{Code: "good-side-unconfirmed", Text: "There is nothing right before it that could be booted to confirm that it is good."})
	}
	for _, id := range f.good {
		outcome, why := s.outcome(id, roleConfirm, confirmed)
		switch outcome {
		case isGood:
			r.Confirmed = append(r.Confirmed, fmt.Sprintf("%s is good: %s more", s.point(id).name, why))
			continue
		case isBad: // the history that was searched does not hold the change
			r.Culprit, r.Candidates = "", append(r.Candidates, f.marks.New)
			r.Warnings = append(r.Warnings, result.Warning{Code: "good-side-bad", Text: fmt.Sprintf("%s, right before it, shows the symptom, too: the change is outside the history that was searched.", s.point(id).name)})
			return
		}
		confirmed = 0
		r.Warnings = append(r.Warnings, result.Warning{Code: "good-side-unconfirmed", Text: fmt.Sprintf("%s could not be booted to confirm that it is good: %s", s.point(id).name, firstLine(why))})
	}
	r.Wrong = f.plan.Wrong(f.missed, confirmed)
	for _, id := range f.bad {
		outcome, why := e.confirmed(id, roleCulprit, f.plan.StepRuns())
		if outcome == isBad {
			t := s.tally(id, roleCulprit)
			r.Confirmed = append(r.Confirmed, fmt.Sprintf("%s is bad: %d of %s", s.point(id).name, t.bad, result.Plural(t.bad+t.clean, "boot")))
			continue
		}
		r.Warnings = append(r.Warnings, result.Warning{Code: "bad-side-unconfirmed", Text: fmt.Sprintf("%s could not be confirmed as bad: %s", s.point(id).name, firstLine(why))})
	}
	e.tellReverted(r, f)
}

// tellReverted says what the new end is without the culprit's change.
func (e *engine) tellReverted(r *result.BisectReport, f findings) {
	id := without(f.marks.New)
	if !e.state.visited(id, roleReverted) {
		return
	}
	outcome, why := e.state.outcome(id, roleReverted, f.plan.StepRuns())
	sentence := fmt.Sprintf("%s is %s: %s", e.state.point(id).name, outcome, firstLine(why))
	switch {
	case outcome == isSkipped:
		r.Warnings = append(r.Warnings, result.Warning{Code: "not-reverted", Text: sentence})
	case (outcome == isGood) == r.FindFix:
		r.Warnings = append(r.Warnings, result.Warning{Code: "revert-changes-nothing", Text: sentence + "; more than this change has to do with the symptom"})
	default:
		r.Confirmed = append(r.Confirmed, sentence)
	}
}

// steps are the visits with their boots.
func (s *state) steps(p Plan) []result.BisectStep {
	var all []result.BisectStep
	for _, v := range s.visits {
		step := result.BisectStep{ID: v.id, Name: s.point(v.id).name, Role: v.role, BuildS: v.buildS, Trials: []result.Trial{}}
		for _, b := range s.boots {
			if b.id == v.id && b.role == v.role {
				step.Trials = append(step.Trials, b.trial)
			}
		}
		t := s.tally(v.id, v.role)
		step.Reused = t.reused
		step.Outcome, step.Why = s.outcome(v.id, v.role, s.took(v, p, t))
		all = append(all, step)
	}
	return all
}

// took is how many clean boots the visit was decided by: when the search is over every visit is decided.
func (s *state) took(v visit, p Plan, t tally) int {
	if slices.Contains(fresh, v.role) {
		return max(1, t.clean)
	}
	return p.StepRuns()
}
