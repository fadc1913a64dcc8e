package stats

import "math"

// TTest is Welch's test of two means, for samples whose variances may differ (Welch, Biometrika 34, 1947).
type TTest struct {
	T  float64 // positive where other's mean is above base's
	DF float64 // by Welch and Satterthwaite
	P  float64 // two-sided
}

// Welch compares the means of two samples. It is nil where it says nothing: a sample of fewer than two values, or
// two samples that both do not vary; RankSum is exact there. One sample that does not vary is fine.
func Welch(base, other []float64) *TTest {
	if len(base) < 2 || len(other) < 2 {
		return nil
	}
	return welch(momentOf(base), momentOf(other))
}

// welch is nil where neither sample varies.
func welch(base, other moment) *TTest {
	variance := base.variance + other.variance
	if variance == 0 {
		return nil
	}
	t := TTest{T: (other.mean - base.mean) / math.Sqrt(variance)}
	// The shares of the variance, not its squares: those underflow where values are tiny.
	b, o := base.variance/variance, other.variance/variance
	t.DF = 1 / (b*b/(base.n-1) + o*o/(other.n-1))
	t.P = tTwoSided(t.T, t.DF)
	return &t
}

// Difference is other's mean less base's, in the unit of the values.
type Difference struct {
	Value    float64
	Interval *Interval // Welch's; nil where a sample has fewer than two values; without width where neither varies
}

// DifferenceOf is the difference of the means of two samples, which have at least one value each. Its interval
// excludes 0 exactly where Welch's p is below Alpha.
func DifferenceOf(base, other []float64) Difference {
	b, o := momentOf(base), momentOf(other)
	d := Difference{Value: o.mean - b.mean}
	if len(base) < 2 || len(other) < 2 {
		return d
	}
	half := 0.0
	if t := welch(b, o); t != nil {
		half = tLimit(t.DF) * math.Sqrt(b.variance+o.variance)
	}
	d.Interval = &Interval{d.Value - half, d.Value + half}
	return d
}
