package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// UnmarshalJSON reads a scenario as a result file holds it: strictly, and with the defaults of those fields that
// result files of before had not. Whatever else a document leaves out stays as it is in s, as in encoding/json.
func (s *Scenario) UnmarshalJSON(data []byte) error {
	type plain Scenario // without this method
	p := plain(*s)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		// An offset into data would be taken for one into the file around it.
		return fmt.Errorf("the scenario: %s", err)
	}
	*s = Scenario(p)
	s.completeOld()
	return nil
}

// completeOld gives the fields that are younger than the format their defaults. Zero is no value of any of them.
func (s *Scenario) completeOld() {
	standard := Default()
	if s.Topology.Slaves.Queues == 0 {
		s.Topology.Slaves.Queues = standard.Topology.Slaves.Queues
	}
	if s.Traffic.Burst.Every == 0 {
		s.Traffic.Burst.Every = standard.Traffic.Burst.Every
	}
	if s.Topology.Kind == "" {
		s.Topology.Kind = standard.Topology.Kind
	}
	if s.Load.Connections == 0 {
		s.Load = standard.Load
	}
	if s.Sysctl == nil {
		s.Sysctl = standard.Sysctl
	}
	if s.Arms == nil {
		s.Arms = standard.Arms
	}
	if s.Cases == nil {
		s.Cases = standard.Cases
	}
	if s.Sweep == nil {
		s.Sweep = standard.Sweep
	}
	if s.Accept == nil {
		s.Accept = standard.Accept
	}
}
