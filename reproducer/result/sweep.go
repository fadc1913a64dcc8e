package result

import (
	"io"
	"time"

	"bondrepro/scenarios"
)

// SweepSchema is the version of the Sweep's JSON form; it grows when a field changes its meaning or goes.
const SweepSchema = 1

// KindSweep tells a Sweep's file from others.
const KindSweep = "sweep"

// Sweep is a scenario measured over one or two parameters.
type Sweep struct {
	Kind     string             `json:"kind"` // KindSweep
	Schema   int                `json:"schema"`
	Tool     string             `json:"tool"`
	Created  time.Time          `json:"created"`
	Scenario scenarios.Scenario `json:"scenario"`
	Set      []string           `json:"set,omitempty"`
	Over     []SweptParameter   `json:"over"`
	Order    Order              `json:"order"` // Runs are those of a point
	Testbed  string             `json:"testbed,omitempty"`
	Host     *Host              `json:"host,omitempty"`
	Guest    *Guest             `json:"guest,omitempty"`
	Metrics  []string           `json:"metrics"` // those of the points
	Points   []SweepPoint       `json:"points"`  // the values of the last parameter change first
	// Crossings tell where drops begin beside where the preflight sum says so; none where a scenario has no such sum.
	Crossings []Crossing `json:"crossings,omitempty"`
	Samples   []Sample   `json:"samples"` // Arm is the point's name
	Warnings  []Warning  `json:"warnings,omitempty"`
}

// SweptParameter is a path and its values, in order.
type SweptParameter struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`
}

// SweepPoint is one value of each parameter, and what was measured there.
type SweepPoint struct {
	Name    string             `json:"name"`
	Values  []string           `json:"values"` // one a parameter
	Figures map[string]Summary `json:"figures,omitempty"`
	// Preflight is nil where the workload has no such sum.
	Preflight *Preflight `json:"preflight,omitempty"`
	Failed    int        `json:"failed,omitempty"` // runs that do not count
	Why       string     `json:"why,omitempty"`    // the first of them
}

// Crossing is where drops begin along the first parameter: the first value, in the order of the sweep.
type Crossing struct {
	At        string `json:"at,omitempty"`        // the second parameter's value; empty where there is none
	Measured  string `json:"measured,omitempty"`  // empty: nowhere
	Predicted string `json:"predicted,omitempty"` // by the preflight sum; empty: nowhere
	Tight     string `json:"tight,omitempty"`     // from here on the sum fits with the ring only
}

// EncodeSweep writes the sweep as one JSON document, ending in a newline.
func EncodeSweep(w io.Writer, s Sweep) error { return encodeDocument(w, s) }
