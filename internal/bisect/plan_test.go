package bisect

import (
	"math"
	"testing"
)

// What docs/bisect.md says of the number of boots.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		confidence   float64
		bad, counted int
		step         int
		confirm      int // after ten points
	}{
		{0.99, 8, 8, 4, 8},
		{0.9, 8, 8, 3, 2},
		{0.99, 8, 20, 17, 35},
		{0.999, 8, 8, 6, 16},
	} {
		p := newPlan(c.confidence, c.bad, c.counted)
		missed := p.Missed(10)
		if p.StepRuns() != c.step || p.ConfirmRuns(missed) != c.confirm {
			t.Errorf("%v: %d of %d BAD (rate %.3f): steps of %d, confirmed by %d, want %d and %d",
				c.confidence, c.bad, c.counted, p.RateLow, p.StepRuns(), p.ConfirmRuns(missed), c.step, c.confirm)
		}
	}
}

// Whatever the rate and the number of steps are, the sum of what may go wrong stays within what was asked for, and one
// boot fewer would not do.
func TestPlanKeepsItsPromise(t *testing.T) {
	for _, confidence := range []float64{0.5, 0.9, 0.99, 0.9999} {
		for counted := endSymptoms; counted <= endBoots; counted++ {
			p := newPlan(confidence, endSymptoms, counted)
			if p.Unseen(p.StepRuns()) > stepRisk+1e-12 || p.StepRuns() > 1 && p.Unseen(p.StepRuns()-1) <= stepRisk {
				t.Errorf("%v, %d: steps of %d leave %v unseen", confidence, counted, p.StepRuns(), p.Unseen(p.StepRuns()))
			}
			for steps := 1; steps < 20; steps++ {
				missed := p.Missed(steps)
				n := p.ConfirmRuns(missed)
				if wrong := p.Wrong(missed, n); wrong > 1-confidence+1e-12 {
					t.Errorf("%v, %d, %d steps: wrong with %v", confidence, counted, steps, wrong)
				}
				if n > 1 && p.Wrong(missed, n-1) <= 1-confidence-1e-12 {
					t.Errorf("%v, %d, %d steps: %d boots are more than it takes", confidence, counted, steps, n)
				}
			}
		}
	}
}

func TestPlanWithoutARate(t *testing.T) {
	if n := newPlan(0.99, 0, 20).StepRuns(); n != math.MaxInt32 {
		t.Errorf("a symptom that never showed: steps of %d", n)
	}
}
