package report

import (
	"fmt"
	"math"
	"strings"

	"bondrepro/reproducer/result"
)

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
