package scenarios

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"
)

// schema.json is checked in for editors; -update renews it.
func TestSchemaIsWhatIsCheckedIn(t *testing.T) {
	made, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "schema.json", string(made))
}

// Every field is in it, and what validates here is valid there: the embedded scenarios, checked by the parts of the
// schema that we use.
func TestSchemaTakesOurScenarios(t *testing.T) {
	made, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(made, &schema); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths("", reflect.TypeFor[Scenario]()) {
		if _, err := property(&schema, path); err != nil {
			t.Error(err)
		}
	}
	ours := sources(t, "testdata/good/*.yaml")
	maps.Copy(ours, sources(t, "*.yaml"))
	for name, src := range ours {
		var v any
		if err := yaml.Unmarshal(src, &v); err != nil {
			t.Fatal(err)
		}
		for reader, v := range map[string]any{"YAML 1.2": v, "YAML 1.1": yaml11(v)} {
			if why := misfit(&schema, v, name); why != "" {
				t.Errorf("as %s reads it: %s", reader, why)
			}
		}
	}
	for _, c := range []string{
		`{traffic: {sendrs: 1}}`, `{traffic: {senders: 0}}`, `{traffic: {senders: many}}`, `{topology: {bond: {mode: broadcats}}}`,
		`{topology: {slaves: {line_rate: fast}}}`, `{traffic: {rate: 9}}`, `{traffic: {groups: []}}`, `{traffic: {duration: long}}`,
		`{traffic: {socket: {sndbuf: big}}}`, `{traffic: {socket: {zerocopy: maybe}}}`, `{faults: [{at: 1s, slave_dwn: 0}]}`,
		`{accept: [lost]}`, `{topology: {slaves: {queues: 0}}}`, `{topology: {vlan: 4095}}`, `{topology: {vlan: off}}`, `{topology: {bond: {primary: -1}}}`, `{traffic: {burst: {packet: 1}}}`,
		`{traffic: {burst: {every: 50}}}`, `{traffic: {join: maybe}}`, `{traffic: {groups: ["2001:db8::1"]}}`, `{traffic: {senders: -1}}`,
		`{traffic: {socket: {sndbuf_force: true}}}`, `{traffic: {socket: {max_pacing_rate: true}}}`, `{traffic: {socket: {gso: true}}}`,
		`{arms: [a]}`, `{arms: {a: 5}}`, `{cases: {a: b}}`, `{sweep: {a: 5}}`, `{sweep: {a: [1]}}`, `{topology: {kind: brige}}`, `{load: {connections: 0}}`,
		`{load: {tool: netperf}}`, `{workload: tcp}`, `{sysctl: {a: [1]}}`, `{load: {client_cpus: 1}}`,
		`{offload: {tso: maybe}}`, `{faults: [{slave_down: 0}]}`,
	} {
		var v any
		if err := yaml.Unmarshal([]byte(c), &v); err != nil {
			t.Fatal(err)
		}
		if misfit(&schema, v, c) == "" {
			t.Errorf("the schema takes %s", c)
		}
	}
}

// yaml11 is what a reader of YAML 1.1 makes of on and off, which stand unquoted in our files.
func yaml11(v any) any {
	switch v := v.(type) {
	case string:
		if v == "on" || v == "off" {
			return v == "on"
		}
	case []any:
		read := make([]any, len(v))
		for i := range v {
			read[i] = yaml11(v[i])
		}
		return read
	case map[string]any:
		read := map[string]any{}
		for key := range v {
			read[key] = yaml11(v[key])
		}
		return read
	}
	return v
}

// misfit says why a value does not fit a schema, "" when it does: of JSON Schema what Schema uses.
func misfit(s *jsonschema.Schema, v any, at string) string {
	if len(s.OneOf) > 0 {
		for _, form := range s.OneOf {
			if misfit(form, v, at) == "" {
				return ""
			}
		}
		return at + ": fits none of its forms"
	}
	if len(s.Enum) > 0 {
		for _, e := range s.Enum {
			if e == v {
				return ""
			}
		}
		return at + ": is none of the allowed words"
	}
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return at + ": is no object"
		}
		for _, name := range s.Required {
			if _, given := m[name]; !given {
				return at + "." + name + ": is missing"
			}
		}
		for name, value := range m {
			var p *jsonschema.Schema
			known := false
			if s.Properties != nil {
				p, known = s.Properties.Get(name)
			}
			if !known && s.AdditionalProperties != nil && reflect.DeepEqual(s.AdditionalProperties, jsonschema.FalseSchema) {
				return at + "." + name + ": is not known"
			}
			if !known {
				p = s.AdditionalProperties
			}
			if p != nil {
				if why := misfit(p, value, at+"."+name); why != "" {
					return why
				}
			}
		}
	case "array":
		list, ok := v.([]any)
		if !ok || s.MinItems != nil && uint64(len(list)) < *s.MinItems {
			return at + ": is no list, or too short a one"
		}
		for _, value := range list {
			if why := misfit(s.Items, value, at+"[]"); why != "" {
				return why
			}
		}
	case "string":
		text, ok := v.(string)
		if !ok || s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text) {
			return at + ": is no such text"
		}
	case "integer", "number":
		text, _ := json.Marshal(v)
		n, err := json.Number(strings.Trim(string(text), `"`)).Float64()
		if _, isText := v.(string); err != nil || isText {
			return at + ": is no number"
		}
		least, _ := s.Minimum.Float64()
		most, err := s.Maximum.Float64()
		if n < least || err == nil && n > most {
			return at + ": is out of range"
		}
	case "null":
		if v != nil {
			return at + ": is not null"
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return at + ": is no boolean"
		}
	}
	return ""
}
