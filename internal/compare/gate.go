package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Gate is a condition of --fail-if on the difference of an arm from the first: METRIC OP PERCENT.
type Gate struct {
	Text   string
	Metric string
	Op     string  // <, <=, >, >=
	Bound  float64 // percent
}

var gateForm = regexp.MustCompile(`^\s*([^\s<>=!]+)\s*(<=|>=|<|>)\s*([-+]?[0-9.]+)\s*%\s*$`)

// ParseGate reads a condition such as "throughput < -5%". Errors are one sentence.
func ParseGate(text string) (Gate, error) {
	parts := gateForm.FindStringSubmatch(text)
	if parts == nil {
		return Gate{}, fmt.Errorf("--fail-if %q: it must be METRIC < PERCENT, with <, <=, > or >=, as in 'throughput < -5%%'", text)
	}
	metric, err := scenarios.LookupMetric(parts[1])
	if err != nil {
		return Gate{}, fmt.Errorf("--fail-if %q: %w", text, err)
	}
	bound, err := strconv.ParseFloat(parts[3], 64)
	if err != nil {
		return Gate{}, fmt.Errorf("--fail-if %q: %q is not a number", text, parts[3])
	}
	return Gate{Text: text, Metric: metric.Name, Op: parts[2], Bound: bound}, nil
}

// check reads the conditions, and refuses what is unknown. The claims it gives back name metrics as their table does.
func (c Claims) check() (Claims, []Gate, error) {
	if math.IsNaN(c.Minimum) || c.Minimum < 0 {
		return c, nil, fmt.Errorf("--minimum %v: it must be 0 percent or more", c.Minimum)
	}
	var names []string
	for _, name := range c.Metrics {
		metric, err := scenarios.LookupMetric(name)
		if err != nil {
			return c, nil, fmt.Errorf("--metric %s: %w", name, err)
		}
		names = append(names, metric.Name)
	}
	c.Metrics = names
	var gates []Gate
	for _, text := range c.FailIf {
		g, err := ParseGate(text)
		if err != nil {
			return c, nil, err
		}
		gates = append(gates, g)
	}
	return c, gates, nil
}

// names are the metrics that claims ask for.
func (c Claims) names(gates []Gate) []string {
	names := slices.Clone(c.Metrics)
	for _, g := range gates {
		names = append(names, g.Metric)
	}
	return names
}

// measurable refuses metrics that no case can have.
func measurable(cases []result.ComparedCase, names []string) error {
	for _, name := range names {
		ofLoad := slices.ContainsFunc(scenarios.LoadMetrics, func(m scenarios.Metric) bool { return m.Name == name })
		if slices.ContainsFunc(cases, func(k result.ComparedCase) bool { return ofLoad == (k.Workload != scenarios.WorkloadMulticast) }) {
			continue
		}
		if ofLoad {
			return fmt.Errorf("%s is not measured over a bond, whose rate is rate.achieved (docs/metrics.md lists the metrics)", name)
		}
		return fmt.Errorf("%s is measured over a bond only, and this is none (docs/metrics.md lists the metrics)", name)
	}
	return nil
}

// judge holds the condition against every arm in every case that has the metric.
func (g Gate) judge(c result.Comparison) (all []result.Gate) {
	for _, k := range c.Cases {
		if !slices.Contains(present(k, c.Samples), g.Metric) {
			continue
		}
		for i := 1; i < len(c.Arms); i++ {
			r := result.Gate{Expr: g.Text, Other: c.Arms[i].Name, Case: k.Name, State: result.GateCannotTell,
				Reason: "it was not measured in both arms"}
			for _, d := range c.Differences {
				if d.Metric == g.Metric && d.Case == k.Name && d.Other == r.Other {
					r.State, r.Reason = g.hold(d, noise(c, subject{metric: g.Metric, kase: k.Name}))
				}
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		all = []result.Gate{{Expr: g.Text, State: result.GateCannotTell, Reason: "no run measured " + g.Metric}}
	}
	return all
}

// hold evaluates the condition on the whole interval of a difference. A difference that the machine shows of itself
// makes no condition hold.
func (g Gate) hold(d result.MetricDifference, floor float64) (result.GateVerdict, string) {
	percent := d.Percent
	if percent == nil {
		percent = ofNothing(d)
	}
	switch {
	case percent == nil:
		return result.GateCannotTell, fmt.Sprintf("no percentage can be said of it here: the mean of %s is 0, or can't be told from 0", d.Base)
	case percent.Interval == nil:
		return result.GateCannotTell, fmt.Sprintf("the difference is %+.3g %%, and there is no interval, as an arm has one %s only", percent.Value, strings.TrimSuffix(d.Counts, "s"))
	}
	i := percent.Interval
	text := fmt.Sprintf("the difference is %+.3g %%, its interval %+.3g to %+.3g %%", percent.Value, i.Low, i.High)
	if math.IsInf(percent.Value, 0) {
		text = fmt.Sprintf("%s has 0 in every run, and %s %.6g", d.Base, d.Other, d.OtherIs.Mean)
	}
	low, high := g.meets(i.Low), g.meets(i.High)
	switch {
	case low && high && math.Abs(d.Value) <= floor:
		return result.GateCannotTell, text + ", which this machine shows of itself, too"
	case low && high && i.Low == i.High && (d.P == nil || d.P.Value >= stats.Alpha): // no value varies
		return result.GateCannotTell, text + fmt.Sprintf(", but %d and %d %s are too few to tell", d.BaseIs.N, d.OtherIs.N, d.Counts)
	case low && high:
		return result.GateTrue, text
	case !low && !high:
		return result.GateFalse, text
	}
	return result.GateCannotTell, text + fmt.Sprintf(", which has %g %% in it", g.Bound)
}

// ofNothing is the percentage from a base that has 0 throughout: none where the other arm has, too, and an infinite one where the two
// are known to differ. Nil where neither is so.
func ofNothing(d result.MetricDifference) *result.Percent {
	base, other := d.BaseIs, d.OtherIs
	exactly := func(v float64) *result.Percent {
		return &result.Percent{Value: v, Interval: &result.Interval{Low: v, High: v}}
	}
	switch {
	case base.Min != 0 || base.Max != 0 || d.Range == nil:
	case other.Min == 0 && other.Max == 0:
		return exactly(0)
	case d.Verdict == result.DifferenceHigher:
		return exactly(math.Inf(1))
	case d.Verdict == result.DifferenceLower:
		return exactly(math.Inf(-1))
	}
	return nil
}

func (g Gate) meets(v float64) bool {
	switch g.Op {
	case "<":
		return v < g.Bound
	case "<=":
		return v <= g.Bound
	case ">":
		return v > g.Bound
	}
	return v >= g.Bound
}
