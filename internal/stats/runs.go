// Package stats holds the statistics of the judge. Pure: numbers in, numbers out.
package stats

import "math"

// rounding absorbs what floating point adds to 1-(1-p)^n: 0.1^2 must satisfy a confidence of 0.99.
const rounding = 1e-12

// RunsNeeded is the least number n >= 1 of clean runs after which a symptom that shows in symptomRate of the
// runs would have been seen with probability confidence: 1-(1-symptomRate)^n >= confidence. Where no number
// of runs suffices (a rate of 0 or less, a confidence of 1 or more with a rate below 1) it is math.MaxInt.
func RunsNeeded(symptomRate, confidence float64) int {
	switch {
	case symptomRate >= 1 || symptomRate > 0 && confidence <= 0:
		return 1
	case !(symptomRate > 0) || !(confidence < 1): // NaN too
		return math.MaxInt
	}
	n := math.Log1p(-confidence) / math.Log1p(-symptomRate)
	return max(1, int(math.Ceil(n-rounding*math.Max(1, n))))
}
