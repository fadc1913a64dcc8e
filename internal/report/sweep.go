package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Sweep is a sweep for people: a table of all points, a curve for each metric, and where drops begin beside where the preflight sum says
// so.
func Sweep(s result.Sweep) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			wrap(&b, fmt.Sprintf("%-*s", labels, label), text)
		}
	}
	line("scenario", s.Scenario.Name+": "+s.Scenario.Summary)
	line("set", strings.Join(s.Set, ", "))
	for i, p := range s.Over {
		line([]string{"over", ""}[min(i, 1)], p.Path+": "+strings.Join(p.Values, ", "))
	}
	line("order", strings.ReplaceAll(strings.ReplaceAll(orderText(s.Order), "an arm", "a point"), "in all arms", "in all points"))
	line("measured", measuredText(s.Testbed, s.Host, s.Guest))
	b.WriteByte('\n')
	sweepTable(&b, s)
	for _, name := range s.Metrics {
		sweepCurve(&b, s, name)
	}
	crossingText(&b, s)
	sweepWarnings(&b, s)
	return b.String()
}

// measuredText is where something was measured; empty where nothing came up.
func measuredText(testbed string, host *result.Host, guest *result.Guest) string {
	if host == nil {
		return ""
	}
	text := testbed + ": " + machineText(*host, guest)
	if guest == nil {
		return text + ", Linux " + host.Kernel
	}
	return text + "; the guest's is Linux " + guest.Kernel
}

// sweepScale is the scale of a metric over all points.
func sweepScale(s result.Sweep, name string) scale {
	m, _ := scenarios.FindMetric(name)
	means := []float64{0}
	for _, p := range s.Points {
		if f, ok := p.Figures[name]; ok {
			means = append(means, f.Mean)
		}
	}
	return shownScale(result.ComparedCase{Workload: s.Scenario.Workload, Tool: s.Scenario.Load.Tool}, m.Unit, means...)
}

// sweepTable has one line a point: of each metric the mean, and how far runs lie from it at most, in percent of it.
func sweepTable(b *strings.Builder, s result.Sweep) {
	var head, under []string
	for _, p := range s.Over {
		head, under = append(head, lastPart(p.Path)), append(under, "")
	}
	for _, name := range s.Metrics {
		head, under = append(head, name, "±"), append(under, sweepScale(s, name).unit, "%")
	}
	summed := slices.ContainsFunc(s.Points, func(p result.SweepPoint) bool { return p.Preflight != nil })
	if summed {
		head, under = append(head, "preflight", "room", ""), append(under, "packets", "packets", "")
	}
	lines := [][]string{head, under}
	for _, p := range s.Points {
		line := slices.Clone(p.Values)
		for _, name := range s.Metrics {
			line = append(line, figureCells(p, name, sweepScale(s, name))...)
		}
		if summed {
			line = append(line, sumCells(p.Preflight)...)
		}
		lines = append(lines, line)
	}
	align(b, lines)
}

// lastPart is the last name of a path.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func figureCells(p result.SweepPoint, name string, sc scale) []string {
	f, ok := p.Figures[name]
	switch {
	case !ok:
		return []string{absent, absent}
	case f.N < 2 || f.Mean == 0:
		return []string{sc.figure(f.Mean), ""}
	}
	return []string{sc.figure(f.Mean), percentage(100 * max(f.Max-f.Mean, f.Mean-f.Min) / math.Abs(f.Mean))}
}

func sumCells(pf *result.Preflight) []string {
	if pf == nil {
		return []string{absent, absent, ""}
	}
	note := "fits"
	switch {
	case pf.Exceeds:
		note = "exceeds"
	case pf.Tight:
		note = "tight"
	}
	return []string{fmt.Sprint(pf.Sum), fmt.Sprint(pf.Room()), note}
}

// barWidth is the longest bar of a curve, in columns.
const barWidth = 50

// sweepCurve draws a bar a point, from 0 to the largest mean. A second parameter makes blocks: one for each of its values.
func sweepCurve(b *strings.Builder, s result.Sweep, name string) {
	sc := sweepScale(s, name)
	most := 0.0
	wide := 0
	for _, p := range s.Points {
		most = max(most, p.Figures[name].Mean)
		wide = max(wide, len([]rune(p.Values[0])))
	}
	fmt.Fprintf(b, "\n%s over %s\n", inBrackets(name, sc.unit), s.Over[0].Path)
	seconds := []string{""}
	if len(s.Over) > 1 {
		seconds = s.Over[1].Values
	}
	for _, second := range seconds {
		if second != "" {
			fmt.Fprintf(b, "%s=%s\n", s.Over[1].Path, second)
		}
		for _, p := range s.Points {
			if second != "" && p.Values[1] != second {
				continue
			}
			f, ok := p.Figures[name]
			text := absent
			if ok {
				text = strings.TrimRight(bar(f.Mean, most)+" "+sc.figure(f.Mean), " ")
			}
			fmt.Fprintf(b, "  %*s │%s\n", wide, p.Values[0], text)
		}
	}
}

// eighths are the ends of bars, by how much of a column they fill.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar is v of most in eighths of columns. What is above 0 has one eighth at least.
func bar(v, most float64) string {
	if v <= 0 || most <= 0 {
		return ""
	}
	n := max(1, int(8*barWidth*v/most+0.5))
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// crossingText tells where drops begin beside where the sum says so.
func crossingText(b *strings.Builder, s result.Sweep) {
	if len(s.Crossings) == 0 {
		return
	}
	b.WriteByte('\n')
	wrap(b, "", fmt.Sprintf("where slaves drop, and where the preflight sum says so (sndbuf/truesize + 1 packets a sender, against txqueuelen and ring), by %s", s.Over[0].Path))
	lines := [][]string{{"", "measured", "predicted"}}
	for _, c := range s.Crossings {
		at := "all"
		if c.At != "" {
			at = s.Over[1].Path + "=" + c.At
		}
		predicted := crossed(c.Predicted)
		if c.Tight != "" && c.Tight != c.Predicted {
			predicted += fmt.Sprintf(" (tight from %s)", c.Tight)
		}
		lines = append(lines, []string{"  " + at, crossed(c.Measured), predicted})
	}
	align(b, lines)
}

func crossed(at string) string {
	if at == "" {
		return "nowhere"
	}
	return "from " + at
}

func sweepWarnings(b *strings.Builder, s result.Sweep) {
	b.WriteByte('\n')
	for _, w := range s.Warnings {
		wrap(b, "warning: ", w.Text)
	}
	for _, p := range s.Points {
		if p.Failed > 0 {
			wrap(b, "warning: ", fmt.Sprintf("%s: %s lost: %s", p.Name, areLost(p.Failed), p.Why))
		}
	}
}

func areLost(n int) string {
	if n == 1 {
		return "1 run is"
	}
	return fmt.Sprintf("%d runs are", n)
}
