package scenarios

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// younger are the fields that result files of the first version have not.
var younger = []string{"topology.slaves.queues", "topology.vlan", "traffic.burst", "traffic.join", "accept",
	"topology.kind", "load", "sysctl", "arms", "cases", "sweep"}

// A scenario of an old result file is what it was, with the defaults of what it did not know.
func TestOldJSON(t *testing.T) {
	want := Default()
	want.Traffic.Senders, want.Traffic.Payload = 8, 1400
	var doc map[string]any
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range younger {
		remove(t, doc, path)
	}
	if data, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	var s Scenario
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if !s.Equal(want) {
		t.Errorf("got %#v\nof %s", s, data)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if arm, err := s.ControlArm(); err != nil || arm.Topology.Slaves.Queues != 1 {
		t.Errorf("control: %v, %#v", err, arm)
	}
}

func remove(t *testing.T, doc map[string]any, path string) {
	t.Helper()
	parent, last := cutLast(path)
	for parent != "" {
		name, rest, _ := strings.Cut(parent, ".")
		doc, parent = doc[name].(map[string]any), rest
	}
	if _, there := doc[last]; !there {
		t.Fatalf("%s is not in the document", path)
	}
	delete(doc, last)
}

// Every field has a value in what is written, so that a reader can tell a field of another version from one left out.
func TestJSONHasEveryField(t *testing.T) {
	data, err := json.Marshal(Default())
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths("", reflect.TypeFor[Scenario]()) {
		if !strings.HasPrefix(path, "topology.bond.") { // nil is the kernel's default there
			remove(t, clone(doc), path)
		}
	}
}

func clone(doc map[string]any) map[string]any {
	c := map[string]any{}
	for k, v := range doc {
		if inner, ok := v.(map[string]any); ok {
			v = clone(inner)
		}
		c[k] = v
	}
	return c
}

// What is no scenario is said to be none, field by field.
func TestJSONRefuses(t *testing.T) {
	for src, want := range map[string]string{
		`{"traffic": {"sendrs": 8}}`:                    `unknown field "sendrs"`,
		`{"traffic": {"senders": "many"}}`:              `"many" is not a number of senders`,
		`{"traffic": {"senders": 0}}`:                   `0 senders send nothing`,
		`{"traffic": {"port": "6000"}}`:                 `traffic.port`,
		`[]`:                                            `cannot unmarshal array`,
		`{"traffic": {"groups": {"first": "ff05::1"}}}`: `count is 0`,
	} {
		s := Default()
		err := json.Unmarshal([]byte(src), &s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
		if kind := new(json.UnmarshalTypeError); errors.As(err, &kind) {
			t.Errorf("%s: %v holds an offset that is not one into the whole file", src, err)
		}
	}
}
