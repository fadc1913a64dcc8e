package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// tally is what the runs of the test arm amount to.
type tally struct {
	runs, valid, clean, needed int
	bad                        *result.Run // the run that decides BAD
	remainder                  *result.Run // a run with a confirmed remainder, believed only with a second
	weak                       *result.Run // a valid run that bears neither verdict
	invalid                    *result.Run // the last invalid run
	good                       *result.Run // the last clean run
	failed                     *result.Run // one that did not end
}

func count(cfg result.Config, arm *result.Arm) tally {
	t := tally{needed: cfg.Scenario.Runs.Needed()}
	if arm == nil {
		return t
	}
	t.runs = len(arm.Runs)
	remainders := map[string]int{}
	for i := range arm.Runs {
		r := &arm.Runs[i]
		j := &r.Judgement
		if r.Recording.Failure != "" {
			t.failed = r
		}
		if !j.Valid {
			t.invalid = r
			continue
		}
		t.valid++
		switch {
		case j.Verdict == result.Good:
			t.clean++
			t.good = r
		case j.Verdict != result.Bad:
			t.weak = r
		case isRemainder(j):
			remainders[j.Diagnosis[0].Code]++
			t.remainder = r
			if remainders[j.Diagnosis[0].Code] > 1 && t.bad == nil {
				t.bad = r
			}
		case t.bad == nil:
			t.bad = r
		}
	}
	return t
}

func isRemainder(j *result.RunJudgement) bool {
	if len(j.Diagnosis) == 0 {
		return false
	}
	code := j.Diagnosis[0].Code
	return code == result.LostUncounted || code == result.DuplicatedUncounted
}

