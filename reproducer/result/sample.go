package result

// Sample is one measurement of one arm of a comparison.
type Sample struct {
	Arm  string `json:"arm"`
	Case string `json:"case,omitempty"` // of the scenario's cases; empty where it has none
	// Boot is the boot it was measured in, from 1. Boots are counted over the whole comparison: samples of two arms that have
	// the same number are of one and the same boot. 1 where nothing is booted.
	Boot int `json:"boot"`
	At   int `json:"at"` // place in the order over all arms, from 1; 0: not known
	// Warmup samples are measured and left out of the statistics.
	Warmup bool `json:"warmup,omitempty"`
	// Metrics are values of the metric table (scenarios.Metrics). Empty where Failure is set.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Failure string             `json:"failure,omitempty"` // why the measurement does not count, one sentence
	TookS   float64            `json:"took_s"`
}
