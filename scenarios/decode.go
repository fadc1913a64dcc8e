package scenarios

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"bondrepro/internal/yamlnode"

	"github.com/goccy/go-yaml/ast"
)

// decoder fills a Scenario from a syntax tree and notes where each value stood. It is stricter than the
// library's own decoder: it wants each value in its one documented form, and says what that is.
type decoder struct {
	file   string
	lines  []string // of the source
	prefix string   // what stands before the source in an assignment: "path="
	places origins
}

// placeOf is where a node begins.
func (d *decoder) placeOf(n ast.Node) place {
	tk := yamlnode.First(n).GetToken()
	if tk == nil || tk.Position == nil {
		return place{file: d.file}
	}
	line := min(max(tk.Position.Line, 1), len(d.lines))
	p := place{file: d.file, line: line, column: max(tk.Position.Column, 1), source: d.lines[line-1], inner: -1}
	if s, ok := n.(*ast.StringNode); ok {
		rest := afterRunes(p.source, p.column-1)
		switch {
		case strings.HasPrefix(rest, s.Value):
			p.inner = 0
		case rest != "" && strings.HasPrefix(rest[1:], s.Value):
			p.inner = 1
		}
	}
	if d.prefix != "" {
		p.line, p.source = 0, d.prefix+p.source
		p.column += utf8.RuneCountInString(d.prefix)
	}
	return p
}

// afterRunes is s without its first n characters.
func afterRunes(s string, n int) string {
	for ; n > 0 && s != ""; n-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

func (d *decoder) errorf(n ast.Node, path, format string, args ...any) *Error {
	return d.placeOf(n).error(path, fmt.Sprintf(format, args...))
}

// decode fills v, which is the field at path, from n.
func (d *decoder) decode(n ast.Node, path string, v reflect.Value) *Error {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return d.errorf(n, path, "anchors, aliases and tags are not used in a scenario; write the value out")
	case *ast.NullNode:
		if v.Kind() == reflect.Pointer {
			v.SetZero()
			d.places[path] = d.placeOf(n)
			return nil
		}
		return d.errorf(n, path, "has no value; write one, or leave the field out")
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return d.decode(n, path, v.Elem())
	}
	d.places[path] = d.placeOf(n)
	switch target := v.Addr().Interface().(type) {
	case *LineRates:
		return d.decodeLineRates(n, path, target)
	case *Groups:
		return d.decodeGroups(n, path, target)
	case *Variants:
		return d.decodeVariants(n, path, target)
	case *Sweep:
		return d.decodeSweep(n, path, target)
	case *any:
		var err *Error
		*target, err = d.plain(n, path)
		return err
	case encoding.TextUnmarshaler:
		text, ok := scalarText(n)
		if !ok {
			return d.errorf(n, path, "is %s; %s is wanted", kindOf(n), wanted(v.Type()))
		}
		if err := target.UnmarshalText([]byte(text)); err != nil {
			return d.errorf(n, path, "%s", err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		// A group has no place of its own, lest a field it leaves out be looked for there; but in a list it has.
		if _, last := cutLast(path); !isDigits(last) {
			delete(d.places, path)
		}
		return d.decodeStruct(n, path, v)
	case reflect.Map:
		return d.decodeMap(n, path, v)
	case reflect.Slice:
		return d.decodeSlice(n, path, v)
	}
	return d.decodeScalar(n, path, v)
}

func (d *decoder) decodeScalar(n ast.Node, path string, v reflect.Value) *Error {
	switch v.Kind() {
	case reflect.String:
		if s, ok := stringValue(n); ok {
			v.SetString(s)
			return nil
		}
		if s, ok := scalarText(n); ok && strings.HasPrefix(path, "sysctl.") { // most of them are numbers
			v.SetString(s)
			return nil
		}
	case reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return nil
		}
	case reflect.Int:
		if i, ok := integerValue(n); ok {
			v.SetInt(i)
			return nil
		}
	case reflect.Float64:
		if i, ok := integerValue(n); ok {
			v.SetFloat(float64(i))
			return nil
		}
		if f, ok := n.(*ast.FloatNode); ok && !math.IsInf(f.Value, 0) && !math.IsNaN(f.Value) {
			v.SetFloat(f.Value)
			return nil
		}
	}
	return d.errorf(n, path, "is %s; %s", kindOf(n), wantedAt(path, n, v.Type()))
}

// decodeMap replaces a map as a whole.
func (d *decoder) decodeMap(n ast.Node, path string, v reflect.Value) *Error {
	v.Set(reflect.MakeMap(v.Type()))
	return d.each(n, path, func(key ast.Node, name string, value ast.Node) *Error {
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(value, path+"."+name, elem); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), elem)
		return nil
	})
}

