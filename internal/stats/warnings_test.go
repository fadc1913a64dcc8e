package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// alternating are runs in the order base, other, other, base and so on; the second arm's values come second.
func alternating(base, other []float64) (b, o []Run) {
	for i := range base {
		first, second := 2*i+1, 2*i+2
		if i%2 == 1 {
			first, second = second, first
		}
		b = append(b, Run{Value: base[i], At: first})
		o = append(o, Run{Value: other[i], At: second})
	}
	return b, o
}

func TestWarnings(t *testing.T) {
	plain := []float64{10.1, 9.8, 10.2, 9.9, 10, 10.05, 9.95, 10.3, 9.7, 10}
	with := func(change func(i int, x float64) float64) []float64 {
		out := slices.Clone(plain)
		for i := range out {
			out[i] = change(i, out[i])
		}
		return out
	}
	rising := with(func(i int, x float64) float64 { return x + 0.3*float64(i) })
	outlier := with(func(i int, x float64) float64 {
		if i == 3 {
			return 15
		}
		return x
	})
	modes := with(func(i int, x float64) float64 { return x + 10*math.Mod(float64(i*i), 2) })
	for _, c := range []struct {
		name        string
		base, other []float64
		want        []string // code and side
	}{
		{"nothing", plain, plain, nil},
		{"three and three", plain[:3], plain[:3], []string{"too-few-runs "}},
		{"four and four", plain[:4], plain[:4], nil},
		{"constant", same(10, 5), plain, []string{"constant base"}},
		{"drift", rising, rising, []string{"drift "}},
		{"outlier", plain, outlier, []string{"outliers other"}},
		{"two modes", modes, plain, []string{"bimodal base"}},
	} {
		b, o := alternating(c.base, c.other)
		cs, err := Compare([]Metric{{Name: c.name, Base: b, Other: o}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, codes(cs[0].Warnings)); d != "" {
			t.Errorf("%s: - want, + got:\n%s%v", c.name, d, cs[0].Warnings)
		}
	}
}

func codes(ws []Warning) (out []string) {
	for _, w := range ws {
		out = append(out, w.Code+" "+string(w.Of))
	}
	return out
}

// The texts are sentences' ends that a reader understands without the code.
func TestWarningTexts(t *testing.T) {
	b := []Run{{10, 1, 1}, {10, 1, 2}, {10, 2, 3}, {10, 2, 4}}
	o := []Run{{10.1, 3, 5}, {10.2, 3, 6}, {10.1, 4, 7}, {10.4, 4, 8}}
	cs, err := Compare([]Metric{{Name: "m", Base: b, Other: o}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []Warning{
		{WarnTooFew, "", "2 and 2 boots: an exact test can't get below p = 0.33, so a smaller p rests on the values being normal: take 4 or more of each"},
		{WarnNotInterleaved, "", "all boots of one arm were made before those of the other: a drift of the machine can't be told from a difference"},
		{WarnConstant, Base, "all 2 boots have the same value 10: its interval has no width"},
	}
	if d := cmp.Diff(want, cs[0].Warnings); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		ws   []Warning
		want string
	}{
		{shape(Other, []float64{5, 5.1, 4.9, 5, 5.05, 4.95, 5, 9.25}, 5, "runs"), "1 of 8 runs lie far from the others: +85 % from the median"},
		{shape(Other, []float64{5, 5.1, 4.9, 5, 8, 8.1, 7.9, 8}, 6.5, "runs"), "8 runs fall in two groups, 4 around -23.1 % and 4 around +23.1 % from the mean: the mean is neither"},
		{drifts(&Trend{Change: -0.31, P: 0.002}, 5, Runs), "the runs change by -6.2 % of their mean from the first to the last (slope, p = 0.002)"},
	} {
		if len(c.ws) != 1 || c.ws[0].Text != c.want {
			t.Errorf("%v, want %q", c.ws, c.want)
		}
	}
}

// The order of stored results is not known: nothing is said about it.
func TestUnknownOrder(t *testing.T) {
	rising := asRuns([]float64{1, 2, 3, 4, 5, 6, 7, 8})
	cs, err := Compare([]Metric{{Name: "m", Base: rising, Other: rising}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(cs[0].Warnings) > 0 {
		t.Errorf("%v", cs[0].Warnings)
	}
}

// Boots that differ are no outlier and no mode of their runs; a run that differs from the others of its boot is.
func TestShapeWithinBoots(t *testing.T) {
	noise := []float64{0.1, -0.1, 0.05, 0, -0.05, 0.02}
	var b, o []Run
	for boot, level := range []float64{100, 101, 150, 151} {
		for _, x := range noise {
			b = append(b, Run{Value: level + x, Boot: boot})
			o = append(o, Run{Value: level + x, Boot: 10 + boot})
		}
	}
	o[7].Value += 3
	cs, err := Compare([]Metric{{Name: "m", Base: b, Other: o}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"outliers other"}, codes(cs[0].Warnings)); d != "" {
		t.Errorf("- want, + got:\n%s%v", d, cs[0].Warnings)
	}
}

func TestBimodalGroups(t *testing.T) {
	got := Bimodal([]float64{8, 5, 5.1, 8.1, 4.9, 5, 7.9, 5})
	want := &Modes{LowN: 5, HighN: 3, Low: 5, High: 8}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Error(d)
	}
	for name, xs := range map[string][]float64{
		"few":     {5, 5.1, 4.9, 8, 8.1, 7.9, 8},
		"one off": {5, 5.1, 4.9, 5, 5, 5.1, 4.9, 8},
		"one low": {8, 8.1, 7.9, 8, 8, 8.1, 7.9, 5},
		"equal":   same(9, 3),
		"3 of 20": append(same(3, 8), 5, 5.1, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5),
	} {
		if m := Bimodal(xs); m != nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// A drift from boot to boot is one, too. Boots with levels of their own, without a direction, are none, and their levels are
// no drift of the runs.
func TestDriftOverBoots(t *testing.T) {
	noise := []float64{0.1, -0.1, 0.05, -0.05}
	for _, c := range []struct {
		name   string
		levels []float64 // of the boots, which belong to base and other by turns
		want   []string
	}{
		{"rising", []float64{10, 11, 12, 13, 14, 15, 16.1, 17}, []string{"drift "}},
		{"up and down", []float64{10, 11, 17, 18, 10, 12, 17, 18}, nil},
	} {
		var arms [2][]Run
		for boot, level := range c.levels {
			for i, x := range noise {
				arms[boot%2] = append(arms[boot%2], Run{Value: level + x, Boot: boot, At: boot*len(noise) + i + 1})
			}
		}
		cs, err := Compare([]Metric{{Name: c.name, Base: arms[0], Other: arms[1]}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, codes(cs[0].Warnings)); d != "" {
			t.Errorf("%s: - want, + got:\n%s%v", c.name, d, cs[0].Warnings)
		}
	}
}

// Of too few values nothing is said about outliers and drift.
func TestTooFewToWarn(t *testing.T) {
	if out := Outliers([]float64{5, 5, 5, 5, 9}); out != nil {
		t.Errorf("outliers of five: %v", out)
	}
	if tr := trend([][]point{{{value: 1, at: 1}, {value: 4, at: 4}}, {{value: 2, at: 2}, {value: 3, at: 3}, {value: 5, at: 5}}}); tr != nil {
		t.Errorf("a trend of five values in two groups: %+v", tr)
	}
}

// What an exact test has to reach is Alpha divided by the number of metrics: five and five are enough for one, not for
// ten. A metric without p does not count.
func TestTooFewForManyMetrics(t *testing.T) {
	m := Metric{Name: "m", Base: asRuns([]float64{1, 2, 3, 4, 5}), Other: asRuns([]float64{2, 1, 4, 3, 5.5})}
	oneRun := Metric{Name: "one", Base: asRuns([]float64{1}), Other: m.Other}
	for _, c := range []struct {
		ms   []Metric
		want []string
	}{
		{slices.Repeat([]Metric{m}, 10), []string{"too-few-runs "}},
		{append([]Metric{m}, slices.Repeat([]Metric{oneRun}, 9)...), nil},
	} {
		cs, err := Compare(c.ms, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, codes(cs[0].Warnings)); d != "" {
			t.Error(d)
		}
	}
}

func TestApart(t *testing.T) {
	early, late := []point{{at: 1}, {at: 3}}, []point{{at: 4}, {at: 5}}
	if !apart(early, late) || !apart(late, early) || apart(early, []point{{at: 2}, {at: 4}}) || apart(early, late[:1]) {
		t.Error("apart does not tell which arms were interleaved")
	}
}

func TestCalibrate(t *testing.T) {
	var cs []Comparison
	for i := range 20 {
		c := Comparison{Difference: Difference{Value: float64(i) - 25}, P: &P{Value: 0.5}, Verdict: CannotTell}
		if i < 3 {
			c.P.Value = 0.04
		}
		if i == 0 {
			c.Verdict = Lower
		}
		cs = append(cs, c)
	}
	got := Calibrate(cs)
	// binom.test(3, 20)$conf.int in R
	want := Calibration{Comparisons: 20, Tested: 20, Seen: 3, Rate: Interval{0.03207094, 0.37892683}, Claimed: 1, Floor: 25, FloorChance: 1.0 / 21}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-6, 0)); d != "" {
		t.Error(d)
	}
	if got.MoreThanStated() {
		t.Error("3 of 20 is within chance")
	}
	for i := range 6 {
		cs[i].P.Value = 0.01
	}
	if !Calibrate(cs).MoreThanStated() {
		t.Error("6 of 20 is more than 5 % by chance")
	}
	cs[7].P = nil
	if got := Calibrate(cs); got.Tested != 19 || got.Comparisons != 20 {
		t.Errorf("%+v", got)
	}
	if got := Calibrate(nil); got.Rate != (Interval{0, 1}) || got.FloorChance != 1 || got.MoreThanStated() {
		t.Errorf("of none: %+v", got)
	}
	// Of 39 the second largest is enough: one further is above it with a chance of 2 in 40.
	cs = nil
	for i := range 39 {
		cs = append(cs, Comparison{Difference: Difference{Value: float64(i + 1)}})
	}
	if got := Calibrate(cs); got.Floor != 38 || math.Abs(got.FloorChance-0.05) > 1e-12 {
		t.Errorf("of 39: %+v", got)
	}
}
