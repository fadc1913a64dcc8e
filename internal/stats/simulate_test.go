package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// simulations is how many comparisons each simulation makes. Seeds are fixed, so a test that passes always does; the
// bounds are such that a correct rate fails with one seed in 1000.
const (
	simulations = 10000
	bound       = 0.001
)

// agrees complains where k of n trials do not fit the rate.
func agrees(t *testing.T, what string, k, n int, rate float64) {
	t.Helper()
	t.Logf("%s: %d of %d, %.2f %% stated", what, k, n, 100*rate)
	if AtMost(k, n, rate) < bound/2 || 1-AtMost(k-1, n, rate) < bound/2 {
		t.Errorf("%s: %d of %d, that is not %.2f %%", what, k, n, 100*rate)
	}
}

// staysBelow complains where k of n trials show that the rate is exceeded.
func staysBelow(t *testing.T, what string, k, n int, rate float64) {
	t.Helper()
	t.Logf("%s: %d of %d, at most %.2f %% stated", what, k, n, 100*rate)
	if 1-AtMost(k-1, n, rate) < bound {
		t.Errorf("%s: %d of %d, that is above %.2f %%", what, k, n, 100*rate)
	}
}

// law draws one value with the mean 1 and about the standard deviation that it is given.
type law func(r *rand.Rand, sd float64) float64

func normal(r *rand.Rand, sd float64) float64 { return 1 + sd*r.NormFloat64() }

func skewed(r *rand.Rand, sd float64) float64 { return math.Exp(sd*r.NormFloat64() - sd*sd/2) }

// draw is n values of law around mean; sd is a share of mean.
func draw(r *rand.Rand, l law, n int, mean, sd float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = mean * l(r, sd)
	}
	return xs
}

// asRuns are the values as runs of one boot whose order is not known.
func asRuns(xs []float64) []Run {
	runs := make([]Run, len(xs))
	for i, x := range xs {
		runs[i].Value = x
	}
	return runs
}

// verdict compares one metric alone.
func verdict(t *testing.T, base, other []Run, minimum float64) Comparison {
	t.Helper()
	cs, err := Compare([]Metric{{Name: "goodput", Base: base, Other: other}}, minimum)
	if err != nil {
		t.Fatal(err)
	}
	return cs[0]
}

// An arm against itself, ten runs each with a noise of 1 %: Welch's test sees a difference as often as stated. Of
// skewed values it does not see more.
func TestFalseDifferences(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 1))
	var seen, claimed, skewedSeen, ranks int
	for range simulations {
		a, b := draw(r, normal, 10, 5.2, 0.01), draw(r, normal, 10, 5.2, 0.01)
		if Welch(a, b).P < Alpha {
			seen++
		}
		if RankSum(a, b).P < Alpha {
			ranks++
		}
		if v := verdict(t, asRuns(a), asRuns(b), 0).Verdict; v == Higher || v == Lower {
			claimed++
		}
		if Welch(draw(r, skewed, 10, 5.2, 0.3), draw(r, skewed, 10, 5.2, 0.3)).P < Alpha {
			skewedSeen++
		}
	}
	agrees(t, "Welch sees a difference", seen, simulations, Alpha)
	agrees(t, "a difference is claimed where every difference matters", claimed, simulations, Alpha)
	staysBelow(t, "Welch sees a difference of skewed values", skewedSeen, simulations, Alpha)
	staysBelow(t, "Mann and Whitney see a difference", ranks, simulations, Alpha)
}

// Counts of few values are full of ties.
func TestFalseDifferencesOfTiedValues(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 2))
	seen := 0
	for range simulations {
		a, b := make([]float64, 6), make([]float64, 11)
		for _, xs := range [][]float64{a, b} {
			for i := range xs {
				xs[i] = math.Floor(r.ExpFloat64())
			}
		}
		if RankSum(a, b).P < Alpha {
			seen++
		}
	}
	staysBelow(t, "Mann and Whitney see a difference", seen, simulations, Alpha)
}