// decodeSlice replaces a list as a whole.
func (d *decoder) decodeSlice(n ast.Node, path string, v reflect.Value) *Error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.errorf(n, path, "is %s; a list in brackets is wanted", kindOf(n))
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	for i, value := range list.Values {
		elem := fmt.Sprintf("%s.%d", path, i)
		if err := d.decode(value, elem, v.Index(i)); err != nil {
			return err
		}
		for _, name := range required(v.Type().Elem()) {
			if _, given := d.places[elem+"."+name]; !given {
				return d.errorf(value, elem, "%s is missing", name)
			}
		}
	}
	return nil
}

// decodeStruct fills the fields n names and leaves the others as they are.
func (d *decoder) decodeStruct(n ast.Node, path string, v reflect.Value) *Error {
	return d.each(n, path, func(key ast.Node, name string, value ast.Node) *Error {
		field, ok := fieldByName(v, name)
		if !ok {
			return d.errorf(key, "", "%s", unknownField(path, name, v.Type()))
		}
		return d.decode(value, join(path, name), field)
	})
}

// each calls f for every entry of a mapping.
func (d *decoder) each(n ast.Node, path string, f func(key ast.Node, name string, value ast.Node) *Error) *Error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return d.errorf(n, path, "is %s; fields with values are wanted", kindOf(n))
	}
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		name, ok := scalarText(it.Key())
		switch {
		case !ok || name == "":
			return d.errorf(it.Key(), path, "a field name is a plain word")
		case seen[name]:
			return d.errorf(it.Key(), join(path, name), "is given twice")
		}
		seen[name] = true
		if err := f(it.Key(), name, it.Value()); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) decodeLineRates(n ast.Node, path string, v *LineRates) *Error {
	if list, ok := n.(*ast.SequenceNode); ok {
		texts := make([]string, len(list.Values))
		for i, value := range list.Values {
			elem := fmt.Sprintf("%s.%d", path, i)
			d.places[elem] = d.placeOf(value)
			text, ok := scalarText(value)
			if !ok {
				return d.errorf(value, elem, "is %s; a line rate such as 100mbit is wanted", kindOf(value))
			}
			if err := new(LineRates).fromTexts([]string{text}); err != nil {
				return d.errorf(value, elem, "%s", err)
			}
			texts[i] = text
		}
		if len(texts) == 0 {
			return d.errorf(n, path, "is an empty list; write a line rate such as 100mbit, one a slave, or auto")
		}
		return d.wrap(n, path, v.fromTexts(texts))
	}
	text, ok := scalarText(n)
	if !ok {
		return d.errorf(n, path, "is %s; a line rate such as 100mbit, a list of them, one a slave, or auto is wanted", kindOf(n))
	}
	return d.wrap(n, path, v.fromText(text))
}

func (d *decoder) decodeGroups(n ast.Node, path string, v *Groups) *Error {
	if _, ok := n.(*ast.SequenceNode); ok {
		list := reflect.New(reflect.TypeFor[[]string]()).Elem()
		if err := d.decodeSlice(n, path, list); err != nil {
			return err
		}
		*v = list.Interface().([]string)
		return nil
	}
	if _, ok := n.(ast.MapNode); !ok {
		return d.errorf(n, path, "is %s; a list of multicast addresses, or {first: 239.66.1.1, count: 16}, is wanted", kindOf(n))
	}
	short := groupRange{Count: 1}
	if err := d.decodeStruct(n, path, reflect.ValueOf(&short).Elem()); err != nil {
		return err
	}
	groups, err := short.expand()
	*v = groups
	return d.wrap(n, path, err)
}

// wrap gives an error a place.
func (d *decoder) wrap(n ast.Node, path string, err error) *Error {
	if err == nil {
		return nil
	}
	return d.errorf(n, path, "%s", err)
}

// plain is n as encoding/json would hold it.
func (d *decoder) plain(n ast.Node, path string) (any, *Error) {
	if s, ok := stringValue(n); ok {
		return s, nil
	}
	switch n := n.(type) {
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.IntegerNode:
		if i, ok := integerValue(n); ok && i >= -1<<53 && i <= 1<<53 {
			return float64(i), nil
		}
		return nil, d.errorf(n, path, "is too large a number")
	case *ast.FloatNode:
		if !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value) {
			return n.Value, nil
		}
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, value := range n.Values {
			var err *Error
			if list[i], err = d.plain(value, path); err != nil {
				return nil, err
			}
		}
		return list, nil
	case ast.MapNode:
		fields := map[string]any{}
		return fields, d.each(n.(ast.Node), path, func(_ ast.Node, name string, value ast.Node) (err *Error) {
			fields[name], err = d.plain(value, path)
			return err
		})
	}
	return nil, d.errorf(n, path, "is %s, which no field takes", kindOf(n))
}
