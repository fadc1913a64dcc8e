package scenarios

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"

	"github.com/goccy/go-yaml"
)

// Marshal is the scenario as a file with every field in it. Parse of it gives the scenario again.
func Marshal(s Scenario) ([]byte, error) {
	return yaml.MarshalWithOptions(plainStruct(reflect.ValueOf(s), reflect.ValueOf(Default())), yaml.Indent(2), yaml.IndentSequence(true))
}

// plainStruct is a struct as an ordered mapping. A nil field is written, as null, only where the default is not nil.
func plainStruct(v, standard reflect.Value) yaml.MapSlice {
	var fields yaml.MapSlice
	for i := range v.NumField() {
		tag, name := v.Type().Field(i), yamlName(v.Type().Field(i))
		if name == "" {
			continue
		}
		field, usual := v.Field(i), reflect.Value{}
		if standard.IsValid() {
			usual = standard.Field(i)
		}
		if zero := tag.Tag.Get("zero"); zero != "" && field.IsZero() {
			fields = append(fields, yaml.MapItem{Key: name, Value: zero})
			continue
		}
		if field.Kind() == reflect.Pointer && field.IsNil() {
			if usual.IsValid() && !usual.IsNil() {
				fields = append(fields, yaml.MapItem{Key: name, Value: nil})
			}
			continue
		}
		fields = append(fields, yaml.MapItem{Key: name, Value: plainValue(field, usual)})
	}
	return fields
}

// plainValue is a value as the YAML library writes it in our form.
func plainValue(v, standard reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case LineRates:
		return x.plain()
	case Groups:
		return x.plain()
	case Size:
		if n, err := json.Number(x.String()).Int64(); err == nil {
			return n
		}
		return x.String()
	case map[string]any:
		return plainAny(x)
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	switch v.Kind() {
	case reflect.Struct:
		return plainStruct(v, standard)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plainValue(v.Index(i), reflect.Value{})
		}
		return list
	}
	return v.Interface()
}

// plainAny writes whole numbers of a control as such: 8, not 8.0.
func plainAny(x any) any {
	switch x := x.(type) {
	case float64:
		if x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
			return int64(x)
		}
	case []any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = plainAny(x[i])
		}
		return list
	case map[string]any:
		fields := yaml.MapSlice{}
		for _, key := range sortedKeys(x) {
			fields = append(fields, yaml.MapItem{Key: key, Value: plainAny(x[key])})
		}
		return fields
	}
	return x
}

// MarshalJSON writes max_pacing_rate's zero as off, as in YAML.
func (s Socket) MarshalJSON() ([]byte, error) {
	type plain Socket
	pacing := s.MaxPacingRate.String()
	if s.MaxPacingRate.Unpaced() {
		pacing = "off"
	}
	return json.Marshal(struct {
		plain
		MaxPacingRate string `json:"max_pacing_rate"`
	}{plain(s), pacing})
}
