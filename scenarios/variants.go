package scenarios

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Variant is a name and what it sets: --set paths and their values, held as Control holds them.
type Variant struct {
	Name string         `json:"name"`
	Set  map[string]any `json:"set"`
}

// Variants are written as a mapping of names to what each sets, and keep their order. In JSON they are a list.
type Variants []Variant

// Names are the names, in order.
func (v Variants) Names() []string {
	names := make([]string, len(v))
	for i, x := range v {
		names[i] = x.Name
	}
	return names
}

// Swept is one parameter of a sweep.
type Swept struct {
	Path   string `json:"path"`
	Values []any  `json:"values"` // held as Control holds them
}

// Sweep is written as a mapping of paths to lists of values, and keeps its order. In JSON it is a list.
type Sweep []Swept

// wholeForms are how the fields are set that can't be set in parts.
var wholeForms = map[string]string{
	"arms":  "arms={off: {offload.tso: off}, on: {offload.tso: on}}",
	"cases": "cases={one: {load.connections: 1}, two: {load.connections: 2}}",
	"sweep": "sweep={load.connections: [1, 2, 4]}",
}

// The keys of an arm that are no --set paths: they name its place.
const (
	kernelKey    = "kernel"
	modulePrefix = "module."
)

// Kernel is the kernel that the variant names, as --kernel does; empty: none.
func (v Variant) Kernel() string {
	name, _ := v.Set[kernelKey].(string)
	return name
}

// Modules are those that the variant puts in place of the kernel's, as --module does: name and file.
func (v Variant) Modules() map[string]string {
	files := map[string]string{}
	for key, value := range v.Set {
		if name, ok := strings.CutPrefix(key, modulePrefix); ok {
			files[name], _ = value.(string)
		}
	}
	return files
}

// Settings are what the variant sets, as --set takes it, in order of the keys: PATH=VALUE.
func (v Variant) Settings() []string {
	var settings []string
	for _, key := range sortedKeys(v.Set) {
		var w yamlWriter
		settings = append(settings, key+"="+w.flow(plainAny(v.Set[key])))
	}
	return settings
}

// isPlace tells whether a key names a place.
func isPlace(key string) bool { return key == kernelKey || strings.HasPrefix(key, modulePrefix) }

func (v Variants) plain() []entry {
	fields := []entry{}
	for _, x := range v {
		fields = append(fields, entry{x.Name, plainMap(x.Set)})
	}
	return fields
}

func (s Sweep) plain() []entry {
	fields := []entry{}
	for _, x := range s {
		fields = append(fields, entry{x.Path, plainList(x.Values)})
	}
	return fields
}

func (d *decoder) decodeVariants(n ast.Node, path string, v *Variants) *Error {
	*v = Variants{}
	return d.each(n, path, func(_ ast.Node, name string, value ast.Node) *Error {
		at := path + "." + name
		d.places[at] = d.placeOf(value)
		variant := Variant{Name: name, Set: map[string]any{}}
		err := d.each(value, at, func(_ ast.Node, key string, value ast.Node) (err *Error) {
			d.places[at+"."+key] = d.placeOf(value)
			variant.Set[key], err = d.plain(value, at+"."+key)
			return err
		})
		*v = append(*v, variant)
		return err
	})
}

func (d *decoder) decodeSweep(n ast.Node, path string, v *Sweep) *Error {
	*v = Sweep{}
	return d.each(n, path, func(_ ast.Node, key string, value ast.Node) *Error {
		at := path + "." + key
		d.places[at] = d.placeOf(value)
		list, ok := value.(*ast.SequenceNode)
		if !ok {
			return d.errorf(value, at, "is %s; a list of values in brackets is wanted", kindOf(value))
		}
		swept := Swept{Path: key, Values: make([]any, len(list.Values))}
		for i, x := range list.Values {
			var err *Error
			if swept.Values[i], err = d.plain(x, fmt.Sprintf("%s.%d", at, i)); err != nil {
				return err
			}
		}
		*v = append(*v, swept)
		return nil
	})
}
