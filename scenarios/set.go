package scenarios

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// Set applies one assignment, "path=value", such as "traffic.senders=8". The value is YAML. A list or map is
// replaced as a whole, its elements are reached by number or key (faults.0.at, offload.tso), and of a group of
// fields only those named change. Errors are *Error and leave s as it was. Whether the new value goes with the
// others is not checked before Validate.
func (s *Scenario) Set(assignment string) error {
	if i := strings.IndexFunc(assignment, unicode.IsControl); i >= 0 || !utf8.ValidString(assignment) {
		return &Error{Message: fmt.Sprintf("%q is not one line of text", assignment)}
	}
	path, value, ok := strings.Cut(assignment, "=")
	whole := func(column int, message string) *Error {
		return &Error{Column: column, Source: assignment, Message: message}
	}
	switch {
	case !ok:
		return whole(1, `is not an assignment; write path=value, such as traffic.senders=8`)
	case path == "":
		return whole(1, "names no field; write path=value, such as traffic.senders=8")
	case strings.TrimSpace(value) == "":
		return whole(utf8.RuneCountInString(assignment)+1, "has no value; write path=value, such as traffic.senders=8")
	}
	root, d, err := parseYAML("", path+"=", []byte(value))
	if err != nil {
		return err
	}
	changed := *s
	w := walk{d, assignment, path, root}
	if err := w.assign(reflect.ValueOf(&changed).Elem(), 0); err != nil {
		return err
	}
	changed.from = s.from.with(d.places)
	*s = changed
	return nil
}

// walk is one assignment on its way down to its field.
type walk struct {
	d          *decoder
	assignment string
	path       string
	value      ast.Node
}

// assign sets what path[at:] leads to below v. Maps and lists on the way are copied, since other copies of the
// Scenario share them.
func (w walk) assign(v reflect.Value, at int) *Error {
	if at > len(w.path) {
		return w.d.decode(w.value, w.path, v)
	}
	parent := strings.TrimSuffix(w.path[:at], ".")
	name, _, _ := strings.Cut(w.path[at:], ".")
	next := at + len(name) + 1
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[LineRates]() || v.Type() == reflect.TypeFor[Rate]() {
			break
		}
		field, ok := fieldByName(v, name)
		if !ok {
			return w.errorf(at, "%s", unknownField(parent, name, v.Type()))
		}
		return w.assign(field, next)
	case reflect.Map:
		key := w.path[at:]
		if key == "" {
			return w.errorf(at, "names no entry of %s", parent)
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := w.assign(elem, len(w.path)+1); err != nil {
			return err
		}
		entries := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			entries.SetMapIndex(it.Key(), it.Value())
		}
		entries.SetMapIndex(reflect.ValueOf(key), elem)
		v.Set(entries)
		return nil
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[Variants]() || v.Type() == reflect.TypeFor[Sweep]() {
			return w.errorf(at, "%s is set as a whole only, as in %s", parent, wholeForms[parent])
		}
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= v.Len() {
			return w.errorf(at, "%q is no entry of %s, which has %d (counted from 0)", name, parent, v.Len())
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		if err := w.assign(list.Index(i), next); err != nil {
			return err
		}
		v.Set(list)
		return nil
	}
	return w.errorf(at, "%s has no fields below it", parent)
}

// errorf points at path[at:].
func (w walk) errorf(at int, format string, args ...any) *Error {
	return &Error{Column: utf8.RuneCountInString(w.path[:at]) + 1, Source: w.assignment, Message: fmt.Sprintf(format, args...)}
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