// A difference of just the minimum is the worst case for all three claims.
func TestClaimsAtTheMinimum(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 3))
	count := map[Verdict]int{}
	for range simulations {
		a, b := draw(r, normal, 10, 5.2, 0.003), draw(r, normal, 10, 5.2*1.01, 0.003)
		count[verdict(t, asRuns(a), asRuns(b), 1).Verdict]++
	}
	agrees(t, "higher", count[Higher], simulations, Alpha/2)
	agrees(t, "no difference that matters", count[NoDifference], simulations, Alpha/2)
	if count[Lower] > 0 {
		t.Errorf("lower was said %d times", count[Lower])
	}
}

// An interval holds the true value as often as it says; of very few runs whose variances are equal, more often.
func TestCoverage(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name         string
		law          law
		n1, n2       int
		sd1, sd2     float64
		ratio        float64
		conservative bool
	}{
		{name: "ten and ten", law: normal, n1: 10, n2: 10, sd1: 0.01, sd2: 0.01, ratio: 0.97},
		{name: "much faster, with more noise", law: normal, n1: 10, n2: 10, sd1: 0.02, sd2: 0.06, ratio: 1.5},
		{name: "sizes differ", law: normal, n1: 6, n2: 14, sd1: 0.03, sd2: 0.01, ratio: 1.123},
		{name: "noisy base", law: normal, n1: 12, n2: 12, sd1: 0.3, sd2: 0.1, ratio: 1.3},
		{name: "slightly skewed", law: skewed, n1: 10, n2: 10, sd1: 0.05, sd2: 0.05, ratio: 1.05},
		{name: "three and three", law: normal, n1: 3, n2: 3, sd1: 0.01, sd2: 0.01, ratio: 1.02, conservative: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(6, uint64(100+i)))
			var difference, percent, mean, said int
			for range simulations {
				a, b := draw(r, c.law, c.n1, 50, c.sd1), draw(r, c.law, c.n2, 50*c.ratio, c.sd2)
				if holds(Summarize(a).Interval, 50) {
					mean++
				}
				if holds(DifferenceOf(a, b).Interval, 50*(c.ratio-1)) {
					difference++
				}
				if p := PercentOf(a, b); p != nil {
					said++
					if holds(p.Interval, 100*(c.ratio-1)) {
						percent++
					}
				}
			}
			if said < simulations*999/1000 {
				t.Errorf("a percentage was said %d times only", said)
			}
			agrees(t, "mean", mean, simulations, Confidence)
			if c.conservative {
				staysBelow(t, "difference missed", simulations-difference, simulations, Alpha)
				staysBelow(t, "percentage missed", said-percent, said, Alpha)
				return
			}
			agrees(t, "difference", difference, simulations, Confidence)
			agrees(t, "percentage", percent, said, Confidence)
		})
	}
}

func holds(i *Interval, x float64) bool { return i.Low <= x && x <= i.High }

// Ten runs each and a noise of 1 % (the standard deviation of a run, of its mean) find a slowdown of 3 % as one that
// is larger than 1 %.
func TestKnownSlowdownIsFound(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 4))
	found := 0
	for range simulations {
		a, b := draw(r, skewed, 10, 5.2, 0.01), draw(r, skewed, 10, 5.2*0.97, 0.01)
		if verdict(t, asRuns(a), asRuns(b), DefaultMinimum).Verdict == Lower {
			found++
		}
	}
	t.Logf("found %d of %d", found, simulations)
	if found < simulations*98/100 {
		t.Errorf("a slowdown of 3 %% was found %d times of %d only", found, simulations)
	}
}

