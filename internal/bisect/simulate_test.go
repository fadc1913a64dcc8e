package bisect

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
)

// simulationSeed is BONDREPRO_SEED, or the time: the seed is printed, so that a failure can be had again.
func simulationSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("BONDREPRO_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("BONDREPRO_SEED=%d", seed)
	return seed
}

const (
	simulations = 10_000
	// unlucky is how often a test may fail by chance.
	unlucky = 0.001
)

// A kernel that shows the symptom in 40 % of the boots: the culprit is named wrongly no more often than is claimed. The
// bound is one of a binomial variable: 10 000 bisects that err with the claimed probability exceed it once in 1000 times.
func TestClaimedErrorRateHolds(t *testing.T) {
	seed := simulationSeed(t)
	for _, c := range []struct {
		name       string
		points     int
		rate       float64
		confidence float64
	}{
		{"0.99 at 40 %", 40, 0.4, 0.99},
		{"0.9 at 40 %", 40, 0.4, 0.9},
		{"0.9 always", 40, 1, 0.9},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := seeded(seed)
			var wrong, booted, unclear int
			var claimed float64
			for range simulations {
				l := &line{n: c.points, culprit: 1 + random.IntN(c.points-1)}
				e := start(l, &boots{line: l, rate: c.rate, rand: random}, c.confidence)
				r, err := e.run(context.Background())
				if err != nil { // the good end showed the symptom late: no answer, not a wrong one
					unclear++
					continue
				}
				claimed += r.Wrong / simulations
				booted += r.Boots
				if r.Culprit != strconv.Itoa(l.culprit) {
					wrong++
				}
			}
			t.Logf("%d points, symptom in %g of the boots of bad ones: %d of %d wrong at a confidence of %g (mean claim %.4f), %d without an answer, %.1f boots each",
				c.points, c.rate, wrong, simulations, c.confidence, claimed, unclear, float64(booted)/simulations)
			for _, limit := range []float64{1 - c.confidence, claimed} {
				if stats.AtMost(wrong-1, simulations, limit) > 1-unlucky {
					t.Errorf("%d of %d wrong are more than a rate of %g allows", wrong, simulations, limit)
				}
			}
			if unclear > 5 { // no BAD in endPatience boots: 0.4 expected at 40 %
				t.Errorf("%d bisects gave no answer", unclear)
			}
		})
	}
}

// The same where it is hardest: the rate is no higher than its lower bound, and the culprit is the first point of many, so that every
// step is one that may err. The share that is left to the steps holds.
func TestClaimedErrorRateHoldsAtTheBound(t *testing.T) {
	const points, bisects, confidence = 512, 1000, 0.9
	random := seeded(simulationSeed(t))
	rate := newPlan(confidence, endSymptoms, endSymptoms).RateLow
	wrong := 0
	for range bisects {
		l := &line{n: points, culprit: 1}
		b := &boots{line: l, rate: rate, rand: random, ran: map[string]int{}}
		b.trial = func(id string) *result.Trial {
			if id == strconv.Itoa(points-1) && b.ran[id] <= endSymptoms {
				return &result.Trial{Verdict: result.Bad, Cause: result.CauseKernel, Diagnosis: symptom}
			}
			return nil
		}
		r, err := start(l, b, confidence).run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r.Culprit != "1" {
			wrong++
		}
	}
	limit := (1 - rateShare) * (1 - confidence)
	t.Logf("%d of %d wrong, at most %g of them are claimed", wrong, bisects, limit)
	if stats.AtMost(wrong-1, bisects, limit) > 1-unlucky {
		t.Errorf("%d of %d wrong are more than a rate of %g allows", wrong, bisects, limit)
	}
}
