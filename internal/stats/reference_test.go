package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The references are what R (with coin) and scipy say about testdata/samples.json. The commands that made them are
// the first lines of testdata/reference.R and testdata/reference.py; the tests read the answers only.

type pairInput struct{ Base, Other []float64 }

type summaryRef struct {
	N                          int
	Mean, SD, Median, Min, Max float64
	Interval                   []float64
}

type pairRef struct {
	Base, Other *summaryRef
	Welch       *struct {
		T, DF, P float64
		Interval []float64
	}
	Percent *struct {
		Value    float64
		Interval []float64
	}
	Rank struct {
		U             float64
		Exact, Normal *float64
	}
	Minimum *float64
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func pairs(t *testing.T, name string) (in map[string]pairInput, want map[string]pairRef) {
	t.Helper()
	var samples struct{ Pairs map[string]pairInput }
	var reference struct{ Pairs map[string]pairRef }
	read(t, "samples.json", &samples)
	read(t, name, &reference)
	if len(samples.Pairs) < 20 || len(samples.Pairs) != len(reference.Pairs) {
		t.Fatalf("%d samples and %d references: run the scripts of testdata again", len(samples.Pairs), len(reference.Pairs))
	}
	return samples.Pairs, reference.Pairs
}

// near complains where got is not want to a relative error of tolerance.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s = %.15g, the reference says %.15g", what, got, want)
	}
}

// nearInterval takes the interval's own width into account: an end near 0 has no relative error to speak of.
func nearInterval(t *testing.T, what string, got *Interval, want []float64, tolerance float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is missing, the reference says %v", what, want)
		return
	}
	slack := tolerance * (math.Abs(want[0]) + math.Abs(want[1]))
	if !(math.Abs(got.Low-want[0]) <= slack && math.Abs(got.High-want[1]) <= slack) {
		t.Errorf("%s = %v, the reference says %v", what, *got, want)
	}
}

func TestSummariesAreAsInR(t *testing.T) {
	in, want := pairs(t, "reference-r.json")
	for name, s := range in {
		for side, c := range map[string]struct {
			xs   []float64
			want *summaryRef
		}{"base": {s.Base, want[name].Base}, "other": {s.Other, want[name].Other}} {
			got := Summarize(c.xs)
			ref := Summary{N: c.want.N, Mean: c.want.Mean, SD: c.want.SD, Median: c.want.Median, Min: c.want.Min, Max: c.want.Max}
			if d := cmp.Diff(ref, got, cmpopts.EquateApprox(1e-12, 0), cmpopts.IgnoreFields(Summary{}, "Interval")); d != "" {
				t.Errorf("%s, %s: - R, + we:\n%s", name, side, d)
			}
			nearInterval(t, name+", "+side+": interval", got.Interval, c.want.Interval, 1e-10)
		}
	}
}

func TestWelchIsAsInR(t *testing.T) {
	in, want := pairs(t, "reference-r.json")
	for name, s := range in {
		got, ref := Welch(s.Base, s.Other), want[name].Welch
		if (got == nil) != (ref == nil) {
			t.Errorf("%s: Welch = %v, R says %v", name, got, ref)
			continue
		}
		if ref == nil {
			continue
		}
		near(t, name+": t", got.T, ref.T, 1e-10)
		near(t, name+": df", got.DF, ref.DF, 1e-10)
		near(t, name+": p", got.P, ref.P, 1e-9)
		nearInterval(t, name+": difference", DifferenceOf(s.Base, s.Other).Interval, ref.Interval, 1e-9)
	}
}

func TestWelchIsAsInScipy(t *testing.T) {
	in, want := pairs(t, "reference-scipy.json")
	for name, s := range in {
		if ref := want[name].Welch; ref != nil {
			got := Welch(s.Base, s.Other)
			near(t, name+": t", got.T, ref.T, 1e-10)
			near(t, name+": p", got.P, ref.P, 1e-9)
		}
	}
}

func TestPercentIsAsInR(t *testing.T) {
	in, want := pairs(t, "reference-r.json")
	for name, s := range in {
		got, ref := PercentOf(s.Base, s.Other), want[name].Percent
		switch {
		case Welch(s.Base, s.Other) == nil: // R's t.test refuses constant samples
		case (got == nil) != (ref == nil):
			t.Errorf("%s: PercentOf = %v, R says %v", name, got, ref)
		case ref != nil:
			near(t, name+": percent", got.Value, ref.Value, 1e-9)
			nearInterval(t, name+": percent", got.Interval, ref.Interval, 1e-7)
		}
	}
}