// Of eight metrics some differ. The chance of any claim about the others is held, also where their noise is in common.
// (That Compare claims by these p is TestOneCallIsOneFamily's.)
func TestHolmHoldsTheFamily(t *testing.T) {
	t.Parallel()
	const metrics, runs = 8, 10
	for _, c := range []struct {
		name     string
		together float64 // the share of the noise that all metrics of a run have in common
		differ   int
	}{{"independent", 0, 0}, {"two differ", 0, 2}, {"noise in common", 0.9, 2}} {
		r := rand.New(rand.NewPCG(6, 5))
		var families, uncorrected int
		own := math.Sqrt(1 - c.together*c.together)
		for range simulations {
			var arms [2][metrics][]float64
			for arm := range arms {
				for range runs {
					common := r.NormFloat64()
					for m := range metrics {
						x := 100 + c.together*common + own*r.NormFloat64()
						if m < c.differ {
							x += 5 * float64(arm)
						}
						arms[arm][m] = append(arms[arm][m], x)
					}
				}
			}
			var ps []float64
			for m := range metrics {
				ps = append(ps, Welch(arms[0][m], arms[1][m]).P)
			}
			below := func(p float64) bool { return p < Alpha }
			if slices.ContainsFunc(Holm(ps)[c.differ:], below) {
				families++
			}
			if slices.ContainsFunc(ps[c.differ:], below) {
				uncorrected++
			}
		}
		staysBelow(t, c.name+": a false claim in a family", families, simulations, Alpha)
		if uncorrected < simulations/10 {
			t.Errorf("%s: without correction only %d families have a false claim, so this shows nothing", c.name, uncorrected)
		}
	}
}

// boots are runs of several boots: each boot has its own level.
func boots(r *rand.Rand, first, boots, runs int, mean, bootSD, runSD float64) (out []Run) {
	for b := range boots {
		level := mean * (1 + bootSD*r.NormFloat64())
		for range runs {
			out = append(out, Run{Value: level + mean*runSD*r.NormFloat64(), Boot: first + b})
		}
	}
	return out
}

// Two kernels that are the same, six boots of ten runs each, boots that differ by 1 %, runs by 0.5 %: Welch over the
// runs sees a difference most of the time. Over the boots it sees as many as stated, and the interval is right.
func TestRunsOfABootAreNotIndependent(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 7))
	var naive, ours, covered int
	for range simulations {
		a, b := boots(r, 0, 6, 10, 100, 0.01, 0.005), boots(r, 6, 6, 10, 100, 0.01, 0.005)
		if Welch(values(points(a)), values(points(b))).P < Alpha {
			naive++
		}
		ua, ub, unit := unitsOf(a, b)
		if unit != Boots {
			t.Fatalf("the units are %s", unit)
		}
		if Welch(values(ua), values(ub)).P < Alpha {
			ours++
		}
		if holds(PercentOf(values(ua), values(ub)).Interval, 0) {
			covered++
		}
	}
	t.Logf("over runs: %d of %d", naive, simulations)
	if naive < simulations/3 {
		t.Errorf("Welch over runs sees %d differences of %d: the simulation has no boot effect", naive, simulations)
	}
	staysBelow(t, "Welch over boots sees a difference", ours, simulations, Alpha)
	staysBelow(t, "the interval misses 0 %", simulations-covered, simulations, Alpha)
	if ours < simulations/25 {
		t.Errorf("Welch over boots sees %d differences only: it is too shy", ours)
	}
}

// The machine slows down by 3 % while it measures. In ABBA order that is no difference; one arm after the other it is, and
// a warning says so.
func TestDriftIsNoDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order string
		sound bool
	}{{"ABBAABBAABBAABBAABBA", true}, {"AAAAAAAAAABBBBBBBBBB", false}} {
		r := rand.New(rand.NewPCG(6, 8))
		var seen, warnedDrift, warnedOrder int
		const times = simulations / 4
		for range times {
			arms := map[rune][]Run{}
			for i, arm := range c.order {
				arms[arm] = append(arms[arm], Run{Value: 100 - 3*float64(i)/float64(len(c.order)) + 0.5*r.NormFloat64(), At: i + 1})
			}
			x := verdict(t, arms['A'], arms['B'], 0)
			if x.Verdict == Higher || x.Verdict == Lower {
				seen++
			}
			for _, w := range x.Warnings {
				switch w.Code {
				case WarnDrift:
					warnedDrift++
				case WarnNotInterleaved:
					warnedOrder++
				}
			}
		}
		t.Logf("%s: %d differences, %d and %d warnings of %d", c.order, seen, warnedDrift, warnedOrder, times)
		if c.sound {
			staysBelow(t, c.order, seen, times, Alpha)
			if warnedDrift < times*9/10 || warnedOrder > 0 {
				t.Errorf("%s: %d and %d warnings", c.order, warnedDrift, warnedOrder)
			}
		} else if seen < times*9/10 || warnedOrder != times {
			t.Errorf("%s: %d differences, %d warnings", c.order, seen, warnedOrder)
		}
	}
}

