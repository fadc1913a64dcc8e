package result

import (
	"io"
	"time"

	"bondrepro/scenarios"
)

// SearchSchema is the version of the Search's JSON form; it grows when a field changes its meaning or goes.
const SearchSchema = 1

// KindSearch tells a Search's file from others.
const KindSearch = "search"

// Search is the search for the highest value that a condition holds at.
type Search struct {
	Kind       string             `json:"kind"` // KindSearch
	Schema     int                `json:"schema"`
	Tool       string             `json:"tool"`
	Created    time.Time          `json:"created"`
	Scenario   scenarios.Scenario `json:"scenario"`
	Set        []string           `json:"set,omitempty"`
	Path       string             `json:"path"`
	Unit       string             `json:"unit,omitempty"` // of values: bit/s, packets/s, or none
	Until      string             `json:"until"`          // the condition
	From       float64            `json:"from"`
	To         float64            `json:"to"`
	Resolution float64            `json:"resolution"` // of the interval's upper end, a share
	Confirm    int                `json:"confirm"`    // runs that agree
	Testbed    string             `json:"testbed,omitempty"`
	Host       *Host              `json:"host,omitempty"`
	Guest      *Guest             `json:"guest,omitempty"`
	LineRate   []float64          `json:"line_rate,omitempty"`
	Trials     []SearchTrial      `json:"trials"` // one a value, by value
	Answer     SearchAnswer       `json:"answer"`
	Pass       float64            `json:"pass,omitempty"` // highest value that it holds at; 0 where Answer is fails-everywhere
	Fail       float64            `json:"fail,omitempty"` // lowest value that it fails at; 0 where Answer is holds-everywhere
	Samples    []Sample           `json:"samples"`        // Arm is the value
	Warnings   []Warning          `json:"warnings,omitempty"`
}

// SearchAnswer is how a search ended.
type SearchAnswer string

// The answers.
const (
	SearchFound SearchAnswer = "found"            // Pass and Fail are the interval
	SearchFails SearchAnswer = "fails-everywhere" // already at From
	SearchHolds SearchAnswer = "holds-everywhere" // up to To
)

// SearchTrial is one value and how often the condition held there.
type SearchTrial struct {
	Value float64 `json:"value"`
	Held  int     `json:"held"`
	Runs  int     `json:"runs"`
	Holds bool    `json:"holds"` // in most of them
}

// Mixed tells whether runs of the trial contradict each other.
func (t SearchTrial) Mixed() bool { return t.Held > 0 && t.Held < t.Runs }

// EncodeSearch writes the search as one JSON document, ending in a newline.
func EncodeSearch(w io.Writer, s Search) error { return encodeDocument(w, s) }
