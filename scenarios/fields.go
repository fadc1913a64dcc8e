package scenarios

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fieldNames are a struct's names in YAML, in order.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name := yamlName(t.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// required are the names of the fields that an element of a list can't leave out, since no default is meant.
func required(t reflect.Type) []string {
	var names []string
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if f := t.Field(i); f.Tag.Get("jsonschema") == "required" {
			names = append(names, yamlName(f))
		}
	}
	return names
}

// yamlName is a field's name in YAML, "" for one that is not part of it.
func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// fieldByName is the field of v that YAML calls name.
func fieldByName(v reflect.Value, name string) (reflect.Value, bool) {
	i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool {
		return name != "" && yamlName(f) == name
	})
	if i < 0 {
		return reflect.Value{}, false
	}
	return v.Field(i), true
}

// paths are all paths below t that lead through structs.
func paths(prefix string, t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := yamlName(f)
		if name == "" {
			continue
		}
		all = append(all, join(prefix, name))
		if f.Type.Kind() == reflect.Struct {
			all = append(all, paths(join(prefix, name), f.Type)...)
		}
	}
	return all
}

// unknownField is the sentence about a field name that is not there, with the likeliest meant.
func unknownField(parent, name string, t reflect.Type) string {
	where := "at the top"
	if parent != "" {
		where = "in " + parent
	}
	sentence := "there is no field " + strconv.Quote(name) + " " + where
	if moved := elsewhere(name); moved != "" {
		sentence += "; did you mean " + moved + "?"
	} else {
		sentence += didYouMean(name, fieldNames(t))
	}
	return sentence + " (fields " + where + ": " + strings.Join(fieldNames(t), ", ") + ")"
}

// elsewhere is the path of a field of that name in another place, if there is one, or of what users name in a map.
func elsewhere(name string) string {
	switch {
	case slices.Contains(offloads, name):
		return "offload." + name
	case name == "net": // of sysctl(8), cut at its first dot
		return "sysctl.net"
	}
	for _, path := range paths("", reflect.TypeFor[Scenario]()) {
		if strings.HasSuffix(path, "."+name) || path == name {
			return path
		}
	}
	return ""
}

// join is parent.name.
func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}
