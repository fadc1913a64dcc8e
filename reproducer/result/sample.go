package result

// Sample is one measurement of one arm of a comparison.
type Sample struct {
	Arm  string `json:"arm"`
	Boot int    `json:"boot"` // of the arm, from 1; 1 where nothing is booted
	At   int    `json:"at"`   // place in the order over all arms, from 1; 0: not known
	// Warmup samples are measured and left out of the statistics.
	Warmup bool `json:"warmup,omitempty"`
	// Metrics are values of the metric table (scenarios.Metrics). Empty where Failure is set.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Failure string             `json:"failure,omitempty"` // why the measurement does not count, one sentence
	TookS   float64            `json:"took_s"`
}
