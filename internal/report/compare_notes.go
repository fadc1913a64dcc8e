package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
)

// calibrationText is what comparing the first arm with itself showed: the noise of the machine.
func calibrationText(b *strings.Builder, c result.Comparison) {
	if len(c.Calibration) == 0 {
		return
	}
	b.WriteByte('\n')
	wrap(b, "calibration: ", c.Arms[0].Name+" against itself. Seen are differences that are not there (5 % are stated); nothing below the bound is claimed, and another comparison of the arm with itself is above it with the chance that stands there.")
	lines := [][]string{{"", "seen", "of", "rate, 95 %", "bound", "chance"}}
	for _, m := range c.Calibration {
		k := c.Cases[max(0, slices.IndexFunc(c.Cases, func(k result.ComparedCase) bool { return k.Name == m.Case }))]
		s := shownScale(k, unitOf(c, m.Metric), m.Floor)
		lines = append(lines, []string{"  " + inBrackets(m.Metric, m.Case), fmt.Sprint(m.Seen), fmt.Sprint(m.Tested),
			fmt.Sprintf("%.0f to %.0f %%", 100*m.Rate.Low, 100*m.Rate.High), s.value(m.Floor), fmt.Sprintf("%.0f %%", 100*m.FloorChance)})
	}
	align(b, lines)
	for _, m := range c.Calibration {
		if m.TooMany {
			wrap(b, "  "+inBrackets(m.Metric, m.Case)+": ", "MORE THAN CHANCE GIVES: the runs are not independent here, and no p of this metric means what it says")
		}
	}
}

func unitOf(c result.Comparison, metric string) string {
	for _, d := range c.Differences {
		if d.Metric == metric {
			return d.Unit
		}
	}
	return ""
}

// inBrackets adds a case where there is one.
func inBrackets(what, kase string) string { return because(what, kase) }

// gateWords are the states of a condition as people read them.
var gateWords = map[result.GateVerdict]string{
	result.GateTrue: "FAILS", result.GateFalse: "passes", result.GateCannotTell: "CANNOT TELL",
}

func gatesText(b *strings.Builder, c result.Comparison) {
	if len(c.Gates) == 0 {
		return
	}
	b.WriteByte('\n')
	for _, g := range c.Gates {
		wrap(b, fmt.Sprintf("%-11s ", gateWords[g.State]), fmt.Sprintf("fail if %s: %s: %s", g.Expr, inBrackets(g.Other, g.Case), g.Reason))
	}
}

// comparisonWarnings are those of the whole, then those of single metrics, equal ones together.
func comparisonWarnings(b *strings.Builder, c result.Comparison) {
	type note struct{ of, text string }
	var notes []note
	about := map[note][]string{}
	for _, d := range c.Differences {
		for _, n := range d.Notes {
			key := note{cmp.Or(n.Of, d.Base+", "+d.Other), n.Text}
			if about[key] == nil {
				notes = append(notes, key)
			}
			if what := inBrackets(d.Metric, d.Case); !slices.Contains(about[key], what) {
				about[key] = append(about[key], what)
			}
		}
	}
	if len(c.Warnings)+len(notes) > 0 {
		b.WriteByte('\n')
	}
	for _, w := range c.Warnings {
		wrap(b, "warning: ", w.Text)
	}
	for _, n := range notes {
		what := strings.Join(about[n], ", ")
		if len(about[n]) > 1 && len(about[n]) == subjects(c) {
			what = "every metric"
		}
		wrap(b, "warning: ", fmt.Sprintf("%s: %s: %s", what, n.of, n.text))
	}
}

// subjects counts what is compared: metrics of cases.
func subjects(c result.Comparison) int {
	seen := map[string]bool{}
	for _, d := range c.Differences {
		seen[inBrackets(d.Metric, d.Case)] = true
	}
	return len(seen)
}
