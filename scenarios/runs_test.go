package scenarios

import (
	"math"
	"testing"
)

func TestRunsNeeded(t *testing.T) {
	for _, c := range []struct {
		rate, confidence float64
		want             int
	}{
		{0.9, 0.99, 2}, // exactly 0.99: rounding must not make it 3
		{0.9, 0.999, 3},
		{0.9, 0.991, 3},
		{0.9, 0.5, 1},
		{math.SmallestNonzeroFloat64, 0.99, math.MaxInt32},
		{0.5, 0.99, 7},
		{0.1, 0.95, 29},
		{1, 0.999, 1},
		{1, 1, 1},
		{0.5, 0, 1},
		{0, 0.9, math.MaxInt32},
		{0.5, 1, math.MaxInt32},
		{math.NaN(), 0.9, math.MaxInt32},
	} {
		if got := (Runs{SymptomRate: c.rate, Confidence: c.confidence}).Needed(); got != c.want {
			t.Errorf("rate, confidence (%v, %v) = %d, want %d", c.rate, c.confidence, got, c.want)
		}
	}
}

// TestRunsNeededIsLeast holds the definition against a grid: n suffices, n-1 does not.
func TestRunsNeededIsLeast(t *testing.T) {
	seen := func(rate float64, n int) float64 { return 1 - math.Pow(1-rate, float64(n)) }
	for rate := 0.05; rate < 1; rate += 0.05 {
		for _, confidence := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
			n := Runs{SymptomRate: rate, Confidence: confidence}.Needed()
			if seen(rate, n) < confidence-1e-9 {
				t.Errorf("rate, confidence (%v, %v) = %d is too few", rate, confidence, n)
			}
			if n > 1 && seen(rate, n-1) >= confidence+1e-9 {
				t.Errorf("rate, confidence (%v, %v) = %d is not the least", rate, confidence, n)
			}
		}
	}
}
