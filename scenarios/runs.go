package scenarios

import "math"

// Needed is how many clean runs good takes: the least n >= 1 with 1 - (1-SymptomRate)^n >= Confidence. Where no
// number of runs suffices (a rate of 0 or less, a confidence of 1 or more with a rate below 1) it is math.MaxInt32.
func (r Runs) Needed() int {
	switch {
	case r.SymptomRate >= 1 || r.SymptomRate > 0 && r.Confidence <= 0:
		return 1
	case !(r.SymptomRate > 0) || !(r.Confidence < 1): // NaN too
		return math.MaxInt32
	}
	const rounding = 1e-12 // 0.9 and 0.99 need 2, not 3
	n := math.Log1p(-r.Confidence) / math.Log1p(-r.SymptomRate)
	return max(1, int(min(math.MaxInt32, math.Ceil(n*(1-rounding)))))
}