func TestMinimumIsAsInR(t *testing.T) {
	in, want := pairs(t, "reference-r.json")
	for name, s := range in {
		if ref := want[name].Minimum; ref != nil {
			got, _ := differsBy(s.Base, s.Other, 1)
			near(t, name+": p of a difference beyond 1 %", got, *ref, 1e-9)
		}
	}
}

func TestRankSumIsAsInCoinAndScipy(t *testing.T) {
	for _, file := range []string{"reference-r.json", "reference-scipy.json"} {
		in, want := pairs(t, file)
		exact, approximate := 0, 0
		for name, s := range in {
			got, ref := RankSum(s.Base, s.Other), want[name].Rank
			near(t, file+", "+name+": U", got.U, ref.U, 0)
			switch {
			case got.Method == Exact && ref.Exact != nil:
				exact++
				near(t, file+", "+name+": exact p", got.P, *ref.Exact, 1e-9)
			case got.Method == Approx:
				approximate++
				near(t, file+", "+name+": approximate p", got.P, *ref.Normal, 1e-9)
			}
		}
		if exact < 10 || approximate < 2 {
			t.Errorf("%s: only %d exact and %d approximate p were compared", file, exact, approximate)
		}
	}
}

// The exact p is still taken where the approximation begins to be good, so the two may not be far apart there.
func TestApproximationTakesOverSmoothly(t *testing.T) {
	in, want := pairs(t, "reference-r.json")
	for _, name := range []string{"skewed, large", "normal, large", "tied, large"} {
		ref := want[name].Rank
		near(t, name+": approximate p beside the exact one", *ref.Normal, *ref.Exact, 0.05)
		if n := len(in[name].Base) + len(in[name].Other); (n <= exactUpTo) != (name == "skewed, large") {
			t.Errorf("%s has %d values", name, n)
		}
	}
}

func TestOutliersAreAsInR(t *testing.T) {
	var samples, reference struct{ Outliers map[string][]float64 }
	read(t, "samples.json", &samples)
	read(t, "reference-r.json", &reference)
	for name, xs := range samples.Outliers {
		if d := cmp.Diff(reference.Outliers[name], Outliers(xs), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: - R, + we:\n%s", name, d)
		}
	}
}

// The critical values of Rosner's example, from the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.17.3.
func TestCriticalDeviates(t *testing.T) {
	for i, want := range []float64{3.159, 3.151, 3.144, 3.136} {
		near(t, "p of the critical value", grubbs(want, 54-i), 0.05, 0.003)
	}
}

func TestTrendIsAsInR(t *testing.T) {
	var samples struct {
		Drift map[string][]struct {
			Arm      string
			Boot, At int
			Value    float64
		}
	}
	var reference struct {
		Drift map[string]struct{ Change, P float64 }
	}
	read(t, "samples.json", &samples)
	read(t, "reference-r.json", &reference)
	for name, rows := range samples.Drift {
		arms := map[string][]Run{}
		for _, r := range rows {
			arms[r.Arm] = append(arms[r.Arm], Run{r.Value, r.Boot, r.At})
		}
		got := trend(append(byBoot(points(arms["A"])), byBoot(points(arms["B"]))...))
		near(t, name+": change", got.Change, reference.Drift[name].Change, 1e-9)
		near(t, name+": p", got.P, reference.Drift[name].P, 1e-9)
	}
}

func TestHolmIsAsInR(t *testing.T) {
	var samples, reference struct{ Holm [][]float64 }
	read(t, "samples.json", &samples)
	read(t, "reference-r.json", &reference)
	if len(reference.Holm) != 5 {
		t.Fatalf("%d references", len(reference.Holm))
	}
	for i, ps := range samples.Holm {
		if d := cmp.Diff(reference.Holm[i], Holm(ps), cmpopts.EquateApprox(1e-12, 0)); d != "" {
			t.Errorf("Holm(%v): - R, + we:\n%s", ps, d)
		}
	}
}
