package stats

import "math"

// DefaultMinimum is the minimum effect, in percent of base's mean, where the user names none.
const DefaultMinimum = 1.0

// differsBy is the two-sided p of the hypothesis that other's mean is within percent of base's. It is Welch's test against
// the nearer bound, base × (1 ± percent/100), so it needs no percentage and holds for a base of 0, where every
// difference is large. Where neither sample varies it is exact: SmallestP beyond the bounds, 1 within. Of percent 0
// it is the test of equal means. It is not ok where a sample has fewer than two values.
func differsBy(base, other []float64, percent float64) (p float64, ok bool) {
	if len(base) < 2 || len(other) < 2 {
		return 0, false
	}
	b, o := momentOf(base), momentOf(other)
	above, below := 0.0, 0.0 // one-sided p: other is above both bounds, below both bounds
	for _, k := range []float64{1 - percent/100, 1 + percent/100} {
		up, down := oneSided(b.times(k), o)
		above, below = max(above, up), max(below, down)
	}
	return min(1, 2*min(above, below)), true
}

// oneSided are the p of "other's mean is higher" and "other's mean is lower".
func oneSided(base, other moment) (up, down float64) {
	half := 0.5
	if t := welch(base, other); t != nil {
		half = t.P / 2
	} else if base.mean != other.mean {
		half = SmallestP(int(base.n), int(other.n)) / 2
	}
	if other.mean < base.mean {
		return 1 - half, half
	}
	return half, 1 - half
}

// Verdict is what a comparison may claim about one metric. Higher and Lower are about numbers: which is better, the
// metric knows.
type Verdict string

// The verdicts. Each has its error rate, for independent units that are normal or many enough.
const (
	// CannotTell claims nothing; Why tells the reason.
	CannotTell Verdict = "cannot-tell"
	// Higher and Lower: the true difference is larger than the minimum effect. Among all metrics of one call of Compare,
	// the chance that any metric gets one of them whose true difference is not larger is at most Alpha (Holm).
	// Where the true difference is 0 the chance is much smaller.
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
	// NoDifference: the true difference is smaller than the minimum effect, as all of its interval is (two one-sided
	// tests; Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). For each metric whose true difference is not smaller the
	// chance of that is at most Alpha/2. It is not corrected for several metrics.
	NoDifference Verdict = "no-difference-that-matters"
)

// Why is the reason of CannotTell.
type Why string

// The reasons, in the order in which they are looked for.
const (
	WhyOneUnit    Why = "one-unit"     // a side has a single unit, so there is no p
	WhyBelowNoise Why = "below-noise"  // there is a claim, but not above the noise that a calibration found
	WhySmall      Why = "may-be-small" // a difference was seen, but it may be smaller than the minimum effect
	WhyTooFew     Why = "too-few"      // no value varies, and so few of them don't show that there is no difference
	WhyNotSeen    Why = "not-seen"     // no difference was seen, but one larger than the minimum effect may be there
)

// decide gives a comparison its verdict, from its interval and its corrected p.
func (c *Comparison) decide(minimum, noise float64) {
	c.Verdict, c.Why = CannotTell, ""
	band := minimum / 100 * math.Abs(c.Base.Mean)
	switch {
	case c.P == nil:
		c.Why = WhyOneUnit
	case c.PMinimum.Holm < Alpha && math.Abs(c.Difference.Value) <= noise:
		c.Why = WhyBelowNoise
	case c.PMinimum.Holm < Alpha && c.Difference.Value > 0:
		c.Verdict = Higher
	case c.PMinimum.Holm < Alpha:
		c.Verdict = Lower
	case c.within(minimum) && noise > band:
		c.Why = WhyBelowNoise
	case c.within(minimum) && c.constant() && SmallestP(c.Base.N, c.Other.N) >= Alpha:
		c.Why = WhyTooFew
	case c.within(minimum):
		c.Verdict = NoDifference
	case c.P.Holm < Alpha:
		c.Why = WhySmall
	default:
		c.Why = WhyNotSeen
	}
}

// within tells whether all of the interval is within the minimum effect. Without a percentage only two samples of one
// and the same value are.
func (c *Comparison) within(minimum float64) bool {
	if c.Percent == nil {
		return c.constant() && c.Difference.Value == 0
	}
	return c.Percent.Interval.Within(-minimum, minimum)
}

func (c *Comparison) constant() bool { return c.Base.Constant() && c.Other.Constant() }
