package bisect

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// Log is the journal of a folder's bisect, a line an event; it may be under way.
func Log(folder string) ([]string, error) {
	events, err := readJournal(folder)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = e.String()
	}
	return lines, nil
}

// Status says in a few lines how far a folder's bisect is; it may be under way.
func Status(folder string) (string, error) {
	events, err := readJournal(folder)
	if err != nil {
		return "", err
	}
	s := newState()
	for _, e := range events {
		s.apply(e)
	}
	last := events[len(events)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", events[0])
	fmt.Fprintf(&b, "folder: %s\n", folder)
	fmt.Fprintf(&b, "so far: %s, %s\n", result.Plural(len(s.visits), "point"), result.Plural(len(s.boots), "boot"))
	if bad, counted, known := s.rate(); counted > 0 {
		fmt.Fprintf(&b, "symptom: %s, in %d of %d boots of the bad end\n", orNone(s.diagnosis), bad, counted)
		if known {
			plan := newPlan(s.params.Confidence, bad, counted)
			fmt.Fprintf(&b, "a step is good after %s\n", result.Plural(plan.StepRuns(), "clean boot"))
		}
	}
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Role == roleStep && e.Left > 0 {
			fmt.Fprintf(&b, "candidates before the last step: %d\n", e.Left)
			break
		}
	}
	fmt.Fprintf(&b, "last: %s\n", last)
	if last.Kind != evEnd {
		fmt.Fprintf(&b, "if it is not under way, 'bondrepro bisect resume --dir %s' goes on\n", folder)
	}
	return b.String(), nil
}

func orNone(s string) string {
	if s == "" {
		return "none yet"
	}
	return s
}
