package stats

import "gonum.org/v1/gonum/mathext"

// RateLow is the lower bound of a rate of which k of n independent trials showed a success: the true rate is below it
// with a probability of at most alpha (Clopper and Pearson, Biometrika 26, 1934). It holds for a fixed n, and as well
// for trials that went on until the k-th success (inverse sampling: at most n trials are needed for k successes
// exactly when n trials show at least k). It is 0 where k is 0.
func RateLow(k, n int, alpha float64) float64 {
	if k <= 0 {
		return 0
	}
	return mathext.InvRegIncBeta(float64(k), float64(n-k+1), alpha)
}

// AtMost is the probability that a binomial variable of n trials with rate p is at most k.
func AtMost(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
