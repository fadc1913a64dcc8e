package scenarios

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
)

// Marshal is the scenario as a file with every field in it. Parse of it gives the scenario again.
func Marshal(s Scenario) ([]byte, error) {
	var w yamlWriter
	w.block(plainStruct(reflect.ValueOf(s), reflect.ValueOf(Default())), 0)
	return w.out, w.err
}

// entry is one field on its way to YAML; its value is nil, bool, int64, float64, word, string, []any or []entry.
type entry struct {
	name  string
	value any
}

// word is a text in one of our own forms, such as off or 100ms.
type word string

// plainStruct is a struct as ordered entries. A nil field is written, as null, only where the default is not nil.
func plainStruct(v, standard reflect.Value) []entry {
	var fields []entry
	for i := range v.NumField() {
		tag, name := v.Type().Field(i), yamlName(v.Type().Field(i))
		if name == "" {
			continue
		}
		field, usual := v.Field(i), reflect.Value{}
		if standard.IsValid() {
			usual = standard.Field(i)
		}
		switch zero := tag.Tag.Get("zero"); {
		case zero != "" && field.IsZero():
			fields = append(fields, entry{name, word(zero)})
		case field.Kind() != reflect.Pointer:
			fields = append(fields, entry{name, plainValue(field, usual)})
		case !field.IsNil():
			fields = append(fields, entry{name, plainValue(field.Elem(), usual)})
		case usual.IsValid() && !usual.IsNil():
			fields = append(fields, entry{name, nil})
		}
	}
	return fields
}

// plainValue is one value as an entry has it.
func plainValue(v, standard reflect.Value) any {
	switch x := v.Interface().(type) {
	case LineRates:
		return word(x.String())
	case Groups:
		return plainAny(x.plain())
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			return err
		}
		return word(text)
	}
	if v.Kind() == reflect.Struct {
		return plainStruct(v, standard)
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct {
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plainStruct(v.Index(i), reflect.Value{})
		}
		return list
	}
	return plainAny(v.Interface())
}

// plainAny is a value of encoding/json's kinds, or a field's, as an entry has it. Whole numbers of a control are
// written as such: 8, not 8.0.
func plainAny(x any) any {
	switch x := x.(type) {
	case int:
		return int64(x)
	case float64:
		if x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
			return int64(x)
		}
	case groupRange:
		return plainStruct(reflect.ValueOf(x), reflect.Value{})
	case []string:
		return plainList(x)
	case []any:
		return plainList(x)
	case map[string]string:
		return plainMap(x)
	case map[string]any:
		return plainMap(x)
	}
	return x
}

func plainList[V any](values []V) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = plainAny(v)
	}
	return list
}

func plainMap[V any](values map[string]V) []entry {
	fields := []entry{}
	for _, key := range sortedKeys(values) {
		fields = append(fields, entry{key, plainAny(values[key])})
	}
	return fields
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