func find(arms []result.Arm, name string) *result.Arm {
	i := slices.IndexFunc(arms, func(a result.Arm) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &arms[i]
}

// Next tells whether the test arm needs another run: until a BAD run (two for a remainder), as many clean
// runs as GOOD takes, or runs.max. A run that did not end is the last: the place it ran in is gone.
func Next(cfg result.Config, arms []result.Arm) bool {
	t := count(cfg, find(arms, result.ArmTest))
	if t.failed != nil || t.bad != nil || t.runs >= cfg.Scenario.Runs.Max {
		return false
	}
	return t.clean < t.needed || t.remainder != nil
}

// Decide says what all arms together mean: BAD by one run of the test arm (two for a remainder); GOOD by
// as many clean runs as the scenario's runs ask for and a control that was BAD; else inconclusive.
func Decide(cfg result.Config, arms []result.Arm) (result.Judgement, []result.Warning) {
	test := find(arms, result.ArmTest)
	t := count(cfg, test)
	j := result.Judgement{
		CleanRuns:  t.clean,
		NeededRuns: t.needed,
		ValidRuns:  t.valid,
		Control:    control(cfg, find(arms, result.ArmControl), lastValid(test)),
	}
	if why := unmeasured(arms); why != "" {
		j.Verdict, j.Reason = result.Inconclusive, fmt.Sprintf("Nothing could be measured: %s.", why)
		return j, nil
	}
	j.Verdict, j.Reason = verdict(cfg, t, j.Control)
	if r := deciding(j.Verdict, t, test); r != nil {
		j.Diagnosis = r.Judgement.Diagnosis
		if j.Verdict == result.Bad {
			j.Cause = r.Judgement.Cause
		}
	}
	return j, warnings(cfg, test, j)
}

// unmeasured tells why no run of any arm came to its end; "" when one did, or none was begun.
func unmeasured(arms []result.Arm) (why string) {
	for i := range arms {
		for k := range arms[i].Runs {
			reason := check(arms[i].Runs[k].Recording)
			if reason == "" {
				return ""
			}
			if why == "" {
				why = reason
			}
		}
	}
	return why
}

// deciding is the run whose diagnosis stands for the arm; nil without runs.
func deciding(v result.Verdict, t tally, test *result.Arm) *result.Run {
	candidates := []*result.Run{t.bad, t.remainder, t.weak, last(test, result.Good), t.invalid}
	if v == result.Good { // a run that bore no verdict does not speak for those that did
		candidates = []*result.Run{last(test, result.Good)}
	}
	for _, r := range candidates {
		if r != nil {
			return r
		}
	}
	return nil
}

// last is the arm's last run of that verdict; nil when there is none.
func last(arm *result.Arm, v result.Verdict) *result.Run {
	if arm == nil {
		return nil
	}
	for i := len(arm.Runs) - 1; i >= 0; i-- {
		if arm.Runs[i].Judgement.Verdict == v {
			return &arm.Runs[i]
		}
	}
	return nil
}

// lastValid is the arm's last run that counts; nil when there is none.
func lastValid(arm *result.Arm) *result.Run {
	if arm == nil {
		return nil
	}
	for i := len(arm.Runs) - 1; i >= 0; i-- {
		if arm.Runs[i].Judgement.Valid {
			return &arm.Runs[i]
		}
	}
	return nil
}

// verdict gives the reason in one sentence.
func verdict(cfg result.Config, t tally, c result.ControlJudgement) (result.Verdict, string) {
	switch {
	case t.bad != nil:
		return result.Bad, sentence(t.bad)
	case t.runs == 0:
		return result.Inconclusive, "Nothing was measured."
	case t.remainder != nil:
		return result.Inconclusive, "A remainder showed in one run only, it takes two: " + t.remainder.Judgement.Diagnosis[0].Evidence + "."
	case t.clean >= t.needed:
		return goodUnless(cfg, t, c)
	case t.failed != nil:
		return result.Inconclusive, fmt.Sprintf("A run did not end: %s.", broken(t.failed.Judgement.Guards).Evidence)
	case t.valid == 0:
		g := broken(t.invalid.Judgement.Guards)
		return result.Inconclusive, fmt.Sprintf("No run counts (%d measured), guard %s failed: %s.", t.runs, g.Name, g.Evidence)
	case t.weak != nil:
		return result.Inconclusive, sentence(t.weak)
	}
	why := fmt.Sprintf("%d clean runs of the %s that GOOD takes (%d measured, at most %d)", t.clean, times(t.needed), t.runs, cfg.Scenario.Runs.Max)
	if t.invalid != nil {
		g := broken(t.invalid.Judgement.Guards)
		why += fmt.Sprintf("; guard %s failed in others: %s", g.Name, g.Evidence)
	}
	return result.Inconclusive, upper(why) + "."
}

// sentence is a run's deciding diagnosis with its evidence.
func sentence(r *result.Run) string {
	d := r.Judgement.Diagnosis[0]
	return upper(result.Diagnoses[d.Code].Title) + ": " + d.Evidence + "."
}

// goodUnless holds back GOOD where the control shows that BAD would not have been seen here.
func goodUnless(cfg result.Config, t tally, c result.ControlJudgement) (result.Verdict, string) {
	wanted := !cfg.NoControl && len(cfg.Scenario.Control) > 0
	switch {
	case wanted && !c.Measured:
		return result.Inconclusive, "The test arm is clean, but the positive control was not measured: nothing shows that BAD would be seen here."
	case wanted && c.Invalid:
		return result.Inconclusive, fmt.Sprintf("The test arm is clean, but the positive control does not count: %s.", c.Note)
	case wanted && !c.Bad:
		return result.Inconclusive, fmt.Sprintf("The test arm is clean, but the positive control is not BAD as it must be: %s.", c.Note)
	}
	s := fmt.Sprintf("%s (%d of %d valid runs", praise(cfg.Scenario, t), t.clean, t.valid)
	if c.Bad {
		s += ", control BAD"
	}
	return result.Good, s + ")."
}

// praise says what a good arm showed, which is not the same for every scenario.
func praise(sc scenarios.Scenario, t tally) string {
	if aboutThrottling(sc) {
		return "The socket throttled the sender, no qdisc dropped anything"
	}
	es := t.good.Judgement.Expect
	switch expr := held(es); {
	case len(expr) == 0:
		return "Nothing that was seen is a fault"
	case len(expr) < len(es):
		return fmt.Sprintf("Every expectation that could be evaluated holds: %s", strings.Join(expr, ", "))
	default:
		return fmt.Sprintf("Every expectation holds: %s", strings.Join(expr, ", "))
	}
}

// times writes a number of runs, which may be none that suffices.
func times(n int) string {
	if n == math.MaxInt32 {
		return "(no number of) runs"
	}
	return fmt.Sprint(n)
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
