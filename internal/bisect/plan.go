package bisect

import (
	"math"

	"bondrepro/internal/stats"
)

// Plan is how many boots a decision takes, so that the culprit is another with a probability of 1 - Confidence at most.
//
// One BAD boot makes a point bad; a good kernel never shows the symptom (the good end is the test of that). A bad point
// passes n boots unseen with a probability of (1-p)^n at most, where p is the lower bound of the rate at the bad end.
// Whenever a bad point passed as good, everything that is searched after it is bad, and so is the good one of the two
// points that the search ends with. So steps may err often and be cheap (stepRisk); what counts is that the last good
// point is booted again, afresh, until the probability that any step erred, times the probability that this point
// passes once more, is below its share of 1 - Confidence. When it shows the symptom instead, the search goes on with it.
// Each point that was decided is one that might have erred, also those that turned out bad: which of them are bad is what
// nobody knows beforehand.
type Plan struct {
	Confidence float64 // of the whole bisect, 0 to 1
	RateLow    float64 // lower bound of the symptom's rate at the bad end, see rateRisk
}

const (
	// rateShare is the part of 1 - Confidence that the rate's lower bound may be wrong with.
	rateShare = 0.25
	// stepRisk is the probability that a step takes a bad point for a good one.
	stepRisk = 0.1
	// endSymptoms BAD boots of the bad end make the rate known; endBoots is when to stop waiting for them, endPatience when
	// to stop waiting for the first.
	endSymptoms = 8
	endBoots    = 60
	endPatience = 20
	// mostRuns is the most boots that a step may take: a symptom that is rarer is not for bisecting.
	mostRuns = 300
)

// rateRisk is the probability that the rate at the bad end is below RateLow.
func rateRisk(confidence float64) float64 { return rateShare * (1 - confidence) }

// newPlan is the plan after bad of counted boots of the bad end showed the symptom.
func newPlan(confidence float64, bad, counted int) Plan {
	return Plan{Confidence: confidence, RateLow: stats.RateLow(bad, counted, rateRisk(confidence))}
}

// clean is how many clean boots leave a bad point unseen with a probability of risk at most.
func (p Plan) clean(risk float64) int {
	if p.RateLow <= 0 {
		return math.MaxInt32
	}
	const rounding = 1e-12
	n := math.Ceil(math.Log(risk) / math.Log1p(-p.RateLow) * (1 - rounding))
	return max(1, int(min(n, math.MaxInt32)))
}

// StepRuns is how many clean boots make a point good.
func (p Plan) StepRuns() int { return p.clean(stepRisk) }

// Unseen is the probability, at most, that a bad point gives that many clean boots.
func (p Plan) Unseen(clean int) float64 { return math.Pow(1-p.RateLow, float64(clean)) }

// Missed is the probability, at most, that any of so many points that were decided is bad and passed as good.
func (p Plan) Missed(points int) float64 { return min(1, float64(points)*p.Unseen(p.StepRuns())) }

// ConfirmRuns is how many more clean boots of the last good point confirm the culprit, where missed is the probability
// that a step erred.
func (p Plan) ConfirmRuns(missed float64) int {
	left := (1 - rateShare) * (1 - p.Confidence)
	return p.clean(min(1, left/max(missed, left)))
}

// Wrong is the probability, at most, that the culprit is another point, after confirmed clean boots of the last good one.
func (p Plan) Wrong(missed float64, confirmed int) float64 {
	return min(1, rateRisk(p.Confidence)+missed*p.Unseen(confirmed))
}
