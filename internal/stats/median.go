// Package stats holds the statistics: of the judge, of comparisons, of trials with two outcomes. Pure: numbers in, numbers
// out.
package stats

import "slices"

// Median is the middle of xs, or the mean of the two middle ones; 0 of none. xs keeps its order.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Clone(xs)
	slices.Sort(s)
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return (s[m-1] + s[m]) / 2
}
