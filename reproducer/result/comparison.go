package result

import (
	"time"

	"bondrepro/scenarios"
)

// ComparisonSchema is the version of the Comparison's JSON form; it grows when a field changes its meaning or goes.
const ComparisonSchema = 1

// KindComparison tells a Comparison's file from a Result's.
const KindComparison = "comparison"

// Comparison is arms of one scenario measured in turns, and what can be said about their differences. All samples are in it, so
// that it can be compared again.
type Comparison struct {
	Kind     string             `json:"kind"` // KindComparison
	Schema   int                `json:"schema"`
	Tool     string             `json:"tool"`
	Created  time.Time          `json:"created"`
	Scenario scenarios.Scenario `json:"scenario"` // without the arms' settings
	Set      []string           `json:"set,omitempty"`
	Arms     []ComparedArm      `json:"arms"`  // the first is what the others are compared with
	Cases    []ComparedCase     `json:"cases"` // what each arm is measured on; one without a name where the scenario has none
	Order    Order              `json:"order"`
	Minimum  float64            `json:"minimum"` // the smallest difference that matters, percent
	// Differences are those of one family: their p are corrected together.
	Differences []MetricDifference  `json:"differences"`
	Calibration []MetricCalibration `json:"calibration,omitempty"`
	// Alone is what was measured where there is one arm only, and so no difference.
	Alone []MetricSummary `json:"alone,omitempty"`
	// CalibrationSamples are what Calibration was made of, one list a comparison of the arm with itself.
	CalibrationSamples [][]Sample `json:"calibration_samples,omitempty"`
	Gates              []Gate     `json:"gates,omitempty"` // of --fail-if
	Samples            []Sample   `json:"samples"`
	Warnings           []Warning  `json:"warnings,omitempty"`
}

// ComparedArm is one configuration of a Comparison.
type ComparedArm struct {
	Name     string   `json:"name"`
	Settings []string `json:"settings,omitempty"` // KEY=VALUE, in order
	File     string   `json:"file,omitempty"`     // that the samples were read from
	Testbed  string   `json:"testbed,omitempty"`  // netns, vm, host
	Host     *Host    `json:"host,omitempty"`
	Guest    *Guest   `json:"guest,omitempty"` // nil unless the testbed is vm
	// Boots are how many places it was measured in: guests booted, or 1.
	Boots int `json:"boots"`
}

// ComparedCase is one row of a Comparison: what all arms are measured on.
type ComparedCase struct {
	Name     string `json:"name"`
	Workload string `json:"workload"`
	Tool     string `json:"tool,omitempty"` // of an external workload
}

// Release is the kernel that the arm ran on, as uname -r has it; "" where nobody knows.
func (a ComparedArm) Release() string {
	switch {
	case a.Guest != nil:
		return a.Guest.Kernel
	case a.Host != nil && a.Testbed != "vm":
		return a.Host.Kernel
	}
	return ""
}

// Order is how the samples of a Comparison were placed in time.
type Order struct {
	Kind   string `json:"kind"` // abba, random, files
	Seed   uint64 `json:"seed,omitempty"`
	Runs   int    `json:"runs"`   // of an arm, in all of its boots together
	Boots  int    `json:"boots"`  // of an arm
	Warmup int    `json:"warmup"` // samples of an arm in each boot that are left out
}

// The kinds of Order.
const (
	OrderABBA   = "abba"   // forth and back: a drift that is steady is in all arms alike
	OrderRandom = "random" // all arms in a new random order each time
	OrderFiles  = "files"  // one arm after the other: read from files
)

// MetricDifference is what can be said about one metric of two arms. Differences are other's less base's.
type MetricDifference struct {
	Metric  string            `json:"metric"`
	Unit    string            `json:"unit"`
	Better  string            `json:"better,omitempty"` // higher, lower; empty: neither
	Case    string            `json:"case,omitempty"`
	Base    string            `json:"base"` // arms
	Other   string            `json:"other"`
	Counts  string            `json:"counts"` // runs or boots: what n counts
	BaseIs  Summary           `json:"base_is"`
	OtherIs Summary           `json:"other_is"`
	Value   float64           `json:"difference"`
	Range   *Interval         `json:"difference_interval,omitempty"` // 95 %; nil where an arm has one unit
	Percent *Percent          `json:"percent,omitempty"`             // nil: no percentage can be said
	Welch   *Test             `json:"welch,omitempty"`               // nil: an arm has one unit, or neither varies
	Rank    *Test             `json:"mann_whitney,omitempty"`        // nil: an arm has one unit
	P       *P                `json:"p,omitempty"`                   // of equal means
	PLarge  *P                `json:"p_minimum,omitempty"`           // of a difference within the minimum effect
	Verdict DifferenceVerdict `json:"verdict"`
	Why     string            `json:"why,omitempty"` // of cannot-tell, see internal/stats
	Notes   []SideNote        `json:"warnings,omitempty"`
}

