package bisect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bondrepro/reproducer/result"

	"github.com/google/go-cmp/cmp"
)

// certain boots of a line show the symptom always.
func certain(l *line) *boots { return &boots{line: l, rate: 1, rand: seeded(1)} }

func mustRun(t *testing.T, e *engine) result.BisectReport {
	t.Helper()
	r, err := e.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryCulpritIsFound(t *testing.T) {
	for _, fix := range []bool{false, true} {
		for n := 2; n < 20; n++ {
			for culprit := 1; culprit < n; culprit++ {
				l := &line{n: n, culprit: culprit, fix: fix}
				r := mustRun(t, start(l, certain(l), 0.99))
				if r.Culprit != strconv.Itoa(culprit) || r.Wrong > 0.01 || len(r.Warnings) > 0 {
					t.Errorf("of %d points (fix %v): culprit %q with %v, want %d", n, fix, r.Culprit, r.Wrong, culprit)
				}
			}
		}
	}
}

func TestBothSidesAreConfirmed(t *testing.T) {
	l := &line{n: 12, culprit: 7}
	b := certain(l)
	b.ran = map[string]int{}
	r := mustRun(t, start(l, b, 0.99))
	if b.ran["6"] != r.StepRuns+r.ConfirmRuns || b.ran["7"] != 2 {
		t.Errorf("boots of 6 and 7: %d and %d, want %d and 2", b.ran["6"], b.ran["7"], r.StepRuns+r.ConfirmRuns)
	}
	want := []string{fmt.Sprintf("point 6 is good: %d boots without the symptom more", r.ConfirmRuns), "point 7 is bad: 2 of 2 boots"}
	if diff := cmp.Diff(want, r.Confirmed); diff != "" {
		t.Error(diff)
	}
}

// Points that do not build, do not boot or can't be told are skipped, wherever they are.
func TestBrokenPointsAreSkipped(t *testing.T) {
	failed := result.Trial{Verdict: result.Inconclusive, Failed: true, Reason: "it panics"}
	lost := result.Trial{Verdict: result.Inconclusive, Reason: "no run counts"}
	other := result.Trial{Verdict: result.Bad, Diagnosis: result.StuckQueue, Reason: "stuck"}
	for _, c := range []struct {
		name  string
		trial *result.Trial
		why   string
	}{
		{"not built", nil, "does not build"}, {"failed", &failed, "it panics"}, {"lost", &lost, "no run counts"}, {"other", &other, "for another reason (stuck-queue)"},
	} {
		l := &line{n: 16, culprit: 11, broken: map[int]string{}}
		b := certain(l)
		skip := []string{"7", "8", "6", "5"}
		if c.trial == nil {
			for _, id := range skip {
				l.broken[number(id)] = c.why
			}
		}
		b.trial = func(id string) *result.Trial {
			if slices.Contains(skip, id) {
				return c.trial
			}
			return nil
		}
		r := mustRun(t, start(l, b, 0.99))
		if r.Culprit != "11" {
			t.Errorf("%s: culprit %q, want 11", c.name, r.Culprit)
		}
		i := slices.IndexFunc(r.Steps, func(s result.BisectStep) bool { return s.ID == "7" })
		if i < 0 || r.Steps[i].Outcome != isSkipped || !strings.Contains(r.Steps[i].Why, c.why) {
			t.Errorf("%s: the step of 7 is %+v", c.name, r.Steps)
		}
	}
}

// Where the points beside the culprit can't be told, all that it may be is named, and nothing else.
func TestSkippedPointsThatHideTheCulprit(t *testing.T) {
	l := &line{n: 16, culprit: 9, broken: map[int]string{8: "no", 9: "no"}}
	r := mustRun(t, start(l, certain(l), 0.99))
	slices.Sort(r.Candidates)
	if r.Culprit != "" || r.Wrong != 1 || !slices.Equal(r.Candidates, []string{"10", "8", "9"}) {
		t.Errorf("culprit %q (%v) of %v, want 8, 9 or 10", r.Culprit, r.Wrong, r.Candidates)
	}
}

// A bad point that passed as good, and shows the symptom when it is confirmed: the search goes on with it.
func TestAWrongStepIsMended(t *testing.T) {
	l := &line{n: 16, culprit: 3}
	b := certain(l)
	b.ran = map[string]int{}
	hidden := func(id string, boots int) func(string) *result.Trial {
		return func(asked string) *result.Trial {
			if asked == id && b.ran[id] <= boots {
				return &result.Trial{Verdict: result.Good}
			}
			return nil
		}
	}
	b.trial = hidden("7", 4) // StepRuns of a symptom that shows always, at 0.99
	r := mustRun(t, start(l, b, 0.99))
	if r.StepRuns != 4 || r.Culprit != "3" || r.Wrong > 0.01 {
		t.Errorf("culprit %q (%v) after steps of %d, want 3", r.Culprit, r.Wrong, r.StepRuns)
	}
}

// Points with the same image and modules share their boots.
func TestEqualImagesAreBootedOnce(t *testing.T) {
	l := &line{n: 40, culprit: 25}
	l.print = func(i int) string { return fmt.Sprint(i / 5) }
	b := certain(l)
	b.ran = map[string]int{}
	r := mustRun(t, start(l, b, 0.99))
	prints := map[string]int{}
	for id, n := range b.ran {
		if id != "0" && id != "39" && n > 0 {
			prints[l.print(number(id))]++
		}
	}
	if r.Culprit != "25" {
		t.Errorf("culprit %q, want 25", r.Culprit)
	}
	if i := slices.IndexFunc(r.Steps, func(s result.BisectStep) bool { return s.Reused > 0 && len(s.Trials) == 0 }); i < 0 {
		t.Errorf("no step was decided by the boots of another: %+v", r.Steps)
	}
}

func TestWhatCanNotBeBisected(t *testing.T) {
	always := func(id string, trial result.Trial) func(string) *result.Trial {
		return func(asked string) *result.Trial {
			if asked == id {
				return &trial
			}
			return nil
		}
	}
	clean := result.Trial{Verdict: result.Good}
	shows := result.Trial{Verdict: result.Bad, Diagnosis: symptom, Cause: result.CauseKernel}
	for _, c := range []struct {
		name    string
		trial   func(string) *result.Trial
		broken  map[int]string
		unclear bool
		want    string
	}{
		{"bad end clean", always("15", clean), nil, false, "the ends do not differ: the bad end point 15 did not show the symptom in 20 boots"},
		{"good end bad", always("0", shows), nil, false, "the ends do not differ: the good end point 0 shows the symptom, too (back-pressure-lost)"},
		{"bad end does not build", nil, map[int]string{15: "no compiler"}, false, "the bad end point 15 can't be measured: no compiler"},
		{"good end does not build", nil, map[int]string{0: "dev.c:1: error"}, false, "the good end point 0 can't be measured: dev.c:1: error"},
		{"bad end panics", always("15", result.Trial{Verdict: result.Inconclusive, Failed: true, Reason: "panic"}), nil, false, "the bad end point 15 can't be measured: panic"},
		{"predicted", always("15", result.Trial{Verdict: result.Bad, Predicted: true, Reason: "Too many."}), nil, false, "good kernels are predicted to fail this scenario"},
		{"configuration", always("15", result.Trial{Verdict: result.Bad, Cause: result.CauseConfiguration, Reason: "Clones."}), nil, false, "good kernels are predicted to fail this scenario"},
		{"bad end can't be told", always("15", result.Trial{Verdict: result.Inconclusive, Reason: "busy"}), nil, true, "the bad end point 15 can't be told: busy"},
	} {
		l := &line{n: 16, culprit: 9, broken: c.broken}
		b := certain(l)
		b.trial = c.trial
		_, err := start(l, b, 0.99).run(context.Background())
		var usage *UsageError
		var unclear *UnclearError
		if errors.As(err, &usage) == c.unclear || errors.As(err, &unclear) != c.unclear || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A symptom too rare to be bisected is refused, not guessed at.
func TestARareSymptomIsRefused(t *testing.T) {
	l := &line{n: 16, culprit: 9}
	var boot int
	b := certain(l)
	b.trial = func(string) *result.Trial {
		if boot++; boot == 10 {
			return &result.Trial{Verdict: result.Bad, Diagnosis: symptom, Cause: result.CauseKernel}
		}
		return &result.Trial{Verdict: result.Good}
	}
	_, err := start(l, b, 0.99).run(context.Background())
	var unclear *UnclearError
	if !errors.As(err, &unclear) || !strings.Contains(err.Error(), "1 of 60 boots only") {
		t.Errorf("%v, want a refusal", err)
	}
}

// Killed after any event, or right before it, and resumed from the journal: the same culprit, and no boot that was written
// down is made again.
func TestKilledAnywhereTheOutcomeIsTheSame(t *testing.T) {
	killed := errors.New("killed")
	scene := func() (*line, *boots) {
		l := &line{n: 16, culprit: 6, broken: map[int]string{7: "no"}}
		return l, &boots{line: l, rate: 0.7, rand: seeded(3)}
	}
	l, b := scene()
	want := mustRun(t, start(l, b, 0.9))
	for _, written := range []bool{false, true} {
		for at := 1; ; at++ {
			l, b := scene()
			var events []event
			e := start(l, b, 0.9)
			begin := event{Kind: evBegin, Params: &e.state.params}
			events = append(events, begin)
			e.record = func(ev event) error {
				if len(events) == at {
					if written {
						events = append(events, ev)
					}
					return killed
				}
				events = append(events, ev)
				return nil
			}
			r, err := e.run(context.Background())
			if err == nil {
				if r.Culprit != want.Culprit {
					t.Errorf("not killed: %q", r.Culprit)
				}
				break
			}
			resumed := start(l, b, 0.9)
			resumed.state = newState()
			for _, ev := range events {
				resumed.state.apply(ev)
			}
			known := len(resumed.state.boots)
			r, err = resumed.run(context.Background())
			if err != nil || r.Culprit != want.Culprit {
				t.Errorf("killed at event %d (written: %v): %q, %v, want %q", at, written, r.Culprit, err, want.Culprit)
			}
			if r.Boots < known {
				t.Errorf("killed at event %d: boots were lost", at)
			}
		}
	}
}

// A lone symptom at the culprit that never comes again is told, not hidden.
func TestALoneSymptomIsWarnedOf(t *testing.T) {
	l := &line{n: 8, culprit: 7}
	b := certain(l)
	b.ran = map[string]int{}
	b.trial = func(id string) *result.Trial {
		if id == "5" && b.ran[id] == 1 {
			return &result.Trial{Verdict: result.Bad, Diagnosis: symptom, Cause: result.CauseKernel}
		}
		return nil
	}
	r := mustRun(t, start(l, b, 0.99))
	if r.Culprit != "5" || len(r.Warnings) != 1 || r.Warnings[0].Code != "bad-side-unconfirmed" {
		t.Errorf("culprit %q, warnings %v", r.Culprit, r.Warnings)
	}
}

func TestPickLeavesABrokenStretch(t *testing.T) {
	var seen []int
	for skipped := range 8 {
		i := pick(100, skipped)
		for _, other := range seen {
			if i < 0 || i >= 100 || max(i-other, other-i) < 8 {
				t.Errorf("after %d skipped: %d, beside %d, which was tried", skipped, i, other)
			}
		}
		seen = append(seen, i)
	}
}

// A machine that was too busy to tell anything of the bad end gets another chance when the bisect is resumed.
func TestABusyMachineIsAskedAgain(t *testing.T) {
	l := &line{n: 8, culprit: 5}
	busy := certain(l)
	busy.trial = func(string) *result.Trial {
		return &result.Trial{Verdict: result.Inconclusive, Reason: "busy"}
	}
	e := start(l, busy, 0.99)
	var unclear *UnclearError
	if _, err := e.run(context.Background()); !errors.As(err, &unclear) {
		t.Fatalf("%v, want no answer", err)
	}
	resumed := start(l, certain(l), 0.99)
	resumed.state = e.state
	if r := mustRun(t, resumed); r.Culprit != "5" || r.Boots < mostLost {
		t.Errorf("culprit %q after %d boots", r.Culprit, r.Boots)
	}
}

// So does a good end: nothing is wrong with what was asked for.
func TestAGoodEndThatCanNotBeToldIsAskedAgain(t *testing.T) {
	l := &line{n: 8, culprit: 5}
	busy := certain(l)
	busy.trial = func(id string) *result.Trial {
		if id == "0" {
			return &result.Trial{Verdict: result.Inconclusive, Reason: "busy"}
		}
		return nil
	}
	e := start(l, busy, 0.99)
	var unclear *UnclearError
	if _, err := e.run(context.Background()); !errors.As(err, &unclear) || !strings.Contains(err.Error(), "the good end point 0 can't be told: busy") {
		t.Fatalf("%v, want no answer", err)
	}
	resumed := start(l, certain(l), 0.99)
	resumed.state = e.state
	if r := mustRun(t, resumed); r.Culprit != "5" {
		t.Errorf("culprit %q", r.Culprit)
	}
}

// A bad end that is BAD for one reason once and for another ever after is not booted for ever.
func TestABadEndWithTwoSymptoms(t *testing.T) {
	l := &line{n: 8, culprit: 5}
	b := certain(l)
	b.ran = map[string]int{}
	b.trial = func(string) *result.Trial {
		if b.ran["7"] > 1 {
			return &result.Trial{Verdict: result.Bad, Cause: result.CauseKernel, Diagnosis: result.StuckQueue}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var unclear *UnclearError
	if _, err := start(l, b, 0.99).run(ctx); !errors.As(err, &unclear) || !strings.Contains(err.Error(), "more than one symptom") {
		t.Errorf("%v, want no answer", err)
	}
	if b.ran["7"] != 1+endPatience {
		t.Errorf("%d boots", b.ran["7"])
	}
}

// One point of the middle that is predicted to fail is skipped: the scenario is right for the others.
func TestAPredictedPointIsSkipped(t *testing.T) {
	l := &line{n: 8, culprit: 5}
	b := certain(l)
	b.trial = func(id string) *result.Trial {
		if id == "3" {
			return &result.Trial{Verdict: result.Bad, Predicted: true, Cause: result.CauseConfiguration, Diagnosis: result.SndbufExceedsQueue, Reason: "Too many."}
		}
		return nil
	}
	r := mustRun(t, start(l, b, 0.99))
	i := slices.IndexFunc(r.Steps, func(s result.BisectStep) bool { return s.ID == "3" })
	if r.Culprit != "5" || i < 0 || r.Steps[i].Outcome != isSkipped {
		t.Errorf("culprit %q after %+v", r.Culprit, r.Steps)
	}
}

// A mistake that shows up when steps were taken is told, and what was measured stays.
func TestALateMistakeLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		at   string
		kept bool
	}{{"bad end", "7", false}, {"step", "3", true}} {
		l := &line{n: 8, culprit: 5}
		folder := filepath.Join(t.TempDir(), "bisect")
		j, err := createJournal(folder)
		if err != nil {
			t.Fatal(err)
		}
		e := start(l, certain(l), 0.99)
		e.space, e.record = lateMistake{l, c.at}, j.add
		_, err = finish(t.Context(), e, folder)
		wantUsage(t, err, "there is no QEMU")
		if kept := e.searching; kept != c.kept || (l.closed == 0) != c.kept {
			t.Errorf("%s: kept %v, closed %d times", c.name, kept, l.closed)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// lateMistake is a line of which one point can't be had by the user's mistake.
type lateMistake struct {
	*line
	at string
}

func (l lateMistake) Make(ctx context.Context, id string) (Image, error) {
	if id == l.at {
		return Image{}, &UsageError{Err: errors.New("there is no QEMU")}
	}
	return l.line.Make(ctx, id)
}

// A culprit that is a root has no good side.
func TestARootIsNotConfirmed(t *testing.T) {
	l := &line{n: 8, culprit: 5}
	e := start(l, certain(l), 0.99)
	e.space = roots{l}
	r := mustRun(t, e)
	if plan := newPlan(0.99, endSymptoms, endSymptoms); r.Culprit != "5" || r.Wrong != plan.Wrong(plan.Missed(4), 0) || len(r.Warnings) != 1 {
		t.Errorf("culprit %q, wrong with %v, warnings %v", r.Culprit, r.Wrong, r.Warnings)
	}
}

// roots is a line of points that have nothing before them.
type roots struct{ *line }

func (roots) Before(context.Context, string) ([]string, error) { return nil, nil }

// A point that comes out otherwise when it is made again (another compiler, another package) is booted anew: its earlier boots
// were of another image.
func TestBootsOfAnotherImageDoNotCount(t *testing.T) {
	s := newState()
	made := func(print string) event {
		return event{Kind: evMade, ID: "1", Role: roleStep, Fingerprint: print}
	}
	boot := event{Kind: evTrial, ID: "1", Role: roleStep, Trial: &result.Trial{Verdict: result.Good, Fingerprint: "a"}}
	for _, e := range []event{made("a"), boot, boot} {
		s.apply(e)
	}
	if n := s.tally("1", roleStep).clean; n != 2 {
		t.Errorf("%d clean boots, want 2", n)
	}
	s.apply(made("b"))
	if n := s.tally("1", roleStep).clean; n != 0 {
		t.Errorf("%d clean boots of an image that is gone", n)
	}
	for _, print := range []string{"c", "d", "e", "f"} { // it never comes out the same twice: all count
		s.apply(made(print))
	}
	boot.Trial = &result.Trial{Verdict: result.Good, Fingerprint: "e"}
	s.apply(boot)
	if n := s.tally("1", roleStep).clean; n != 1 {
		t.Errorf("%d clean boots of a build that never comes out the same twice, want 1", n)
	}
}
