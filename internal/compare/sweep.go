package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// DefaultSweepRuns are those of a point.
const DefaultSweepRuns = 3

// SweepOptions say what to sweep.
type SweepOptions struct {
	Base     Base
	Set      []string        // the --set assignments already applied, for the record
	Over     scenarios.Sweep // empty: the scenario's own
	Order    result.Order    // Runs of a point; what is 0 or empty gets its default
	Metrics  []string        // beside the workload's main ones
	Tool     string
	Progress func(text string) // nil is silence
}

// Points are the arms of a sweep, each of one value of each parameter, and the options with the scenario as it is swept.
func (o SweepOptions) Points() (SweepOptions, []Arm, error) {
	if len(o.Over) == 0 {
		o.Over = o.Base.Scenario.Sweep
	}
	if len(o.Over) == 0 {
		return o, nil, errors.New("there is nothing to sweep over: give --over PATH=VALUE,VALUE,…, or name a scenario that has a sweep")
	}
	claims, _, err := (Claims{Metrics: o.Metrics}).check()
	if err != nil {
		return o, nil, err
	}
	o.Metrics = claims.Metrics
	if err := measurable([]result.ComparedCase{{Workload: o.Base.Scenario.Workload}}, o.Metrics); err != nil {
		return o, nil, err
	}
	sc, err := o.Base.Scenario.With()
	if err != nil {
		return o, nil, err
	}
	for _, swept := range o.Over {
		if sc, err = anyRate(sc, swept.Path); err != nil {
			return o, nil, err
		}
	}
	o.Base.Scenario = sc
	variants := scenarios.Variants{{Set: map[string]any{}}}
	for _, swept := range o.Over {
		for i, value := range swept.Values {
			if slices.ContainsFunc(swept.Values[:i], func(other any) bool { return plainText(other) == plainText(value) }) {
				return o, nil, fmt.Errorf("--over %s: the value %s stands there twice", swept.Path, plainText(value))
			}
			if err := settable(sc, scenarios.Variant{Set: map[string]any{swept.Path: value}}); err != nil {
				return o, nil, fmt.Errorf("--over: %w", err)
			}
		}
		variants = times(variants, swept)
	}
	arms, err := o.Base.arms(variants, nil)
	if err != nil {
		return o, nil, err
	}
	if !slices.ContainsFunc(o.Over, func(s scenarios.Swept) bool { return isPlaceKey(s.Path) }) {
		o.Base.Scenario.Sweep = o.Over
	}
	return o, arms, nil
}

// anyRate lets runs count that do not fill the line, where the rate itself is varied.
func anyRate(sc scenarios.Scenario, path string) (scenarios.Scenario, error) {
	if !sc.OnBond() || path != ratePath {
		return sc, nil
	}
	return sc, sc.Set("guards.line_full=false")
}

// Sweep measures every point, all of them in turns.
func Sweep(ctx context.Context, bench Bench, o SweepOptions, points []Arm) (result.Sweep, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Order.Runs == 0 {
		o.Order.Runs = DefaultSweepRuns
	}
	places := groups(points)
	if o.Order.Boots == 0 {
		o.Order.Boots = 1
	}
	order, err := settleOrder(o.Order, len(places))
	if err != nil {
		return result.Sweep{}, err
	}
	sc := points[0].Scenarios[0]
	k := result.ComparedCase{Workload: sc.Workload, Tool: sc.Load.Tool}
	s := result.Sweep{Kind: result.KindSweep, Schema: result.SweepSchema, Tool: "bondrepro " + o.Tool, Created: time.Now().UTC(),
		Scenario: o.Base.Scenario, Set: o.Set, Order: order}
	sums := &preflights{Bench: bench, sums: map[string]result.Preflight{}}
	m, err := measure(ctx, sums, points, []result.ComparedCase{k}, plan(order, places, 1), o.Progress)
	if err != nil {
		return s, err
	}
	if f := m.facts[0]; f.Testbed != "" {
		s.Testbed, s.Host, s.Guest = f.Testbed, &f.Host, f.Guest
	}
	s.Samples, s.Metrics = m.samples, chosen(k, o.Metrics, m.samples)
	for _, swept := range o.Over {
		p := result.SweptParameter{Path: swept.Path}
		for _, v := range swept.Values {
			p.Values = append(p.Values, plainText(v))
		}
		s.Over = append(s.Over, p)
	}
	for i, a := range points {
		s.Points = append(s.Points, point(a, valuesAt(s.Over, i), s.Metrics, m.samples, sums.sums))
	}
	s.Crossings = crossings(s)
	return s, nil
}

// point sums up one point.
func point(a Arm, at []string, metrics []string, samples []result.Sample, sums map[string]result.Preflight) result.SweepPoint {
	p := result.SweepPoint{Name: a.Name, Values: at, Figures: map[string]result.Summary{}}
	for _, name := range metrics {
		var xs []float64
		for _, r := range values(samples, a.Name, "", name) {
			xs = append(xs, r.Value)
		}
		if len(xs) > 0 {
			p.Figures[name] = summary(stats.Sample{Summary: stats.Summarize(xs), Runs: len(xs)})
		}
	}
	for _, s := range samples {
		if s.Arm == a.Name && s.Failure != "" {
			if p.Failed++; p.Why == "" {
				p.Why = s.Failure
			}
		}
	}
	if sum, ok := sums[a.Name]; ok {
		p.Preflight = &sum
	}
	return p
}
