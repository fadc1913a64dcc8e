package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Side is a sample of a comparison; empty: both.
type Side string

// The sides.
const (
	Base  Side = "base"
	Other Side = "other"
)

// Warning is something about the data that its reader should know. No warning changes a verdict.
type Warning struct {
	Code string
	Of   Side
	Text string // a sentence without the name of the side
}

// The codes of warnings.
const (
	WarnTooFew         = "too-few-runs"    // an exact test can't reach Alpha with so few: p rests on the normal distribution
	WarnConstant       = "constant"        // no value of a side varies: its interval has no width
	WarnNotInterleaved = "not-interleaved" // one side was measured as a whole before the other: a drift would be a difference
	WarnDrift          = "drift"           // values change over time
	WarnOutliers       = "outliers"        // see Outliers
	WarnBimodal        = "bimodal"         // see Bimodal
)

// warnRate is about the chance of each warning about drift, outliers and modes where there is nothing, for normal data.
const warnRate = 0.01

// warnings are those of one comparison, of tests metrics that have a p.
func (m Metric) warnings(c Comparison, tests int) (ws []Warning) {
	b, o, _ := unitsOf(m.Base, m.Other)
	ws = append(ws, c.tooFew(tests)...)
	ws = append(ws, m.order(b, o, c.Unit)...)
	for _, side := range []struct {
		of     Side
		sample Sample
		runs   []Run
		units  []point
	}{{Base, c.Base, m.Base, b}, {Other, c.Other, m.Other, o}} {
		if side.sample.Constant() {
			ws = append(ws, Warning{WarnConstant, side.of, fmt.Sprintf("all %d %s have the same value %.6g: its interval has no width", side.sample.N, c.Unit, side.sample.Mean)})
			continue
		}
		ws = append(ws, shape(side.of, values(side.units), side.sample.Mean, string(c.Unit))...)
		if c.Unit == Boots {
			ws = append(ws, shape(side.of, withinBoots(points(side.runs)), side.sample.Mean, "runs, less the means of their boots,")...)
		}
	}
	return ws
}

func (c Comparison) tooFew(tests int) []Warning {
	if c.P == nil {
		return nil
	}
	need, least := Alpha/float64(tests), SmallestP(c.Base.N, c.Other.N)
	if least < need {
		return nil
	}
	return []Warning{{Code: WarnTooFew, Text: fmt.Sprintf(
		"%d and %d %s: an exact test can't get below p = %.2g, so a smaller p rests on the values being normal: take %d or more of each",
		c.Base.N, c.Other.N, c.Unit, least, RunsFor(need))}}
}

// order are the warnings about when the runs were made: none where all places are 0.
func (m Metric) order(base, other []point, unit Unit) (ws []Warning) {
	b, o := points(m.Base), points(m.Other)
	if apart(base, other) {
		ws = append(ws, Warning{Code: WarnNotInterleaved, Text: fmt.Sprintf("all %s of one arm were made before those of the other: a drift of the machine can't be told from a difference", unit)})
	}
	mean := momentOf(values(append(slices.Clone(b), o...))).mean
	ws = append(ws, drifts(trend(append(byBoot(b), byBoot(o)...)), mean, Runs)...)
	if unit == Boots {
		ws = append(ws, drifts(trend([][]point{base, other}), mean, Boots)...)
	}
	return ws
}

func drifts(t *Trend, mean float64, unit Unit) []Warning {
	if t == nil || t.P >= warnRate {
		return nil
	}
	return []Warning{{Code: WarnDrift, Text: fmt.Sprintf("the %s change by %s of their mean from the first to the last (slope, p = %.2g)", unit, relative(t.Change, mean), t.P)}}
}

// relative is a difference as it is read in any unit: in percent of a level, where that is not 0.
func relative(difference, level float64) string {
	if level == 0 {
		return fmt.Sprintf("%+.3g", difference)
	}
	return fmt.Sprintf("%+.3g %%", 100*difference/math.Abs(level))
}

// shape are the warnings about how values lie, whatever their order. Differences are told in percent of level.
func shape(of Side, xs []float64, level float64, what string) (ws []Warning) {
	if out := Outliers(xs); out != nil {
		ws = append(ws, Warning{WarnOutliers, of, fmt.Sprintf("%d of %d %s lie far from the others: %s from the median", len(out), len(xs), what, list(out, Median(xs), level))})
	}
	if m := Bimodal(xs); m != nil {
		mean := momentOf(xs).mean
		ws = append(ws, Warning{WarnBimodal, of, fmt.Sprintf("%d %s fall in two groups, %d around %s and %d around %s from the mean: the mean is neither",
			len(xs), what, m.LowN, relative(m.Low-mean, level), m.HighN, relative(m.High-mean, level))})
	}
	return ws
}

// withinBoots are the values less the means of their boots.
func withinBoots(ps []point) (vs []float64) {
	for _, runs := range byBoot(ps) {
		mean := momentOf(values(runs)).mean
		for _, r := range runs {
			vs = append(vs, r.value-mean)
		}
	}
	return vs
}

func list(xs []float64, from, level float64) string {
	words := make([]string, len(xs))
	for i, x := range xs {
		words[i] = relative(x-from, level)
	}
	return strings.Join(words, ", ")
}