// Warnings about nothing are rare, as stated.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	laws := map[string]func(*rand.Rand) float64{
		"normal":      func(r *rand.Rand) float64 { return r.NormFloat64() },
		"uniform":     func(r *rand.Rand) float64 { return r.Float64() },
		"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() },
	}
	for name, l := range laws {
		for _, n := range []int{6, 8, 9, 10, 20, 60} {
			r := rand.New(rand.NewPCG(6, uint64(n)))
			var modes, outliers int
			for range simulations {
				xs := make([]float64, n)
				for i := range xs {
					xs[i] = l(r)
				}
				if Bimodal(xs) != nil {
					modes++
				}
				if name == "normal" && n < 60 && Outliers(xs) != nil {
					outliers++
				}
			}
			staysBelow(t, name+": two modes", modes, simulations, warnRate)
			if name == "normal" && n < 60 {
				staysBelow(t, "outliers", outliers, simulations, 2*warnRate)
			}
		}
	}
	r := rand.New(rand.NewPCG(6, 9))
	drifts := 0
	for range simulations {
		groups := make([][]point, 2)
		for i := range 20 {
			arm := (i + 1) / 2 % 2
			groups[arm] = append(groups[arm], point{value: float64(3*arm) + r.NormFloat64(), at: float64(i + 1)})
		}
		if trend(groups).P < warnRate {
			drifts++
		}
	}
	agrees(t, "drift", drifts, simulations, warnRate)
}

// Two modes that are as far apart as Bimodal says are found, a little nearer they are found less often.
func TestModesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n         int
		apart     float64 // in standard deviations of a mode
		low, high int     // percent found
	}{{10, 12, 80, 100}, {10, 6, 0, 20}, {100, 7, 95, 100}, {100, 5, 0, 20}} {
		r := rand.New(rand.NewPCG(6, 10))
		found := 0
		for range simulations / 10 {
			xs := make([]float64, c.n)
			for i := range xs {
				xs[i] = r.NormFloat64() + c.apart*float64(i%2)
			}
			if Bimodal(xs) != nil {
				found++
			}
		}
		if percent := found * 100 / (simulations / 10); percent < c.low || percent > c.high {
			t.Errorf("%d values in two modes %v apart: found in %d %%", c.n, c.apart, percent)
		}
	}
}

// A further comparison of an arm with itself exceeds the floor as often as the calibration says.
func TestCalibrationFloor(t *testing.T) {
	t.Parallel()
	for _, k := range []int{5, 20, 40} {
		r := rand.New(rand.NewPCG(6, uint64(k)))
		exceeded, chance := 0, 0.0
		once := func() Comparison {
			a, b := momentOf(draw(r, skewed, 5, 10, 0.2)), momentOf(draw(r, skewed, 5, 10, 0.2))
			return Comparison{Difference: Difference{Value: b.mean - a.mean}}
		}
		for range simulations {
			cs := make([]Comparison, k)
			for i := range cs {
				cs[i] = once()
			}
			cal := Calibrate(cs)
			if math.Abs(once().Difference.Value) > cal.Floor {
				exceeded++
			}
			chance = cal.FloorChance
		}
		agrees(t, "above the floor", exceeded, simulations, chance)
		if k >= 19 && chance > Alpha {
			t.Errorf("%d comparisons: the floor is exceeded with a chance of %v", k, chance)
		}
	}
}
