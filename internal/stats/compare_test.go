package stats

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// same is n times x.
func same(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

// one compares one metric of one boot.
func one(t *testing.T, base, other []float64, minimum, noise float64) Comparison {
	t.Helper()
	cs, err := Compare([]Metric{{Name: "m", Base: asRuns(base), Other: asRuns(other), Noise: noise}}, minimum)
	if err != nil {
		t.Fatal(err)
	}
	return cs[0]
}

func TestVerdicts(t *testing.T) {
	base := []float64{100.2, 99.9, 100.1, 99.8, 100, 100.1, 99.9, 100}
	plus := func(d float64) []float64 {
		out := slices.Clone(base)
		for i := range out {
			out[i] += d
		}
		return out
	}
	noisy := []float64{90, 111, 95, 104, 100, 108, 94, 101}
	for _, c := range []struct {
		name           string
		base, other    []float64
		minimum, noise float64
		want           Verdict
		why            Why
	}{
		{"higher", base, plus(3), 1, 0, Higher, ""},
		{"lower", base, plus(-3), 1, 0, Lower, ""},
		{"real, and too small to matter", base, plus(0.4), 1, 0, NoDifference, ""},
		{"every difference matters", base, plus(0.4), 0, 0, Higher, ""},
		{"equal", base, plus(0), 1, 0, NoDifference, ""},
		{"real, and perhaps too small to matter", base, plus(1.05), 1, 0, CannotTell, WhySmall},
		{"noise hides it", base, noisy, 1, 0, CannotTell, WhyNotSeen},
		{"nothing is equal where every difference matters", base, plus(0.01), 0, 0, CannotTell, WhyNotSeen},
		{"below the noise of the machine", base, plus(3), 1, 3.5, CannotTell, WhyBelowNoise},
		{"above the noise of the machine", base, plus(3), 1, 2.5, Higher, ""},
		{"equal, with more noise than what matters", base, plus(0), 1, 1.5, CannotTell, WhyBelowNoise},
		{"negative base, higher", plus(-200), plus(-197), 1, 0, Higher, ""},
		{"negative base, equal", plus(-200), plus(-200), 1, 0, NoDifference, ""},

		{"0 drops ten times against 500 drops ten times", same(10, 0), same(10, 500), 1, 0, Higher, ""},
		{"and back", same(10, 500), same(10, 0), 1, 0, Lower, ""},
		{"0 drops against some", same(8, 0), noisy, 1, 0, Higher, ""},
		{"some against 0 drops", noisy, same(8, 0), 1, 0, Lower, ""},
		{"no drop at all", same(5, 0), same(5, 0), 1, 0, NoDifference, ""},
		{"no drop, and too few runs", same(2, 0), same(3, 0), 1, 0, CannotTell, WhyTooFew},
		{"two against two that do not vary", same(2, 0), same(2, 500), 1, 0, CannotTell, WhyNotSeen},
		{"constant, real and too small to matter", same(10, 1000), same(10, 1001), 1, 0, NoDifference, ""},
		{"base is 0 on average only", []float64{-1, 1, -2, 2, -0.5, 0.5}, []float64{9, 11, 10, 12, 8, 9}, 1, 0, Higher, ""},

		{"both are 0 on average only", []float64{-1, 1, -2, 2}, []float64{-1, 1, -3, 3}, 1, 0, CannotTell, WhyNotSeen},

		{"one run", []float64{5}, []float64{6}, 1, 0, CannotTell, WhyOneUnit},
		{"one run against many", []float64{5}, noisy, 1, 0, CannotTell, WhyOneUnit},
	} {
		got := one(t, c.base, c.other, c.minimum, c.noise)
		if got.Verdict != c.want || got.Why != c.why {
			t.Errorf("%s: %s (%s), want %s (%s); %+v", c.name, got.Verdict, got.Why, c.want, c.why, got.Percent)
		}
	}
}

func TestConstantSamplesAreExact(t *testing.T) {
	c := one(t, same(10, 0), same(10, 500), 1, 0)
	near(t, "p", c.P.Value, 2.0/184756, 1e-12)
	near(t, "p of Mann and Whitney", c.Rank.P, 2.0/184756, 1e-12)
	if c.Welch != nil || c.Rank.Method != Exact {
		t.Errorf("Welch %v, rank %v", c.Welch, c.Rank)
	}
	if c.Percent != nil {
		t.Errorf("a percentage of 0: %+v", c.Percent)
	}
	if d := cmp.Diff(Difference{Value: 500, Interval: &Interval{500, 500}}, c.Difference); d != "" {
		t.Error(d)
	}
	large := RankSum(same(3000, 1), same(3000, 2))
	if large.Method != Exact || large.P != 0 {
		t.Errorf("6000 values in two groups: %+v", large)
	}
	if got := RankSum(same(3000, 1), same(3000, 1)); got.Method != Exact || got.P != 1 {
		t.Errorf("6000 equal values: %+v", got)
	}
}

func TestOneRunHasNoP(t *testing.T) {
	c := one(t, []float64{5}, []float64{6}, 1, 0)
	if c.P != nil || c.PMinimum != nil || c.Welch != nil || c.Rank != nil {
		t.Errorf("one run has a p: %+v", c)
	}
	if d := cmp.Diff(&Percent{Value: 20}, c.Percent, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Error(d)
	}
	if c.Base.Interval != nil || c.Difference.Interval != nil || c.Difference.Value != 1 {
		t.Errorf("%+v", c)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
}

// The interval, the test and the verdict are one thing: they agree at their edges.
func TestIntervalAndTestAgree(t *testing.T) {
	base := []float64{10.1, 9.7, 10.4, 9.9, 10.2, 9.8}
	for _, sign := range []float64{1, -1} {
		for d := -1.2; d < 1.2; d += 0.01 {
			var b, o []float64
			for i, x := range base {
				b = append(b, sign*x)
				o = append(o, sign*x+d+0.3*float64(i%3))
			}
			p, welch := PercentOf(b, o), Welch(b, o)
			if holds(p.Interval, 0) == (welch.P < Alpha) {
				t.Errorf("sign %v, d %v: the percentage %v, the p %v", sign, d, p.Interval, welch.P)
			}
			if holds(DifferenceOf(b, o).Interval, 0) == (welch.P < Alpha) {
				t.Errorf("sign %v, d %v: the difference and the p %v", sign, d, welch.P)
			}
			beyond, _ := differsBy(b, o, 1)
			if out := p.Interval.Low > 1 || p.Interval.High < -1; out != (beyond < Alpha) {
				t.Errorf("sign %v, d %v: the percentage %v, the p of more than 1 %% %v", sign, d, p.Interval, beyond)
			}
		}
	}
}

func TestNoPercentage(t *testing.T) {
	for name, base := range map[string][]float64{
		"0":                      same(5, 0),
		"its interval reaches 0": {-1, 3, 0.5, 2, 0.1},
		"0 on average":           {-1, 1},
	} {
		if p := PercentOf(base, []float64{5, 6, 7}); p != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := PercentOf([]float64{0, 0, 0, 0, 0, 100}, same(6, 0)); p != nil {
		t.Errorf("0 throughout, against what can't be told from it: %+v", p)
	}
	// Just not reaching 0 has a far limit, and an end.
	if p := PercentOf([]float64{0.2, 2.2, 1.1, 2.8, 0.6}, []float64{5, 6, 7}); p == nil || p.Interval.High < 1000 || math.IsInf(p.Interval.High, 0) {
		t.Errorf("%+v", p)
	}
}

// All ways to deal the values, by brute force.
func TestExactRankSumCountsAllWays(t *testing.T) {
	for _, c := range [][2][]float64{
		{{1, 1, 1, 2}, {1, 2, 2, 5, 5}},
		{{3, 3}, {1, 3, 3, 3, 3, 4}},
		{{0, 0, 0, 0}, {0, 3, 3, 3}},
		{{0, 3, 3, 3, 3}, {3, 3}},
		{{1, 2, 3, 4}, {5, 6, 7}},
		{{0, 0, 0, 1, 9, 9}, {0, 1, 1, 1, 9}},
	} {
		all := append(slices.Clone(c[0]), c[1]...)
		ranks, _ := doubledRanks(all)
		sum := func(chosen uint) (s int) {
			for i, r := range ranks {
				if chosen>>i&1 == 1 {
					s += r
				}
			}
			return s
		}
		seen := sum(1<<len(c[0]) - 1)
		var ways, below, above float64
		for chosen := range uint(1) << len(all) {
			size := 0
			for i := range all {
				size += int(chosen >> i & 1)
			}
			if size != len(c[0]) {
				continue
			}
			ways++
			if sum(chosen) <= seen {
				below++
			}
			if sum(chosen) >= seen {
				above++
			}
		}
		near(t, "p", RankSum(c[0], c[1]).P, min(1, 2*min(below, above)/ways), 1e-12)
		near(t, "p of the samples swapped", RankSum(c[1], c[0]).P, min(1, 2*min(below, above)/ways), 1e-12)
	}
}

func TestSmallestP(t *testing.T) {
	for _, c := range []struct {
		n1, n2 int
		want   float64
	}{{10, 10, 2.0 / 184756}, {3, 3, 0.1}, {2, 3, 0.2}, {3, 2, 0.2}, {1, 1, 1}, {4, 4, 2.0 / 70}} {
		near(t, "SmallestP", SmallestP(c.n1, c.n2), c.want, 1e-12)
	}
	if got := RunsFor(Alpha); got != 4 {
		t.Errorf("RunsFor(0.05) = %d, want 4", got)
	}
	if got := RunsFor(Alpha / 10); got != 6 {
		t.Errorf("RunsFor(0.005) = %d, want 6", got)
	}
}

// A p that convinces alone does not among ten: the correction is over the call, and only over what has a p.
func TestOneCallIsOneFamily(t *testing.T) {
	base := []float64{100.2, 99.9, 100.1, 99.8, 100, 100.1, 99.9, 100}
	other := []float64{101.6, 101.1, 101.8, 101, 101.4, 101.2, 101.3, 101.1}
	real := Metric{Name: "real", Base: asRuns(base), Other: asRuns(other)}
	none := Metric{Name: "none", Base: asRuns(base), Other: asRuns(base)}
	alone, err := Compare([]Metric{real, {Name: "no p", Base: asRuns(base[:1]), Other: asRuns(base)}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if alone[0].Verdict != Higher || alone[0].PMinimum.Holm != alone[0].PMinimum.Value || alone[1].Why != WhyOneUnit {
		t.Errorf("alone: %+v %+v", alone[0].PMinimum, alone[1])
	}
	many := append(slices.Repeat([]Metric{none}, 9), real)
	cs, err := Compare(many, 1)
	if err != nil {
		t.Fatal(err)
	}
	last := cs[9]
	near(t, "corrected p", last.PMinimum.Holm, 10*alone[0].PMinimum.Value, 1e-9)
	near(t, "corrected p of equal means", last.P.Holm, 10*alone[0].P.Value, 1e-9)
	if last.Verdict != CannotTell || last.Why != WhySmall || last.Name != "real" {
		t.Errorf("%s: %s (%s), p %v of %v", last.Name, last.Verdict, last.Why, last.PMinimum.Holm, last.PMinimum.Value)
	}
}

func TestUnits(t *testing.T) {
	a := []Run{{Value: 1, Boot: 1}, {Value: 3, Boot: 1}, {Value: 5, Boot: 2}, {Value: 6, Boot: 3}, {Value: 7, Boot: 3}, {Value: 8, Boot: 3}}
	b := []Run{{Value: 5, Boot: 4}, {Value: 9, Boot: 5}, {Value: 9, Boot: 5}}
	cs, err := Compare([]Metric{{Name: "m", Base: a, Other: b}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := cs[0]
	if c.Unit != Boots || c.Base.N != 3 || c.Base.Runs != 6 || c.Base.Boots != 3 || c.Other.N != 2 || c.Other.Runs != 3 {
		t.Errorf("%+v", c)
	}
	near(t, "mean of the boots", c.Base.Mean, (2+5+7)/3.0, 1e-12)
	near(t, "mean of the boots", c.Other.Mean, 7, 1e-12)

	for name, arms := range map[string]struct {
		b, o []Run
		unit Unit
		n    int
	}{
		"one boot for both":       {[]Run{{Boot: 7}, {Boot: 7}}, []Run{{Boot: 7}}, Runs, 2},
		"one boot each":           {[]Run{{Boot: 0}, {Boot: 0}}, []Run{{Boot: 1}, {Boot: 1}}, Boots, 1},
		"the same boots for both": {[]Run{{Boot: 0}, {Boot: 1}}, []Run{{Boot: 0}, {Boot: 1}}, Boots, 2},
	} {
		b, _, unit := unitsOf(arms.b, arms.o)
		if unit != arms.unit || len(b) != arms.n {
			t.Errorf("%s: %d %s", name, len(b), unit)
		}
	}
}

func TestBadInput(t *testing.T) {
	good := asRuns([]float64{1, 2})
	for _, c := range []struct {
		m       Metric
		minimum float64
		want    string
	}{
		{Metric{Name: "goodput", Base: nil, Other: good}, 1, "goodput: the first arm has no run"},
		{Metric{Name: "goodput", Base: good, Other: nil}, 1, "goodput: the second arm has no run"},
		{Metric{Name: "goodput", Base: good, Other: asRuns([]float64{1, math.NaN()})}, 1, "goodput: run 2 of the second arm is NaN"},
		{Metric{Name: "goodput", Base: asRuns([]float64{math.Inf(1)}), Other: good}, 1, "goodput: run 1 of the first arm is +Inf"},
		{Metric{Name: "goodput", Base: good, Other: good}, -1, "minimum effect -1 % is below 0"},
		{Metric{Name: "goodput", Base: good, Other: good}, math.NaN(), "minimum effect NaN %"},
	} {
		if _, err := Compare([]Metric{c.m}, c.minimum); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, want %q", err, c.want)
		}
	}
	if cs, err := Compare(nil, 1); err != nil || len(cs) != 0 {
		t.Errorf("no metric: %v, %v", cs, err)
	}
	if got := Summarize(nil); got != (Summary{}) {
		t.Errorf("Summarize of none: %+v", got)
	}
}
