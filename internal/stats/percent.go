package stats

import "math"

// Percent is the difference of other's mean from base's, in percent of base's mean: 100 (other - base) / |base|.
type Percent struct {
	Value    float64
	Interval *Interval // nil where a sample has fewer than two values; without width where neither varies
}

// PercentOf is nil where no percentage can be said: base's mean is 0, or its own interval reaches 0.
//
// The interval holds the ratios r for which Welch's test of r·base against other finds no difference. That is
// Fieller's theorem (Fieller, J. R. Stat. Soc. B 16, 1954) with Welch's degrees of freedom at each r, as the
// variances may differ. It was chosen over the delta method for three reasons: it is not symmetric where the
// ratio's distribution is not; it is unbounded, and so says "no percentage", exactly where base's interval reaches 0;
// and it cannot contradict the test, as it is the test: it excludes 0 % exactly where Welch's p is below
// Alpha, and ±m % exactly where a test against that bound does.
func PercentOf(base, other []float64) *Percent {
	b, o := momentOf(base), momentOf(other)
	if b.mean == 0 {
		return nil
	}
	percent := func(ratio float64) float64 { return 100 * (ratio - 1) * math.Copysign(1, b.mean) }
	ratio := o.mean / b.mean
	p := &Percent{Value: percent(ratio)}
	if len(base) < 2 || len(other) < 2 {
		return p
	}
	// Fieller's interval is unbounded then; where other is 0 throughout, each ratio's test is the same one and can't show it.
	if i := Summarize(base).Interval; i.Low <= 0 && i.High >= 0 {
		return nil
	}
	low, ok1 := fieller(b, o, ratio, -1)
	high, ok2 := fieller(b, o, ratio, 1)
	if !ok1 || !ok2 {
		return nil
	}
	if b.mean < 0 {
		low, high = high, low
	}
	p.Interval = &Interval{percent(low), percent(high)}
	return p
}

// fieller goes from the ratio of the means in the direction of sign until the test finds a difference. At an infinite
// ratio the test is whether base's mean differs from 0, so there is such a ratio just when it does; not ok otherwise.
// Where neither sample varies, or other is 0 throughout, the ratio has no width.
func fieller(base, other moment, ratio, sign float64) (limit float64, ok bool) {
	excess := func(r float64) float64 { // of the test's p above Alpha
		if t := welch(base.times(r), other); t != nil {
			return t.P - Alpha
		}
		return -Alpha
	}
	step := math.Sqrt(other.variance+ratio*ratio*base.variance) / math.Abs(base.mean)
	inside, outside := ratio, ratio+sign*step
	above, below := 1-Alpha, excess(outside)
	for below >= 0 {
		if step *= 2; step > farthest {
			return 0, false
		}
		inside, above = outside, below
		outside = ratio + sign*step
		below = excess(outside)
	}
	// The secant with the halving of Illinois (Dowell and Jarratt, BIT 11, 1971): some ten steps, each a test.
	last := 0.0
	for range 50 {
		limit = outside - below*(outside-inside)/(below-above)
		e := excess(limit)
		if math.Abs(e) < 1e-12 {
			break
		}
		if e < 0 {
			outside, below = limit, e
			if last < 0 {
				above /= 2
			}
		} else {
			inside, above = limit, e
			if last > 0 {
				below /= 2
			}
		}
		last = e
	}
	return limit, true
}

// farthest is how far from the ratio of the means fieller looks, instead of infinitely.
const farthest = 1e9
