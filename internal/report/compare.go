package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
)

// Comparison is what was compared and what can be said about it, for people: what was measured and in which order; a line for each
// metric, as it is written to the networking list; a table; what the calibration found; conditions; warnings.
func Comparison(c result.Comparison) string {
	var b strings.Builder
	comparisonHeader(&b, c)
	for _, k := range c.Cases {
		comparedCase(&b, c, k)
	}
	if len(c.Arms) < 2 {
		alone(&b, c)
	}
	calibrationText(&b, c)
	gatesText(&b, c)
	comparisonWarnings(&b, c)
	return b.String()
}

func comparisonHeader(b *strings.Builder, c result.Comparison) {
	line := func(label, text string) {
		if text != "" {
			wrap(b, fmt.Sprintf("%-*s", labels, label), text)
		}
	}
	line("scenario", c.Scenario.Name+": "+c.Scenario.Summary)
	line("set", strings.Join(c.Set, ", "))
	for i, a := range c.Arms {
		line([]string{"arms", ""}[min(i, 1)], a.Name+": "+comparedArmText(c, a))
	}
	line("order", orderText(c.Order))
	for _, text := range places(c) {
		line("measured", text)
	}
	if c.Minimum > 0 && len(c.Arms) > 1 {
		line("minimum", number(c.Minimum)+" %: a smaller difference is none that matters")
	}
}

func comparedArmText(c result.Comparison, a result.ComparedArm) string {
	text := strings.Join(a.Settings, ", ")
	if text == "" {
		text = "the scenario as it is"
	}
	if a.File != "" {
		text += ", read from " + a.File
	}
	if a.Guest != nil {
		text += fmt.Sprintf(", Linux %s, build id %s, %s", a.Guest.Kernel, orUnknown(a.Guest.BuildID), result.Plural(a.Boots, "boot"))
	}
	return text
}

// orderNames are the orders as people read them.
var orderNames = map[string]string{
	result.OrderABBA:   "ABBA: forth and back, so that a steady drift is in all arms alike",
	result.OrderRandom: "random",
	result.OrderFiles:  "not known or one after the other: read from files",
}

func orderText(o result.Order) string {
	text := orderNames[o.Kind]
	if o.Kind == result.OrderRandom {
		text += fmt.Sprintf(", seed %d", o.Seed)
	}
	if o.Kind == result.OrderFiles {
		return text
	}
	text += "; " + result.Plural(o.Runs, "run") + " an arm"
	if o.Boots > 1 {
		text += fmt.Sprintf(" in %d places", o.Boots)
	}
	if o.Warmup > 0 {
		text += fmt.Sprintf("; before them %s an arm in each place, left out", result.Plural(o.Warmup, "warm-up run"))
	}
	return text
}

// places are where the arms were measured, each machine once.
func places(c result.Comparison) (all []string) {
	for _, a := range c.Arms {
		if a.Host == nil {
			continue
		}
		text := a.Testbed + ": " + machineText(*a.Host, a.Guest)
		if a.Guest == nil {
			text += ", Linux " + a.Host.Kernel
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// shownScale is the scale of a difference's values: of the larger mean. The mix of a file server and tbench are read in bytes.
func shownScale(k result.ComparedCase, unit string, means ...float64) scale {
	if unit == "bit/s" && (k.Workload == "mixed" || k.Tool == "tbench") {
		unit = "byte/s"
	}
	for i, m := range means {
		means[i] = math.Abs(m)
	}
	return scaleOf(unit, slices.Max(means))
}

// comparedCase writes the lines and the table of one case.
func comparedCase(b *strings.Builder, c result.Comparison, k result.ComparedCase) {
	all := slices.DeleteFunc(slices.Clone(c.Differences), func(d result.MetricDifference) bool { return d.Case != k.Name })
	if len(all) == 0 {
		return
	}
	if b.WriteByte('\n'); k.Name != "" {
		b.WriteString(k.Name + "\n")
	}
	for _, d := range all {
		s := shownScale(k, d.Unit, d.BaseIs.Mean, d.OtherIs.Mean)
		fmt.Fprintf(b, "%s\n  %s\n", d.Metric, DifferenceLine(k, d))
		wrap(b, "  → ", verdictText(c, d, s))
	}
	b.WriteByte('\n')
	comparedTable(b, k, all)
}

// alone writes what a single arm has, which was measured to be compared later.
func alone(b *strings.Builder, c result.Comparison) {
	for _, k := range c.Cases {
		table := [][]string{{"", "mean", "95 % interval", "least", "greatest", "n"}}
		for _, m := range c.Alone {
			if m.Case == k.Name {
				s := shownScale(k, m.Unit, m.Is.Mean)
				table = append(table, []string{"  " + m.Metric + comma(s.unit), s.figure(m.Is.Mean), rangeText(s, m.Is.Interval), s.figure(m.Is.Min), s.figure(m.Is.Max), fmt.Sprint(m.Is.N)})
			}
		}
		if len(table) == 1 {
			continue
		}
		if b.WriteByte('\n'); k.Name != "" {
			b.WriteString(k.Name + "\n")
		}
		align(b, table)
	}
	for _, a := range c.Arms {
		var runs, failed int
		for _, s := range c.Samples {
			switch {
			case s.Arm != a.Name || s.Warmup:
			case s.Failure != "":
				failed++
			default:
				runs++
			}
		}
		fmt.Fprintf(b, "\narm %s: %s kept, %d failed\n", a.Name, result.Plural(runs, "run"), failed)
	}
}
