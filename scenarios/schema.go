package scenarios

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// Schema is the format of a scenario file as a JSON Schema (draft 2020-12), which editors complete and check with.
// It is made from the types and from the tables of choices and ranges; rules about several fields at once only
// Validate knows.
func Schema() ([]byte, error) {
	r := jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
	}
	root := r.Reflect(&Scenario{})
	root.Title = "A bondrepro scenario"
	for _, c := range choices {
		p, err := property(root, c.path)
		if err != nil {
			return nil, err
		}
		for _, w := range c.words {
			p.Enum = append(p.Enum, w)
		}
	}
	accept, err := property(root, "accept")
	if err != nil {
		return nil, err
	}
	for _, code := range acceptable {
		accept.Items.Enum = append(accept.Items.Enum, code)
	}
	offload, err := property(root, "offload")
	if err != nil {
		return nil, err
	}
	offload.AdditionalProperties = Switch(false).JSONSchema()
	sysctl, err := property(root, "sysctl")
	if err != nil {
		return nil, err
	}
	sysctl.AdditionalProperties = either(&jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "number"})
	for _, b := range ranges {
		p, err := property(root, b.path)
		if err != nil {
			return nil, err
		}
		if p.Type == "integer" || p.Type == "number" {
			p.Minimum, p.Maximum = json.Number(number(b.min)), json.Number(number(b.max))
		}
	}
	bond, err := property(root, "topology.bond")
	if err != nil {
		return nil, err
	}
	orNull(bond, reflect.TypeFor[Bond]())
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make the schema: %w", err)
	}
	return append(text, '\n'), nil
}

// orNull lets null stand for the kernel's default in those fields of t that can be left to it.
func orNull(s *jsonschema.Schema, t reflect.Type) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Type.Kind() == reflect.Pointer {
			p, _ := s.Properties.Get(yamlName(f))
			s.Properties.Set(yamlName(f), either(p, &jsonschema.Schema{Type: "null"}))
		}
	}
}

// property finds a field's schema by its path.
func property(s *jsonschema.Schema, path string) (*jsonschema.Schema, error) {
	for name := range strings.SplitSeq(path, ".") {
		var ok bool
		if s.Properties == nil {
			return nil, fmt.Errorf("make the schema: %s has no properties", path)
		}
		if s, ok = s.Properties.Get(name); !ok {
			return nil, fmt.Errorf("make the schema: there is no %s in %s", name, path)
		}
	}
	return s, nil
}

func text(pattern, description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern, Description: description}
}

func either(forms ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: forms}
}

const (
	decimal  = `[0-9]+(\.[0-9]+)?`
	ratePart = decimal + `([kmgt]?bit|[kmg]?pps)`
)

// JSONSchema is the form of a duration.
func (Duration) JSONSchema() *jsonschema.Schema {
	return text(`^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`, "a duration: 100ms, 3s")
}

// JSONSchema is the form of a size.
func (Size) JSONSchema() *jsonschema.Schema {
	return either(
		&jsonschema.Schema{Type: "integer", Minimum: "0"},
		text(`^(off|`+decimal+`([KMG]iB|[kMG]?B)?)$`, "bytes: 212992, 64MiB, or off"),
		offRead(),
	)
}

// JSONSchema is the form of a number of senders.
func (Senders) JSONSchema() *jsonschema.Schema {
	return either(
		&jsonschema.Schema{Type: "integer", Minimum: "1", Maximum: "4096"},
		text(`^([1-9][0-9]*|auto)$`, "how many, or auto: as many as stay under the preflight sum"),
	)
}

// offRead is what an editor makes of off when it reads YAML 1.1, where on and off are booleans. Parse reads them as words and
// refuses true and false; but what such an editor sees must fit.
func offRead() *jsonschema.Schema {
	return &jsonschema.Schema{Enum: []any{false}, Description: "write off: validate refuses false, which an editor may make of off"}
}

// JSONSchema is the form of a switch.
func (Switch) JSONSchema() *jsonschema.Schema {
	return either(
		&jsonschema.Schema{Enum: []any{"on", "off"}, Description: "on or off"},
		&jsonschema.Schema{Type: "boolean", Description: "write on or off: validate refuses true and false, which an editor may make of them"},
	)
}

// JSONSchema is the form of a rate.
func (Rate) JSONSchema() *jsonschema.Schema {
	return either(text(`^(unpaced|off|`+ratePart+`)$`, "9gbit, 250kpps, or unpaced (max_pacing_rate: off)"), offRead())
}

// JSONSchema is the form of line rates.
func (LineRates) JSONSchema() *jsonschema.Schema {
	one := text(`^`+decimal+`[kmgt]?bit$`, "a line rate: 100mbit")
	return either(text(`^(auto|`+decimal+`[kmgt]?bit)$`, "auto, or a line rate for all slaves: 100mbit"), &jsonschema.Schema{Type: "array", Items: one})
}

// JSONSchema is the form of groups.
func (Groups) JSONSchema() *jsonschema.Schema {
	address := text(`^([0-9]+(\.[0-9]+){3}|[fF][fF][0-9a-fA-F:.]+)$`, "a multicast address, IPv4 or IPv6")
	span := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"first", "count"},
		AdditionalProperties: jsonschema.FalseSchema,
	}
	span.Properties.Set("first", address)
	span.Properties.Set("count", &jsonschema.Schema{Type: "integer", Minimum: "1"})
	return either(&jsonschema.Schema{Type: "array", Items: address, MinItems: ptr(uint64(1))}, span)
}

// JSONSchema is the form of arms and cases.
func (Variants) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "object"}, Description: "names, each with paths and their values"}
}

// JSONSchema is the form of a sweep.
func (Sweep) JSONSchema() *jsonschema.Schema {
	list := &jsonschema.Schema{Type: "array", Items: jsonschema.TrueSchema, MinItems: ptr(uint64(2))}
	return &jsonschema.Schema{Type: "object", AdditionalProperties: list, Description: "paths, each with the values it takes in turn"}
}

func ptr[T any](v T) *T { return &v }
