package stats

import (
	"fmt"
	"math"
)

// Metric is what was measured of two samples. Noise is the Floor of a Calibration of this metric, in its unit; 0 where
// none was made.
type Metric struct {
	Name        string
	Base, Other []Run
	Noise       float64
}

// P is the probability of a difference at least as large as the one seen where there is none.
type P struct {
	Value float64
	Holm  float64 // corrected for all metrics of the call
}

// Comparison is what can be said about one metric of two samples. All differences are other's less base's.
type Comparison struct {
	Name        string
	Unit        Unit
	Base, Other Sample
	Difference  Difference
	Percent     *Percent  // nil: no percentage can be said, see PercentOf
	Welch       *TTest    // nil: a side has one unit, or neither varies
	Rank        *RankTest // beside it; nil: a side has one unit
	P           *P        // of equal means: Welch's, or RankSum's where neither side varies; nil: a side has one unit
	PMinimum    *P        // of a difference within the minimum effect: what Higher and Lower rest on; nil with P
	Verdict     Verdict
	Why         Why // of CannotTell; else empty
	Warnings    []Warning
}

// Compare compares two samples in every metric. minimum is the smallest difference that matters, in percent of base's
// mean; 0: every difference matters. All that is decided together belongs into one call, several arms against
// the first too, as Holm's correction is over the call.
//
// The runs of the samples should be interleaved (ABBA, or in random order): then a drift of the machine is in both means
// alike. Their neighbourhood in time is not used beyond that (no pairs): a drift makes the interval wider than need
// be, never the difference wrong, a lost run needs no partner, and no degree of freedom is spent where nothing drifts.
//
// An error names a metric without runs, or a value that is not a number.
func Compare(metrics []Metric, minimum float64) ([]Comparison, error) {
	if math.IsNaN(minimum) || minimum < 0 {
		return nil, fmt.Errorf("the minimum effect %v %% is below 0: give 0 or more", minimum)
	}
	cs := make([]Comparison, len(metrics))
	for i, m := range metrics {
		if err := m.check(); err != nil {
			return nil, err
		}
		cs[i] = m.compare(minimum)
	}
	correct(cs, func(c *Comparison) *P { return c.P })
	correct(cs, func(c *Comparison) *P { return c.PMinimum })
	for i, m := range metrics {
		cs[i].decide(minimum, m.Noise)
		cs[i].Warnings = m.warnings(cs[i], tested(cs))
	}
	return cs, nil
}

func (m Metric) check() error {
	for _, side := range []struct {
		name string
		runs []Run
	}{{"first", m.Base}, {"second", m.Other}} {
		if len(side.runs) == 0 {
			return fmt.Errorf("%s: the %s arm has no run: nothing to compare", m.Name, side.name)
		}
		for i, r := range side.runs {
			if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
				return fmt.Errorf("%s: run %d of the %s arm is %v, not a number", m.Name, i+1, side.name, r.Value)
			}
		}
	}
	return nil
}

// compare is all of a Comparison that rests on this metric alone.
func (m Metric) compare(minimum float64) Comparison {
	b, o, unit := unitsOf(m.Base, m.Other)
	base, other := values(b), values(o)
	c := Comparison{
		Name: m.Name, Unit: unit,
		Base:       sampleOf(m.Base, base),
		Other:      sampleOf(m.Other, other),
		Difference: DifferenceOf(base, other),
		Percent:    PercentOf(base, other),
		Welch:      Welch(base, other),
		Rank:       RankSum(base, other),
	}
	if p, ok := differsBy(base, other, 0); ok {
		c.P = &P{Value: p}
		p, _ := differsBy(base, other, minimum)
		c.PMinimum = &P{Value: p}
	}
	return c
}

// Describe sums up the runs of one sample, and says what its N counts.
func Describe(runs []Run) (Sample, Unit) {
	units, _, unit := unitsOf(runs, nil)
	return sampleOf(runs, values(units)), unit
}

func sampleOf(runs []Run, units []float64) Sample {
	return Sample{Summary: Summarize(units), Runs: len(runs), Boots: len(byBoot(points(runs)))}
}

// correct fills in Holm of the p that of names, where there are.
func correct(cs []Comparison, of func(*Comparison) *P) {
	var ps []*P
	var raw []float64
	for i := range cs {
		if p := of(&cs[i]); p != nil {
			ps, raw = append(ps, p), append(raw, p.Value)
		}
	}
	for i, h := range Holm(raw) {
		ps[i].Holm = h
	}
}

// tested is the number of comparisons that have a p.
func tested(cs []Comparison) (n int) {
	for _, c := range cs {
		if c.P != nil {
			n++
		}
	}
	return n
}
