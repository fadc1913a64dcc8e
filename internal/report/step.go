package report

import (
	"strings"

	"bondrepro/reproducer/result"
)

// stepWords are a step's outcomes as git bisect understands them.
var stepWords = map[string]string{"good": "GOOD", "bad": "BAD", "skipped": "CANNOT TELL"}

// Step is the outcome of one step, for people: what was measured, the last boot's evidence, and why.
func Step(s result.BisectStep) string {
	var b strings.Builder
	name := s.Name
	if name == "" {
		name = "this kernel"
	}
	wrap(&b, stepWords[s.Outcome]+": ", name)
	if len(s.Trials)+s.Reused > 0 {
		wrap(&b, "  boots: ", bootsText(s))
	}
	wrap(&b, "  ", s.Why)
	if len(s.Trials) == 0 {
		return b.String()
	}
	var cells [][]string
	last := &s.Trials[len(s.Trials)-1]
	for _, metric := range result.TrialMetrics {
		if _, ok := last.Metrics[metric]; ok {
			cells = append(cells, []string{"  " + metric, trialMetric(last, metric)})
		}
	}
	if len(cells) > 0 {
		align(&b, cells)
	}
	return b.String()
}
