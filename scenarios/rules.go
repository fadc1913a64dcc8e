package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// problem is a rule that does not hold: the field it is about, where in its value, and a sentence.
type problem struct {
	path   string
	offset int // characters into the value
	text   string
	others []string // the other fields it is about
}

// also names the other fields the rule is about: the one that an assignment set last is what the user wants to be
// shown.
func (p *problem) also(paths ...string) *problem {
	p.others = paths
	return p
}

// error is the problem at its place.
func (p *problem) error(from origins) *Error {
	at, known := from.find(p.path)
	for _, other := range p.others {
		if o, ok := from.find(other); ok && (!known || at.file != "" && o.file == "") {
			return o.error(p.path, p.text)
		}
	}
	if !known {
		return &Error{Path: p.path, Message: p.text}
	}
	e := at.error(p.path, p.text)
	if p.offset > 0 && at.inner >= 0 {
		e.Column += at.inner + p.offset
	}
	return e
}

func bad(path, format string, args ...any) *problem {
	return &problem{path: path, text: fmt.Sprintf(format, args...)}
}

// rule returns nil when it holds.
type rule func(*Scenario) *problem

// rules are all that hold of each arm, in the order they are checked: a later rule may rely on the earlier ones.
var (
	rules     = slices.Concat([]rule{choiceRule, kindRule, rangeRule, scopeRule}, generalRules)
	bondRules = slices.Concat(topologyRules, trafficRules, burstRules, verdictRules)
)

// broken is the first rule that does not hold, the control and the arms of a comparison left aside.
func (s *Scenario) broken() *problem {
	for _, r := range s.rules() {
		if p := r(s); p != nil {
			return p
		}
	}
	return nil
}

// rules are those that are about a scenario like this one.
func (s *Scenario) rules() []rule {
	if s.OnBond() {
		return slices.Concat(rules, bondRules)
	}
	return slices.Concat(rules, loadRules)
}

// Validate tells whether the scenario is possible, by the first rule that does not hold, as an *Error.
func (s Scenario) Validate() error {
	p := s.broken()
	if p == nil {
		p = expectRule(&s)
	}
	if p == nil {
		p = s.brokenControl()
	}
	if p == nil {
		p = s.brokenComparison()
	}
	if p == nil {
		return nil
	}
	return p.error(s.from)
}

// choice is a field that takes one of some words.
type choice struct {
	path  string
	value func(*Scenario) *string // nil: the field is not set
	words []string                // of the bond's options in the order of the numbers that the kernel has for them
}

// choiceAt is the choice of the field at path, or nil.
func choiceAt(path string) *choice {
	i := slices.IndexFunc(choices, func(c choice) bool { return c.path == path })
	if i < 0 {
		return nil
	}
	return &choices[i]
}

// didYouMean is "; did you mean X?" or "": the word nearest to a text, or the one a number stands for in the bond's options
// (bond_mode_tbl and its like, drivers/net/bonding/bond_options.c).
func (c *choice) didYouMean(text string) string {
	if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(c.words) && strings.HasPrefix(c.path, "topology.bond.") {
		return "; did you mean " + c.words[i] + "?"
	}
	return didYouMean(text, c.words)
}

var choices = []choice{
	{"workload", func(s *Scenario) *string { return &s.Workload }, workloads},
	{"topology.kind", func(s *Scenario) *string { return &s.Topology.Kind }, []string{KindBond, KindLoopback, KindVeth, KindJoined}},
	{"load.protocol", func(s *Scenario) *string { return &s.Load.Protocol }, []string{"tcp", "udp"}},
	{"load.tool", func(s *Scenario) *string { return optional(&s.Load.Tool) }, tools},
	{"orphan", func(s *Scenario) *string { return &s.Orphan }, []string{"none", "netem"}},
	{"topology.bond.mode", func(s *Scenario) *string { return &s.Topology.Bond.Mode }, bondModes},
	{"topology.bond.xmit_hash_policy", func(s *Scenario) *string { return s.Topology.Bond.XmitHashPolicy }, hashPolicies},
	{"topology.bond.fail_over_mac", func(s *Scenario) *string { return s.Topology.Bond.FailOverMAC }, []string{"none", "active", "follow"}},
	{"topology.bond.lacp_rate", func(s *Scenario) *string { return s.Topology.Bond.LACPRate }, []string{"slow", "fast"}},
	{"topology.slaves.qdisc", func(s *Scenario) *string { return &s.Topology.Slaves.Qdisc }, []string{"pfifo_fast", "pfifo", "fq", "fq_codel"}},
}

// optional is a text that may be left out.
func optional(text *string) *string {
	if *text == "" {
		return nil
	}
	return text
}

func choiceRule(s *Scenario) *problem {
	for _, c := range choices {
		word := c.value(s)
		switch {
		case word == nil || slices.Contains(c.words, *word):
		default:
			return bad(c.path, "%q is not allowed%s (allowed: %s)", *word, c.didYouMean(*word), strings.Join(c.words, ", "))
		}
	}
	return nil
}
