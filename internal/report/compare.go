package report

import (
	"cmp"
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

// comparedTable is all arms of each metric below each other, with what tells them from the first.
func comparedTable(b *strings.Builder, k result.ComparedCase, all []result.MetricDifference) {
	table := [][]string{{"", "mean", "95 % interval", "difference", "95 % interval", "Welch", "M-W", "Holm", "n"}}
	heads := map[int]string{} // before the line of that number
	metric := ""
	for _, d := range all {
		s := shownScale(k, d.Unit, d.BaseIs.Mean, d.OtherIs.Mean)
		if d.Metric != metric {
			metric = d.Metric
			heads[len(table)] = metric + comma(s.unit)
			table = append(table, []string{"  " + d.Base, s.figure(d.BaseIs.Mean), rangeText(s, d.BaseIs.Interval), "", "", "", "", "", fmt.Sprint(d.BaseIs.N)})
		}
		change, within := changeCells(d, s)
		table = append(table, []string{"  " + d.Other, s.figure(d.OtherIs.Mean), rangeText(s, d.OtherIs.Interval), change, within,
			testCell(d.Welch), testCell(d.Rank), holmCell(d.P), fmt.Sprint(d.OtherIs.N)})
	}
	var text strings.Builder
	align(&text, table)
	i := 0
	for line := range strings.Lines(text.String()) {
		if head, ok := heads[i]; ok {
			b.WriteString(head + "\n")
		}
		b.WriteString(line)
		i++
	}
}

// comma adds a unit where there is one.
func comma(unit string) string {
	if unit == "" {
		return ""
	}
	return ", " + unit
}

func testCell(t *result.Test) string {
	if t == nil {
		return absent
	}
	return pCell(t.P)
}

func holmCell(p *result.P) string {
	if p == nil {
		return absent
	}
	return pCell(p.Holm)
}

func rangeText(s scale, i *result.Interval) string {
	if i == nil {
		return absent
	}
	return s.figure(i.Low) + " to " + s.figure(i.High)
}

// changeCells are the difference and its interval: in percent where that can be said.
func changeCells(d result.MetricDifference, s scale) (change, within string) {
	p := d.Percent
	if p == nil {
		return plus(d.Value) + s.figure(d.Value), rangeText(s, d.Range)
	}
	most := math.Abs(p.Value)
	if p.Interval != nil {
		most = max(most, math.Abs(p.Interval.Low), math.Abs(p.Interval.High))
	}
	signed := func(v float64) string { return fmt.Sprintf("%+.*f", decimals(most), v) }
	if p.Interval == nil {
		return signed(p.Value) + " %", absent
	}
	return signed(p.Value) + " %", signed(p.Interval.Low) + " to " + signed(p.Interval.High) + " %"
}

// decimals are those of percentages the largest of which is most.
func decimals(most float64) int {
	switch {
	case most >= 1:
		return 1
	case most >= 0.1:
		return 2
	}
	return 3
}

func plus(v float64) string {
	if v > 0 {
		return "+"
	}
	return ""
}

// DifferenceLine is a difference as the networking list writes it: both means, the change where there is one beyond chance, Welch's p
// and both n.
func DifferenceLine(k result.ComparedCase, d result.MetricDifference) string {
	s := shownScale(k, d.Unit, d.BaseIs.Mean, d.OtherIs.Mean)
	line := fmt.Sprintf("%s: %s %s: %s", d.Base, s.value(d.BaseIs.Mean), d.Other, s.value(d.OtherIs.Mean))
	if change := changeText(d, s); change != "" {
		line += " (" + change + ")"
	}
	return line + " (" + testText(d) + ", " + nText(d) + ")"
}

// changeText is empty where chance, or the noise of the machine, explains what was seen.
func changeText(d result.MetricDifference, s scale) string {
	if d.P == nil || d.P.Holm >= 0.05 || d.Why == "below-noise" {
		return ""
	}
	size := s.value(math.Abs(d.Value))
	if d.Percent != nil {
		size = percentage(math.Abs(d.Percent.Value)) + " %"
	}
	words, ok := changeWords[d.Unit]
	if !ok {
		words = [2]string{"more", "less"}
	}
	if d.Value < 0 {
		return size + " " + words[1]
	}
	return size + " " + words[0]
}

// changeWords are what a higher and a lower value are called.
var changeWords = map[string][2]string{
	"bit/s": {"faster", "slower"}, "1/s": {"faster", "slower"}, "µs": {"slower", "faster"}, "ms": {"slower", "faster"},
}

func testText(d result.MetricDifference) string {
	switch {
	case d.Welch != nil:
		return "Welch " + pText(d.Welch.P)
	case d.Rank != nil:
		return "exact " + pText(d.Rank.P) + ", no value varies"
	}
	return "no p"
}

func nText(d result.MetricDifference) string {
	text := fmt.Sprintf("n₁ = %d, n₂ = %d", d.BaseIs.N, d.OtherIs.N)
	if d.BaseIs.N == d.OtherIs.N {
		text = fmt.Sprintf("n₁ = n₂ = %d", d.BaseIs.N)
	}
	if d.Counts == "boots" {
		text += " boots"
	}
	return text
}

// verdictText is what is claimed, and on what it rests.
func verdictText(c result.Comparison, d result.MetricDifference, s scale) string {
	minimum := number(c.Minimum) + " %"
	switch d.Verdict {
	case result.DifferenceNone:
		return fmt.Sprintf("no difference that matters: it is below %s", minimum)
	case result.DifferenceHigher, result.DifferenceLower:
		word := string(d.Verdict)
		switch {
		case d.Improves():
			word = "better"
		case d.Worsens():
			word = "worse"
		}
		if d.Percent == nil || c.Minimum == 0 {
			return word
		}
		return fmt.Sprintf("%s, by more than %s", word, minimum)
	}
	return "cannot tell: " + whyText(c, d, s, minimum)
}

func whyText(c result.Comparison, d result.MetricDifference, s scale, minimum string) string {
	switch d.Why {
	case "one-unit":
		if d.Counts == "boots" {
			return "an arm has a single boot, and what another boot would show is not known (--boots)"
		}
		return "an arm has a single run, and so there is no p (-n)"
	case "below-noise":
		i := slices.IndexFunc(c.Calibration, func(m result.MetricCalibration) bool { return m.Metric == d.Metric && m.Case == d.Case })
		if i >= 0 {
			return fmt.Sprintf("this machine shows differences of up to %s between an arm and itself", s.value(c.Calibration[i].Floor))
		}
		return "this machine shows such differences between an arm and itself"
	case "may-be-small":
		return "there is a difference, but it may be smaller than " + minimum
	case "too-few":
		return "no value varies, and so few do not show that there is no difference"
	}
	more := "runs (-n)"
	if d.Counts == "boots" {
		more = "boots (--boots)"
	}
	if c.Minimum == 0 {
		return "no difference was seen, which does not show that there is none"
	}
	return "no difference was seen, but one of more than " + minimum + " may be there; more " + more + " would tell"
}

// alone writes the means of a single arm, which was measured to be compared later.
func alone(b *strings.Builder, c result.Comparison) {
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

func calibrationText(b *strings.Builder, c result.Comparison) {
	if len(c.Calibration) == 0 {
		return
	}
	b.WriteString("\ncalibration: " + c.Arms[0].Name + " against itself\n")
	for _, m := range c.Calibration {
		k := c.Cases[max(0, slices.IndexFunc(c.Cases, func(k result.ComparedCase) bool { return k.Name == m.Case }))]
		s := shownScale(k, unitOf(c, m.Metric), m.Floor)
		text := fmt.Sprintf("%d of %s saw a difference that is not there (95 %%: %.0f to %.0f %%; stated: 5 %%); nothing below %s is claimed; another comparison of the arm with itself is above that in %.0f %%",
			m.Seen, result.Plural(m.Tested, "comparison"), 100*m.Rate.Low, 100*m.Rate.High, s.value(m.Floor), 100*m.FloorChance)
		if m.TooMany {
			text += ". THESE ARE MORE THAN CHANCE GIVES: no p of this metric means what it says here"
		}
		wrap(b, "  "+inBrackets(m.Metric, m.Case)+": ", text)
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
