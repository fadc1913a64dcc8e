package stats

import (
	"math"
	"testing"
)

// The values are R's: qbeta(alpha, k, n-k+1), as in binom.test(k, n, alternative = "greater", conf.level = 1-alpha).
func TestRateLow(t *testing.T) {
	for _, c := range []struct {
		k, n  int
		alpha float64
		want  float64
	}{
		{8, 8, 0.0025, math.Pow(0.0025, 1.0/8)},
		{0, 10, 0.05, 0},
		{1, 1, 0.05, 0.05},
		{1, 20, 0.05, 1 - math.Pow(0.95, 1.0/20)},
		{8, 20, 0.05, 0.2170693},
		{10, 10, 0.01, math.Pow(0.01, 0.1)},
	} {
		if got := RateLow(c.k, c.n, c.alpha); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("RateLow(%d, %d, %v) = %v, want %v", c.k, c.n, c.alpha, got, c.want)
		}
	}
}

// The bound is where n trials show k successes or more with a probability of alpha exactly.
func TestRateLowIsTheBound(t *testing.T) {
	for n := 1; n < 40; n += 3 {
		for k := 1; k <= n; k++ {
			p := RateLow(k, n, 0.01)
			if got := 1 - AtMost(k-1, n, p); math.Abs(got-0.01) > 1e-9 {
				t.Errorf("%d of %d at the bound %v has a probability of %v, not 0.01", k, n, p, got)
			}
		}
	}
}

func TestAtMost(t *testing.T) {
	for _, c := range []struct {
		k, n int
		p    float64
		want float64
	}{
		{0, 10, 0.5, 1.0 / 1024}, {10, 10, 0.5, 1}, {-1, 10, 0.5, 0}, {5, 10, 0.5, 0.623046875}, {1, 2, 0.3, 0.91},
	} {
		if got := AtMost(c.k, c.n, c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("AtMost(%d, %d, %v) = %v, want %v", c.k, c.n, c.p, got, c.want)
		}
	}
}
