package stats

import (
	"math"
	"slices"
)

// Outliers are the values of xs that a normal sample would not have, farthest first: Rosner's generalized extreme
// studentized deviates (Technometrics 25, 1983), up to a quarter of the values, so that two of them do not hide each
// other. A normal sample shows one with a chance of 1 % (below 2 % of fewer than 25 values, by simulation); skewed
// ones, which have long tails, show more. None of fewer than 6. Nothing is ever left out for being one: they are pointed at.
func Outliers(xs []float64) []float64 {
	if len(xs) < 6 {
		return nil
	}
	rest := slices.Clone(xs)
	var taken []float64
	found := 0
	for range len(xs) / 4 {
		mean, sd := meanSD(rest)
		far := 0
		for i, x := range rest {
			if math.Abs(x-mean) > math.Abs(rest[far]-mean) {
				far = i
			}
		}
		deviate := math.Abs(rest[far]-mean) / sd // not a number where the rest is equal: no outlier
		p := grubbs(deviate, len(rest))
		taken = append(taken, rest[far])
		rest = slices.Delete(rest, far, far+1)
		if p < warnRate {
			found = len(taken)
		}
	}
	if found == 0 {
		return nil
	}
	return taken[:found]
}

// grubbs is the chance that the largest of n studentized deviates is as large, at most (Grubbs, Ann. Math. Stat. 21, 1950).
func grubbs(deviate float64, n int) float64 {
	f := float64(n)
	t := deviate * math.Sqrt(f*(f-2)/max(0, (f-1)*(f-1)-f*deviate*deviate))
	return f * tTwoSided(t, f-2)
}
