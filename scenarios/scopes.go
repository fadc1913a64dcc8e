package scenarios

import (
	"reflect"
	"slices"
	"strings"
)

// OnBond tells whether the scenario is about a bond: then it sends udp-multicast, and a run of it is a Recording. Else
// it is a workload of Load, of which a measurement is figures only.
func (s *Scenario) OnBond() bool { return s.Topology.Kind == KindBond }

// judged tells whether a run of the scenario has a verdict.
func (s *Scenario) judged() bool { return s.OnBond() && len(s.Arms) == 0 }

// scope is a field, or a group of fields, that goes with some scenarios only. In others it has its standard value.
type scope struct {
	path string
	has  func(*Scenario) bool
	why  string   // the sentence about it elsewhere
	on   []string // the fields that decide
}

// doing is a scope of some workloads.
func doing(path string, workloads ...string) scope {
	with := "workload " + strings.Join(workloads, ", ")
	for _, tool := range tools {
		if slices.Contains(workloads, toolWorkloads[tool]) {
			with += ", tool " + tool
		}
	}
	return scope{path, func(s *Scenario) bool { return slices.Contains(workloads, s.does()) }, "goes with " + with + " only", []string{"workload", "load.tool"}}
}

func ofBond(path string) scope {
	return scope{path, (*Scenario).OnBond, "goes with topology.kind bond only", []string{"topology.kind", "workload"}}
}

func ofVerdict(path string) scope {
	return scope{path, (*Scenario).judged, "is about a verdict, and what has arms is a comparison: leave it out, or write it empty", []string{"arms"}}
}

var scopes = []scope{
	ofBond("topology.bond"), ofBond("topology.slaves"), ofBond("topology.vlan"),
	ofBond("traffic.groups"), ofBond("traffic.port"), ofBond("traffic.payload"), ofBond("traffic.senders"), ofBond("traffic.rate"),
	ofBond("traffic.batch"), ofBond("traffic.burst"), ofBond("traffic.join"), ofBond("traffic.socket"),
	ofBond("orphan"), ofBond("sampling"), ofBond("guards"), ofBond("faults"),
	ofBond("expect"), ofBond("accept"), ofBond("control"), ofBond("runs"),
	ofVerdict("expect"), ofVerdict("accept"), ofVerdict("control"), ofVerdict("runs"),
	{"load", func(s *Scenario) bool { return !s.OnBond() }, "goes with topology.kind loopback, veth, joined only", []string{"topology.kind", "workload"}},
	doing("load.protocol", WorkloadRR), doing("load.write", WorkloadStream), doing("load.request", WorkloadRR), doing("load.response", WorkloadRR),
	doing("load.payload", WorkloadUDP), doing("load.rate", WorkloadUDP), doing("load.group", WorkloadUDP),
	{"load.tool", func(s *Scenario) bool { return s.Workload == WorkloadExternal }, "goes with workload external only", []string{"workload"}},
}

// outOfScope is the scope that keeps the field at path out of such a scenario, or nil.
func (s *Scenario) outOfScope(path string) *scope { return covering(s.missingScopes(), path) }

// missingScopes are those that such a scenario has not.
func (s *Scenario) missingScopes() (missing []*scope) {
	for i := range scopes {
		if !scopes[i].has(s) {
			missing = append(missing, &scopes[i])
		}
	}
	return missing
}

// covering is the first scope that the field at path is in, or nil.
func covering(list []*scope, path string) *scope {
	for _, c := range list {
		if rest, in := strings.CutPrefix(path, c.path); in && (rest == "" || rest[0] == '.') {
			return c
		}
	}
	return nil
}

// kindRule: a bond has udp-multicast, all else the other workloads.
func kindRule(s *Scenario) *problem {
	switch multicast := s.Workload == WorkloadMulticast; {
	case s.OnBond() && !multicast:
		return bad("workload", "%s does not go over a bond; write topology: {kind: loopback}, or veth or joined", s.Workload).also("topology.kind")
	case !s.OnBond() && multicast:
		return bad("topology.kind", "%s goes with the workloads %s, and workload is %s", s.Topology.Kind, strings.Join(workloads[1:], ", "), s.Workload).also("workload")
	}
	return nil
}

// scopeRule: a field that does not go with the rest is not set.
func scopeRule(s *Scenario) *problem {
	standard := s.standard()
	return stray(s.missingScopes(), reflect.ValueOf(s).Elem(), reflect.ValueOf(&standard).Elem(), "")
}

// stray is the first field of v that is in one of the scopes and not as in standard.
func stray(missing []*scope, v, standard reflect.Value, parent string) *problem {
	for i := range v.NumField() {
		name := yamlName(v.Type().Field(i))
		if name == "" {
			continue
		}
		path := join(parent, name)
		if field := v.Field(i); field.Kind() == reflect.Struct && len(fieldNames(field.Type())) > 0 {
			if p := stray(missing, field, standard.Field(i), path); p != nil {
				return p
			}
			continue
		}
		c := covering(missing, path)
		if c != nil && !reflect.DeepEqual(v.Field(i).Interface(), standard.Field(i).Interface()) {
			return bad(path, "%s", c.why).also(c.on...)
		}
	}
	return nil
}
