package result

import "time"

// BisectSchema is the version of the BisectReport's JSON form; it grows when a field changes its meaning or goes.
const BisectSchema = 1

// Trial is one boot of one point of a bisect.
type Trial struct {
	Verdict   Verdict   `json:"verdict"` // of this boot: inconclusive counts for neither side
	Cause     Cause     `json:"cause,omitempty"`
	Diagnosis string    `json:"diagnosis,omitempty"` // code of what decides, see Diagnoses
	Reason    string    `json:"reason"`              // one sentence
	Failed    bool      `json:"failed,omitempty"`    // the kernel did not boot, panicked, hung or has no bonding
	Other     bool      `json:"other,omitempty"`     // BAD for another reason than the bad end: it counts for neither side
	Predicted bool      `json:"predicted,omitempty"` // the preflight sum exceeds the queue: good kernels drop, too
	LineRate  []float64 `json:"line_rate,omitempty"` // bits/s, one a slave
	// Fingerprint is a hash of the image and of every loaded module.
	Fingerprint string  `json:"fingerprint,omitempty"`
	TookS       float64 `json:"took_s"`
	// File is the whole Result, in the bisect's folder.
	File string `json:"file,omitempty"`
	// Metrics are those of TrialMetrics that the boot's last run of the test arm gave.
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// TrialMetrics are the metrics that stand for a trial as its evidence.
var TrialMetrics = []string{"offered", "into", "slaves.qdisc.sent", "slaves.qdisc.dropped", "slaves.qdisc.requeues", "outq.max", "in_flight.median", "uncharged.median", "blocked.share"}

// BisectStep is one point that was tried.
type BisectStep struct {
	ID      string  `json:"id"` // commit, or package
	Name    string  `json:"name"`
	Role    string  `json:"role"`    // bad-end, good-end, step, parent, culprit, reverted
	Outcome string  `json:"outcome"` // good, bad, skipped
	Why     string  `json:"why"`     // one sentence
	Trials  []Trial `json:"trials"`
	// Reused is how many of the trials are of an earlier step with the same image and modules.
	Reused int     `json:"reused,omitempty"`
	BuildS float64 `json:"build_s"`
}

// BisectReport is what a bisect found and how.
type BisectReport struct {
	Schema   int       `json:"schema"`
	Tool     string    `json:"tool"`
	Kind     string    `json:"kind"` // tree, module, packages
	Scenario string    `json:"scenario"`
	Created  time.Time `json:"created"`
	FindFix  bool      `json:"find_fix,omitempty"`
	// Culprit is the first point of the new kind; empty when it could not be told. Candidates are then all it may be.
	Culprit    string   `json:"culprit,omitempty"`
	Name       string   `json:"name,omitempty"`
	Candidates []string `json:"candidates,omitempty"`
	Diagnosis  string   `json:"diagnosis"` // of the bad end
	// Rate is the share of boots of the bad end that showed the symptom, RateLow its lower bound.
	Rate    float64 `json:"rate"`
	RateLow float64 `json:"rate_low"`
	// StepRuns clean boots made a point good, ConfirmRuns the last good one.
	StepRuns    int `json:"step_runs"`
	ConfirmRuns int `json:"confirm_runs"`
	// Confidence is what was asked for, Wrong the bound of the probability that the culprit is another.
	Confidence float64      `json:"confidence"`
	Wrong      float64      `json:"wrong"`
	Steps      []BisectStep `json:"steps"`
	// Confirmed tell how the culprit was confirmed, in sentences.
	Confirmed []string  `json:"confirmed,omitempty"`
	Warnings  []Warning `json:"warnings,omitempty"`
	Boots     int       `json:"boots"`
	TookS     float64   `json:"took_s"`
}
