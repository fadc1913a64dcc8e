package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// The defaults of a search.
const (
	DefaultResolution = 1.0 // percent
	DefaultConfirm    = 2   // the best of three
)

// ratePath is the rate of a bond's senders, loadRatePath that of the other workloads.
const (
	ratePath     = "traffic.rate"
	loadRatePath = "load.rate"
)

// SearchOptions say what to look for.
type SearchOptions struct {
	Base       Base
	Set        []string // the --set assignments already applied, for the record
	Max        string   // a numeric path of the scenario; rate is that of the workload
	Until      string   // an expression over the metric table
	From, To   string   // as --set takes them; empty: a hundredth of To, and twice the line rate
	Resolution float64  // percent of the answer
	Confirm    int
	Tool       string
	Progress   func(text string) // nil is silence
}

// Prepare checks the options and reads them: what follows can fail for the place's reasons only, but for ends that the place tells.
func (o SearchOptions) Prepare() (*Seeker, error) {
	q, err := o.quantity()
	if err != nil {
		return nil, err
	}
	if o.Until == "" {
		return nil, errors.New("search: --until is missing: the condition that must hold, as in --until 'slaves.qdisc.dropped == 0'")
	}
	until, err := scenarios.ParseExpr(o.Until)
	if err == nil {
		err = measurable([]result.ComparedCase{{Workload: o.Base.Scenario.Workload}}, until.Metrics())
	}
	if err != nil {
		return nil, fmt.Errorf("--until: %w", err)
	}
	switch {
	case !(o.Resolution > 0 && o.Resolution < 100):
		return nil, fmt.Errorf("--resolution %v: it must be above 0 and below 100 percent", o.Resolution)
	case o.Confirm < 1:
		return nil, fmt.Errorf("--confirm %d: it must be 1 at least", o.Confirm)
	}
	sc, err := o.Base.Scenario.With()
	if err == nil {
		sc, err = anyRate(sc, q.path)
	}
	if err == nil {
		err = sc.Validate()
	}
	if err != nil {
		return nil, err
	}
	o.Base.Scenario = sc
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	s := &Seeker{SearchOptions: o, quantity: q, until: until}
	for _, v := range []float64{q.from, q.to} {
		if v > 0 {
			if _, err := s.at(v); err != nil {
				return nil, fmt.Errorf("--max %s: %w", o.Max, err)
			}
		}
	}
	return s, nil
}

// Seeker is a search that is ready to begin.
type Seeker struct {
	SearchOptions
	quantity quantity
	until    scenarios.Expr
	place    Place
	report   result.Search
}

// Arm is what the search's place is opened for.
func (s *Seeker) Arm() Arm {
	return Arm{Name: "search", Kernel: s.Base.Kernel, Modules: s.Base.Modules, Scenarios: []scenarios.Scenario{s.Base.Scenario}}
}

// at is the scenario with a value.
func (s *Seeker) at(v float64) (scenarios.Scenario, error) {
	sc := s.Base.Scenario
	if err := sc.Set(s.quantity.path + "=" + s.quantity.text(v)); err != nil {
		return sc, err
	}
	return sc, sc.Validate()
}

// Search looks for the highest value. A *reproducer.KernelError says that the kernel failed; an *UnclearError that no run can tell
// whether the condition holds.
func (s *Seeker) Search(ctx context.Context, bench Bench) (r result.Search, err error) {
	s.place, err = bench.Open(ctx, s.Arm())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.place.Close()) }()
	facts := s.place.Facts()
	if err := s.quantity.settle(facts.LineRate); err != nil {
		return r, err
	}
	q := s.quantity
	s.report = result.Search{Kind: result.KindSearch, Schema: result.SearchSchema, Tool: "bondrepro " + s.Tool, Created: time.Now().UTC(),
		Scenario: s.Base.Scenario, Set: s.Set, Path: q.path, Unit: q.unit, Until: s.Until, From: q.from, To: q.to,
		Resolution: s.Resolution / 100, Confirm: s.Confirm, Testbed: facts.Testbed, Host: &facts.Host, Guest: facts.Guest, LineRate: facts.LineRate}
	b := Bisection{From: q.from, To: q.to, Resolution: s.Resolution / 100, Step: q.step, Confirm: s.Confirm}
	found, err := b.Find(func(v float64) (bool, error) { return s.run(ctx, v) })
	s.report.Answer, s.report.Pass, s.report.Fail, s.report.Trials = found.Answer, found.Pass, found.Fail, found.Trials
	s.warn()
	s.warnOfQueue()
	return s.report, err
}

// UnclearError says that a search can't go on, as no run tells whether the condition holds.
type UnclearError struct{ Reason string }

func (e *UnclearError) Error() string { return e.Reason }

// tries is how often a run is taken again that does not count, or does not tell.
const tries = 3

// run measures a value until a run tells whether the condition holds.
func (s *Seeker) run(ctx context.Context, v float64) (bool, error) {
	sc, err := s.at(v)
	if err != nil {
		return false, err
	}
	text := s.quantity.text(v)
	why := ""
	for left := tries; left > 0; left-- {
		s.Progress(fmt.Sprintf("run %d: %s=%s", len(s.report.Samples)+1, s.quantity.path, text))
		sample, err := s.place.Sample(ctx, text, sc)
		if err != nil {
			return false, err
		}
		sample.Arm, sample.Boot, sample.At = text, 1, len(s.report.Samples)+1
		s.report.Samples = append(s.report.Samples, sample)
		if why = sample.Failure; why != "" {
			continue
		}
		holds, evaluated := s.until.Eval(func(name string) (float64, bool) { x, ok := sample.Metrics[name]; return x, ok })
		if evaluated {
			if holds && left > 1 && s.starved(sample, v) {
				continue
			}
			return holds, nil
		}
		why = "it does not measure all of " + strings.Join(s.until.Metrics(), ", ")
	}
	return false, &UnclearError{fmt.Sprintf("%s=%s: %s do not tell whether %s: %s", s.quantity.path, text, result.Plural(tries, "run"), s.Until, why)}
}