// MetricSummary is one metric of a single arm.
type MetricSummary struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Case   string  `json:"case,omitempty"`
	Counts string  `json:"counts"` // runs or boots: what n counts
	Is     Summary `json:"is"`
}

// Summary describes one arm's values, in the metric's unit.
type Summary struct {
	N        int       `json:"n"` // units
	Runs     int       `json:"runs"`
	Boots    int       `json:"boots"`
	Mean     float64   `json:"mean"`
	SD       float64   `json:"sd"`
	Interval *Interval `json:"interval,omitempty"` // of the mean, 95 %; nil where n is 1
	Median   float64   `json:"median"`
	Min      float64   `json:"min"`
	Max      float64   `json:"max"`
}

// Interval is a range, both ends in it.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Percent is a difference in percent of base's mean.
type Percent struct {
	Value    float64   `json:"value"`
	Interval *Interval `json:"interval,omitempty"` // 95 %
}

// Test is a test of two samples.
type Test struct {
	Statistic float64 `json:"statistic"`    // Welch's t; U of Mann and Whitney
	DF        float64 `json:"df,omitempty"` // of Welch's
	P         float64 `json:"p"`            // two-sided
	Method    string  `json:"method,omitempty"`
}

// P is a probability, and the same corrected for all differences of the comparison (Holm).
type P struct {
	Value float64 `json:"value"`
	Holm  float64 `json:"holm"`
}

// DifferenceVerdict is what is claimed of a metric: those of internal/stats.
type DifferenceVerdict string

// The verdicts. Higher and Lower are about numbers.
const (
	DifferenceHigher     DifferenceVerdict = "higher"
	DifferenceLower      DifferenceVerdict = "lower"
	DifferenceNone       DifferenceVerdict = "no-difference-that-matters"
	DifferenceCannotTell DifferenceVerdict = "cannot-tell"
)

// Improves tells whether the other arm is better, and Worsens whether it is worse; both are false without a claim or where no
// direction is better.
func (d MetricDifference) Improves() bool { return d.toward(d.Better) }

// Worsens is described at Improves.
func (d MetricDifference) Worsens() bool {
	return d.toward(map[string]string{"higher": "lower", "lower": "higher"}[d.Better])
}

func (d MetricDifference) toward(direction string) bool {
	return direction != "" && string(d.Verdict) == direction
}

// SideNote is a warning about the values of an arm, or of both (Of is empty).
type SideNote struct {
	Code string `json:"code"`
	Of   string `json:"of,omitempty"` // arm
	Text string `json:"text"`
}

// MetricCalibration is what comparing the first arm with itself showed in one metric of one case: the noise of the machine.
type MetricCalibration struct {
	Metric      string   `json:"metric"`
	Case        string   `json:"case,omitempty"`
	Comparisons int      `json:"comparisons"`
	Tested      int      `json:"tested"` // that have a p
	Seen        int      `json:"seen"`   // with a p below 0.05, uncorrected: differences that are not there
	Rate        Interval `json:"rate"`   // of such differences, 95 %
	Claimed     int      `json:"claimed"`
	Floor       float64  `json:"floor"`        // no smaller difference is claimed; the metric's unit
	FloorChance float64  `json:"floor_chance"` // of a difference above it in one more comparison of the arm with itself
	TooMany     bool     `json:"too_many"`     // more differences than chance gives: no p of this metric means what it says
}

// Gate is one condition of --fail-if, for one metric of one arm and one case.
type Gate struct {
	Expr   string      `json:"expr"`
	Other  string      `json:"other"`
	Case   string      `json:"case,omitempty"`
	State  GateVerdict `json:"state"`
	Reason string      `json:"reason"` // a clause with the figures
}

// GateVerdict is whether a condition of --fail-if holds.
type GateVerdict string

// The verdicts of gates.
const (
	GateTrue       GateVerdict = "true"        // the whole interval is beyond the bound
	GateFalse      GateVerdict = "false"       // none of it is
	GateCannotTell GateVerdict = "cannot-tell" // a part of it is, or there is no percentage
)
