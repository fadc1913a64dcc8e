package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// acceptable are the diagnoses (reproducer/result, Diagnoses) that a good kernel may show where a scenario provokes them.
var acceptable = []string{"sndbuf-exceeds-queue", "broadcast-clones"}

// verdictRules are about what makes a verdict.
var verdictRules = []rule{
	func(s *Scenario) *problem {
		for i, text := range s.Expect {
			if _, err := ParseExpr(text); err != nil {
				p := bad(fmt.Sprintf("expect.%d", i), "%s", sentence(err))
				var e *Error
				if errors.As(err, &e) {
					p.offset = max(e.Column-1, 0)
				}
				return p
			}
		}
		return nil
	},
	func(s *Scenario) *problem {
		for i, code := range s.Accept {
			if !slices.Contains(acceptable, code) {
				return bad(fmt.Sprintf("accept.%d", i), "%q is no diagnosis that a scenario can provoke%s (there are: %s)", code, didYouMean(code, acceptable), strings.Join(acceptable, ", "))
			}
		}
		return nil
	},
	func(s *Scenario) *problem {
		if r := s.Runs.SymptomRate; !(r > 0 && r <= 1) {
			return bad("runs.symptom_rate", "%v is not possible; it is a share of the runs of a bad kernel, above 0 and at most 1", r)
		}
		if c := s.Runs.Confidence; !(c > 0 && c < 1) {
			return bad("runs.confidence", "%v is not possible; it is a probability above 0 and below 1", c)
		}
		return nil
	},
	func(s *Scenario) *problem {
		if n := s.Runs.Needed(); n > s.Runs.Max {
			return bad("runs.max", "%d runs can never give good; symptom_rate %v and confidence %v need %d clean runs",
				s.Runs.Max, s.Runs.SymptomRate, s.Runs.Confidence, n).also("runs.symptom_rate", "runs.confidence")
		}
		return nil
	},
}

// placeFields are what a testbed is made for. Both arms are measured in the same.
var placeFields = []struct {
	path, what string
	value      func(*Scenario) int
}{
	{"topology.slaves.count", "the number of slaves", func(s *Scenario) int { return s.Topology.Slaves.Count }},
	{"topology.kind", "whether there is a bond", func(s *Scenario) int {
		if s.OnBond() {
			return 1
		}
		return 0
	}},
	{"topology.slaves.queues", "the number of TX queues", func(s *Scenario) int { return s.Topology.Slaves.Queues }},
}

// brokenControl is what is wrong with the control: it must be something that can be measured, and something else
// than the test arm.
func (s *Scenario) brokenControl() *problem {
	if len(s.Control) == 0 {
		return nil
	}
	for _, path := range sortedKeys(s.Control) {
		if path == "control" || strings.HasPrefix(path, "control.") {
			return bad("control."+path, "a control can't set a control")
		}
	}
	arm, p := s.controlArm()
	if p != nil {
		return p
	}
	for _, f := range placeFields {
		if f.value(s) != f.value(&arm) {
			return bad(s.controlOf(f.path), "%s can't differ from the test arm: both are measured in one place", f.what)
		}
	}
	if p := arm.broken(); p != nil {
		path := "control"
		if keys := sortedKeys(s.Control); len(keys) == 1 {
			path += "." + keys[0]
		}
		return bad(path, "the control arm is not possible: %s %s", p.path, p.text)
	}
	test := *s
	test.Control = map[string]any{}
	if !arm.Equal(test) {
		return nil
	}
	var fields []string // on either side
	for _, path := range sortedKeys(s.Control) {
		fields = append(fields, "control."+path, path)
	}
	var w yamlWriter
	return bad("control", "%s sets only what the test arm has already, so the two can't differ; set something else, or write control: {} for none "+
		"(on the command line: --set 'control={}')", w.flow(plainAny(s.Control))).also(fields...)
}

// controlOf is the entry of the control that sets a field.
func (s *Scenario) controlOf(path string) string {
	for _, key := range sortedKeys(s.Control) {
		if key == path || strings.HasPrefix(path, key+".") {
			return "control." + key
		}
	}
	return "control"
}
