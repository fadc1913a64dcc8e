package bisect

import (
	"fmt"
	"strings"
	"time"

	"bondrepro/reproducer/result"
)

// The kinds of events.
const (
	evBegin  = "begin"  // the first one: Params
	evMade   = "made"   // a point was built or fetched and can be booted
	evBroken = "broken" // a point can't be, by its own fault
	evTrial  = "trial"  // a boot
	evEnd    = "end"    // the report is written
)

// kinds are all of them: a journal with another is of a version that knows more.
var kinds = []string{evBegin, evMade, evBroken, evTrial, evEnd}

// event is one line of the journal. What was done is known from the events alone.
type event struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Params *Params   `json:"params,omitempty"`
	ID     string    `json:"id,omitempty"`
	Name   string    `json:"name,omitempty"`
	Role   string    `json:"role,omitempty"`
	// Left is how many points the step's candidates are, before it.
	Left        int           `json:"left,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	BuildS      float64       `json:"build_s,omitempty"`
	Reason      string        `json:"reason,omitempty"`
	Trial       *result.Trial `json:"trial,omitempty"`
}

// The roles a point is tried in.
const (
	roleBadEnd   = "bad-end"
	roleGoodEnd  = "good-end"
	roleStep     = "step"
	roleConfirm  = "confirm"  // the good one of the two points the search ended with, afresh
	roleCulprit  = "culprit"  // the bad one, once more
	roleReverted = "reverted" // the new end without the culprit's change
)

// roleWords are the roles in the log.
var roleWords = map[string]string{
	roleBadEnd: "bad end", roleGoodEnd: "good end", roleStep: "step", roleConfirm: "confirming the good side",
	roleCulprit: "confirming the bad side", roleReverted: "without the change",
}

// verdictWords are verdicts as people read them.
var verdictWords = map[result.Verdict]string{result.Good: "GOOD", result.Bad: "BAD", result.Inconclusive: "CANNOT TELL"}

// String is the event as a line of the log.
func (e event) String() string {
	var what string
	switch e.Kind {
	case evBegin:
		p := e.Params
		what = fmt.Sprintf("bisect %s of %s: good %s, bad %s, confidence %g", p.Kind, p.Scenario.Name, p.Good, p.Bad, p.Confidence)
		if p.FindFix {
			what += ", find-fix"
		}
	case evMade:
		what = fmt.Sprintf("%s: %s", roleWords[e.Role], e.Name)
		if e.Role == roleStep {
			what += fmt.Sprintf(" (one of %s)", result.Plural(e.Left, "candidate"))
		}
		what += fmt.Sprintf(", ready in %.0f s", e.BuildS)
	case evBroken:
		what = fmt.Sprintf("%s: %s: skipped: %s", roleWords[e.Role], e.Name, firstLine(e.Reason))
	case evTrial:
		word := verdictWords[e.Trial.Verdict]
		if e.Trial.Other {
			word += " for another reason than the bad end, counts for neither side,"
		}
		what = fmt.Sprintf("  %s in %.0f s: %s", word, e.Trial.TookS, firstLine(e.Trial.Reason))
	case evEnd:
		what = "done: " + e.Reason
	}
	return e.At.Local().Format("2006-01-02 15:04:05 ") + what
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
