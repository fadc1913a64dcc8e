package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Options say what to compare.
type Options struct {
	Scenario scenarios.Scenario // that the arms were made of
	Set      []string           // the --set assignments already applied to it, for the record
	Arms     []Arm              // the first is what the others are compared with; one is measured and kept
	Order    result.Order       // what is 0 or empty gets its default; a Warmup below 0 is none
	Claims
	// Calibrate is how often the first arm is compared with itself before; 0: never.
	Calibrate int
	Tool      string // version, for the record
	// Progress is told what is being done; nil is silence.
	Progress func(text string)
}

// DefaultMinimum is the smallest difference that matters where nobody names one, percent.
const DefaultMinimum = stats.DefaultMinimum

// Claims say what is to be claimed of samples.
type Claims struct {
	Minimum float64  // the smallest difference that matters, percent
	Metrics []string // compared beside the workload's main ones
	FailIf  []string // expressions, see ParseGate
}

// Run measures the arms in turns and compares them. Errors are of the environment or of usage; a kernel that fails is
// written down in the samples.
func Run(ctx context.Context, bench Bench, o Options) (result.Comparison, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	claims, gates, err := o.Claims.check()
	if err != nil {
		return result.Comparison{}, err
	}
	o.Claims = claims
	places := groups(o.Arms)
	order, err := settleOrder(o.Order, len(places))
	if err != nil {
		return result.Comparison{}, err
	}
	c := result.Comparison{
		Kind: result.KindComparison, Schema: result.ComparisonSchema, Tool: "bondrepro " + o.Tool, Created: time.Now().UTC(),
		Scenario: o.Scenario, Set: o.Set, Order: order, Minimum: o.Minimum,
	}
	for i, v := range casesOr(o.Scenario.Cases) {
		sc := o.Arms[0].Scenarios[i]
		c.Cases = append(c.Cases, result.ComparedCase{Name: v.Name, Workload: sc.Workload, Tool: sc.Load.Tool})
	}
	if err := measurable(c.Cases, claims.names(gates)); err != nil {
		return c, err
	}
	if o.Calibrate > 0 {
		if err := calibrate(ctx, bench, o, gates, &c); err != nil {
			return c, err
		}
	}
	m, err := measure(ctx, bench, o.Arms, c.Cases, plan(order, places, len(c.Cases)), o.Progress)
	if err != nil {
		return c, err
	}
	c.Samples, c.Warnings = m.samples, m.omitted()
	for i, a := range o.Arms {
		c.Arms = append(c.Arms, m.arm(i, a))
	}
	return c, conclude(&c, claims, gates)
}

// arm is what is kept of an arm.
func (m *measurer) arm(i int, a Arm) result.ComparedArm {
	out := result.ComparedArm{Name: a.Name, Settings: a.Settings, Boots: m.boots[i]}
	if f := m.facts[i]; f.Testbed != "" {
		out.Testbed, out.Host, out.Guest = f.Testbed, &f.Host, f.Guest
	}
	return out
}

// conclude fills in all that follows from the samples.
func conclude(c *result.Comparison, claims Claims, gates []Gate) error {
	wanted := claims.names(gates)
	c.Warnings = append(append(c.Warnings, failures(*c)...), idle(*c)...)
	var err error
	if c.Differences, err = differences(*c, wanted); err != nil {
		return err
	}
	if len(c.Arms) == 1 {
		c.Alone = alone(*c, wanted)
	}
	c.Warnings = append(c.Warnings, missing(*c, wanted)...)
	for _, g := range gates {
		c.Gates = append(c.Gates, g.judge(*c)...)
	}
	return nil
}

// failures warn of samples that do not count.
func failures(c result.Comparison) (warnings []result.Warning) {
	for _, a := range c.Arms {
		var lost, all int
		why := ""
		for _, s := range c.Samples {
			if s.Arm != a.Name {
				continue
			}
			if all++; s.Failure != "" {
				if lost++; why == "" {
					why = s.Failure
				}
			}
		}
		if lost > 0 {
			warnings = append(warnings, result.Warning{Code: "failed-runs",
				Text: fmt.Sprintf("Arm %s: %d of %s lost: %s", a.Name, lost, result.Plural(all, "run"), sentence(clip(why)))})
		}
	}
	return warnings
}

// idle warns of connections that carried nothing in runs that count: the others had their share.
func idle(c result.Comparison) (warnings []result.Warning) {
	for _, a := range c.Arms {
		for _, k := range c.Cases {
			var runs, with int
			for _, s := range c.Samples {
				if s.Arm != a.Name || s.Case != k.Name || !has(s, idleMetric) {
					continue
				}
				if runs++; s.Metrics[idleMetric] > 0 {
					with++
				}
			}
			if with > 0 {
				warnings = append(warnings, result.Warning{Code: "idle-connections",
					Text: fmt.Sprintf("A%sin %d of %s some connections carried nothing (%s).", inCase(a.Name, k.Name)[1:], with, result.Plural(runs, "run"), idleMetric)})
			}
		}
	}
	return warnings
}

const idleMetric = "connections.idle"

// missing warns of wanted metrics that an arm does not have.
func missing(c result.Comparison, names []string) (warnings []result.Warning) {
	for _, name := range names {
		var lack []string
		for _, a := range c.Arms {
			if !slices.ContainsFunc(c.Samples, func(s result.Sample) bool { return s.Arm == a.Name && has(s, name) }) {
				lack = append(lack, a.Name)
			}
		}
		if len(lack) > 0 {
			warnings = append(warnings, result.Warning{Code: "metric-missing",
				Text: fmt.Sprintf("%s was not measured in arm %s: nothing can be said about it.", name, strings.Join(lack, ", "))})
		}
	}
	return warnings
}

func has(s result.Sample, metric string) bool {
	_, ok := s.Metrics[metric]
	return ok && !s.Warmup && s.Failure == ""
}

// longestReason is how much of a reason a warning quotes, in characters; samples have all of it.
const longestReason = 240

func clip(text string) string {
	if runes := []rune(text); len(runes) > longestReason {
		return string(runes[:longestReason]) + "…"
	}
	return text
}

// sentence ends text with a full stop, once.
func sentence(text string) string { return strings.TrimRight(text, ".") + "." }

// Judge is the exit code's view of a comparison.
type Judge string

// What a comparison tells a script.
const (
	Compared   Judge = "compared" // and no condition of --fail-if holds
	Failed     Judge = "failed"   // one does
	CannotTell Judge = "cannot-tell"
)

// Outcome tells whether the comparison reached an answer: a condition that holds wins over one that can't be told. Without
// conditions anything compared is an answer, also one that claims nothing.
func Outcome(c result.Comparison) Judge {
	unclear := len(c.Arms) > 1 && len(c.Differences) == 0
	for _, g := range c.Gates {
		switch g.State {
		case result.GateTrue:
			return Failed
		case result.GateCannotTell:
			unclear = true
		}
	}
	if unclear || !measured(c) {
		return CannotTell
	}
	return Compared
}

// measured tells whether any run of each arm counts, in each case that was not left out.
func measured(c result.Comparison) bool {
	for _, k := range c.Cases {
		if !slices.ContainsFunc(c.Samples, func(s result.Sample) bool { return s.Case == k.Name }) && len(c.Cases) > 1 {
			continue
		}
		for _, a := range c.Arms {
			if !slices.ContainsFunc(c.Samples, func(s result.Sample) bool {
				return s.Arm == a.Name && s.Case == k.Name && !s.Warmup && s.Failure == ""
			}) {
				return false
			}
		}
	}
	return true
}
