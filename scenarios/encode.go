package scenarios

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
)

// Marshal is the scenario as a file with every field in it that such a scenario has; of the fields of comparisons only
// those that say something. Parse of it gives the scenario again.
func Marshal(s Scenario) ([]byte, error) {
	var w yamlWriter
	w.block(plainStruct(reflect.ValueOf(s), reflect.ValueOf(s.standard()), "", s.hides), 0)
	return w.out, w.err
}

// hides tells whether a field is left out of a file: it does not go with the rest, or is a comparison's and empty.
func (s *Scenario) hides(path string) bool {
	switch path {
	case "arms":
		return len(s.Arms) == 0
	case "cases":
		return len(s.Cases) == 0
	case "sweep":
		return len(s.Sweep) == 0
	}
	return s.outOfScope(path) != nil
}

// hidesNothing is for values below lists.
func hidesNothing(string) bool { return false }

// entry is one field on its way to YAML; its value is nil, bool, int64, float64, word, string, []any or []entry.
type entry struct {
	name  string
	value any
}

// word is a text in one of our own forms, such as off or 100ms.
type word string

// plainStruct is the struct at path as ordered entries. A nil field is written, as null, only where the default is not nil.
func plainStruct(v, standard reflect.Value, path string, hides func(path string) bool) []entry {
	var fields []entry
	for i := range v.NumField() {
		tag, name := v.Type().Field(i), yamlName(v.Type().Field(i))
		at := join(path, name)
		if name == "" || hides(at) {
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
			fields = append(fields, entry{name, plainValue(field, usual, at, hides)})
		case !field.IsNil():
			fields = append(fields, entry{name, plainValue(field.Elem(), usual, at, hides)})
		case usual.IsValid() && !usual.IsNil():
			fields = append(fields, entry{name, nil})
		}
	}
	return fields
}

// plainValue is one value as an entry has it.
func plainValue(v, standard reflect.Value, path string, hides func(path string) bool) any {
	switch x := v.Interface().(type) {
	case LineRates:
		return word(x.String())
	case Groups:
		return plainAny(x.plain())
	case Variants:
		return x.plain()
	case Sweep:
		return x.plain()
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			return err
		}
		return word(text)
	}
	if v.Kind() == reflect.Struct {
		return plainStruct(v, standard, path, hides)
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct {
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plainStruct(v.Index(i), reflect.Value{}, path, hidesNothing)
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
		return plainStruct(reflect.ValueOf(x), reflect.Value{}, "", hidesNothing)
	case []string:
		return plainList(x)
	case []int:
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
