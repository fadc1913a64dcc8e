package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Alpha is the error rate of all claims, and Confidence that of all intervals: one pair for the whole program, so that
// an interval and a p of the same comparison never contradict each other.
const (
	Alpha      = 0.05
	Confidence = 1 - Alpha
)

// tTwoSided is the probability that Student's t with df degrees of freedom is at least |t| away from 0
// (Abramowitz and Stegun 26.7.1: an incomplete beta function). An infinite t has the probability 0.
func tTwoSided(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// tLimit is the t with df degrees of freedom that is exceeded on both sides together with the probability Alpha.
func tLimit(df float64) float64 {
	x := mathext.InvRegIncBeta(df/2, 0.5, Alpha)
	return math.Sqrt(df * (1 - x) / x)
}

// normalTwoSided is the probability that a standard normal variable is at least |z| away from 0.
func normalTwoSided(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }
