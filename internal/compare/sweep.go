package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// DefaultSweepRuns are those of a point.
const DefaultSweepRuns = 3

// ParseOver reads parameters, each PATH=VALUE,VALUE,…. Commas within brackets do not part values. Errors are one sentence.
func ParseOver(texts []string) (scenarios.Sweep, error) {
	var sweep scenarios.Sweep
	for _, text := range texts {
		path, list, ok := strings.Cut(text, "=")
		if path = strings.TrimSpace(path); !ok || path == "" {
			return nil, fmt.Errorf("--over %s: it must be PATH=VALUE,VALUE,…, as in traffic.senders=1,4,16", text)
		}
		if slices.ContainsFunc(sweep, func(s scenarios.Swept) bool { return s.Path == path }) {
			return nil, fmt.Errorf("--over %s: %s was given already", text, path)
		}
		swept := scenarios.Swept{Path: path}
		for _, word := range splitList(list) {
			_, value, err := assignment(path + "=" + word)
			if err != nil {
				return nil, fmt.Errorf("--over %s: a value is missing, or is not YAML", text)
			}
			swept.Values = append(swept.Values, value)
		}
		if len(swept.Values) < 2 {
			return nil, fmt.Errorf("--over %s: it has one value; a sweep needs two or more, as in traffic.senders=1,4,16", text)
		}
		sweep = append(sweep, swept)
	}
	if len(sweep) > 2 {
		return nil, fmt.Errorf("--over is given %d times: a sweep has one or two parameters", len(sweep))
	}
	return sweep, nil
}

// splitList parts a list at its commas.
func splitList(list string) (words []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				words, from = append(words, list[from:i]), i+1
			}
		}
	}
	return append(words, list[from:])
}

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
	if _, err := (Claims{Metrics: o.Metrics}).check(); err != nil {
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
		for _, value := range swept.Values {
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

// times is each variant with each value.
func times(variants scenarios.Variants, swept scenarios.Swept) (all scenarios.Variants) {
	for _, v := range variants {
		for _, value := range swept.Values {
			set := map[string]any{swept.Path: value}
			for k, x := range v.Set {
				set[k] = x
			}
			name := swept.Path + "=" + plainText(value)
			if v.Name != "" {
				name = v.Name + ", " + name
			}
			all = append(all, scenarios.Variant{Name: name, Set: set})
		}
	}
	return all
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
	sums := &preflights{Bench: bench, points: points, sums: map[string]result.Preflight{}}
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

// valuesAt are those of the i-th point.
func valuesAt(over []result.SweptParameter, i int) []string {
	at := make([]string, len(over))
	for j := len(over) - 1; j >= 0; j-- {
		n := len(over[j].Values)
		at[j] = over[j].Values[i%n]
		i /= n
	}
	return at
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

// preflights is a Bench that asks each place it opens for the sums of the points.
type preflights struct {
	Bench
	points []Arm
	sums   map[string]result.Preflight
}

func (b *preflights) Open(ctx context.Context, arm Arm) (Place, error) {
	place, err := b.Bench.Open(ctx, arm)
	if err != nil {
		return place, err
	}
	for _, p := range b.points {
		if !p.samePlace(arm) {
			continue
		}
		if sum := place.Preflight(p.Scenarios[0]); sum.Sum > 0 {
			b.sums[p.Name] = sum
		}
	}
	return place, nil
}

const droppedMetric = "slaves.qdisc.dropped"

// crossings find where drops begin along the first parameter, for each value of the second.
func crossings(s result.Sweep) (all []result.Crossing) {
	seconds := []string{""}
	if len(s.Over) > 1 {
		seconds = s.Over[1].Values
	}
	for _, second := range seconds {
		c := result.Crossing{At: second}
		known := false
		first := func(where *string, p result.SweepPoint, there bool) {
			if there && *where == "" {
				*where = p.Values[0]
			}
		}
		for _, p := range s.Points {
			if p.Preflight == nil || second != "" && p.Values[1] != second {
				continue
			}
			known = true
			first(&c.Measured, p, p.Figures[droppedMetric].Max > 0)
			first(&c.Predicted, p, p.Preflight.Exceeds)
			first(&c.Tight, p, p.Preflight.Tight || p.Preflight.Exceeds)
		}
		if known {
			all = append(all, c)
		}
	}
	return all
}
