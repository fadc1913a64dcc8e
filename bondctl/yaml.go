package bondctl

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"bondrepro/scenarios"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxSource bounds a file, in bytes: the YAML library recurses, and no bond is near it.
const maxSource = 16 << 10

// ParseYAML reads a bond:
//
//	name: bond0
//	mode: active-backup
//	options: {miimon: 100, primary: eth1}
//	slaves: [eth1, {name: eth2, prio: 10}]
//	mtu: 9000
//	txqueuelen: 1000
//	qdisc: pfifo_fast
//	addresses: [192.0.2.1/24]
//
// It is strict: an unknown field or a wrong value is a *scenarios.Error with the line and a caret under the place.
// file is only used in errors. The bond has passed Check.
func ParseYAML(file string, src []byte) (Bond, error) {
	p := yamlFile{file: file, lines: strings.Split(string(src), "\n"), places: map[string]*token.Token{}}
	if len(src) > maxSource {
		return Bond{}, p.at(nil, "is longer than %d bytes, which no bond is", maxSource)
	}
	tree, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey()) // each refuses a field given twice, with a better word
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax):
		message, _, _ := strings.Cut(syntax.GetMessage(), "\n")
		return Bond{}, p.at(syntax.GetToken(), "is not YAML: %s", message)
	case err != nil:
		return Bond{}, p.at(nil, "is not YAML: %v", err)
	case len(tree.Docs) == 0 || tree.Docs[0].Body == nil:
		return Bond{}, p.at(nil, "holds no bond")
	case len(tree.Docs) > 1:
		return Bond{}, p.at(tree.Docs[1].Start, "a file holds one bond; here a second begins")
	}
	var b Bond
	if err := p.bond(tree.Docs[0].Body, &b); err != nil {
		return Bond{}, err
	}
	b, err = b.Check()
	var field *FieldError
	if errors.As(err, &field) {
		return Bond{}, p.at(p.places[field.Field], "%s", field.Message)
	}
	return b, err
}

// yamlFile is a file that is being read.
type yamlFile struct {
	file   string
	lines  []string
	places map[string]*token.Token // of each field's value
}

// at is an error at a place, or about the whole file.
func (p *yamlFile) at(tk *token.Token, format string, args ...any) error {
	e := &scenarios.Error{File: p.file, Message: fmt.Sprintf(format, args...)}
	if tk != nil && tk.Position != nil {
		e.Line = min(max(tk.Position.Line, 1), len(p.lines))
		e.Column, e.Source = max(tk.Position.Column, 1), strings.TrimSuffix(p.lines[e.Line-1], "\r")
	}
	return e
}

// bond reads the whole.
func (p *yamlFile) bond(n ast.Node, b *Bond) error {
	fields := map[string]func(ast.Node) error{
		"name": func(n ast.Node) error { return p.text(n, "name", &b.Name) },
		"mode": func(n ast.Node) error {
			mode := Option{Name: "mode"}
			defer func() { b.Options = append(b.Options, mode) }()
			return p.text(n, "mode", &mode.Value)
		},
		"options": func(n ast.Node) error { return p.options(n, "options.", &b.Options) },
		"slaves": func(n ast.Node) error {
			return p.list(n, "slaves", func(n ast.Node, field string) error {
				port, err := p.port(n, field)
				b.Slaves = append(b.Slaves, port)
				return err
			})
		},
		"mtu":        func(n ast.Node) error { return p.number(n, "mtu", &b.MTU) },
		"txqueuelen": func(n ast.Node) error { return p.number(n, "txqueuelen", &b.TxQueueLen) },
		"qdisc":      func(n ast.Node) error { return p.text(n, "qdisc", &b.Qdisc) },
		"addresses": func(n ast.Node) error {
			return p.list(n, "addresses", func(n ast.Node, field string) error {
				var text string
				if err := p.text(n, field, &text); err != nil {
					return err
				}
				a, err := netip.ParsePrefix(text)
				if err != nil {
					return p.at(n.GetToken(), "an address with its prefix such as 192.0.2.1/24 is wanted, not %q", text)
				}
				b.Addresses = append(b.Addresses, a)
				return nil
			})
		},
	}
	return p.each(n, func(key *token.Token, name string, value ast.Node) error {
		read, ok := fields[name]
		if !ok {
			return p.at(key, "there is no field %q: name, mode, options, slaves, mtu, txqueuelen, qdisc and addresses are known", name)
		}
		return read(value)
	})
}

// each calls f for every field of a group.
func (p *yamlFile) each(n ast.Node, f func(key *token.Token, name string, value ast.Node) error) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return p.at(n.GetToken(), "fields with values are wanted here")
	}
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		if seen[key.Value] {
			return p.at(key, "%s is given twice", key.Value)
		}
		seen[key.Value] = true
		if err := f(key, key.Value, it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// list calls f for every element of a list.
func (p *yamlFile) list(n ast.Node, field string, f func(n ast.Node, field string) error) error {
	all, ok := n.(*ast.SequenceNode)
	if !ok {
		return p.at(n.GetToken(), "%s: a list is wanted", field)
	}
	for i, v := range all.Values {
		if err := f(v, fmt.Sprintf("%s.%d", field, i)); err != nil {
			return err
		}
	}
	return nil
}

// options reads option: value; a value that is a list is one with commas.
func (p *yamlFile) options(n ast.Node, prefix string, options *[]Option) error {
	return p.each(n, func(key *token.Token, name string, value ast.Node) error {
		if name == "mode" && prefix == "options." {
			return p.at(key, "the mode is a field of its own")
		}
		o := Option{Name: name}
		if _, isList := value.(*ast.SequenceNode); !isList {
			defer func() { *options = append(*options, o) }()
			return p.text(value, prefix+name, &o.Value)
		}
		var parts []string
		err := p.list(value, prefix+name, func(n ast.Node, field string) error {
			var part string
			defer func() { parts = append(parts, part) }()
			return p.text(n, field, &part)
		})
		o.Value = strings.Join(parts, ",")
		p.places[prefix+name] = value.GetToken()
		*options = append(*options, o)
		return err
	})
}

// port reads a slave: its name, or a group with its name and its options.
func (p *yamlFile) port(n ast.Node, field string) (Port, error) {
	var port Port
	if _, isGroup := n.(ast.MapNode); !isGroup {
		return port, p.text(n, field, &port.Name)
	}
	if err := p.options(n, field+".", &port.Options); err != nil {
		return port, err
	}
	p.places[field] = n.GetToken()
	for i, o := range port.Options {
		if o.Name == "name" {
			port.Name = o.Value
			port.Options = append(port.Options[:i], port.Options[i+1:]...)
			p.places[field] = p.places[field+".name"]
			break
		}
	}
	return port, nil
}

// text reads a scalar as it is written.
func (p *yamlFile) text(n ast.Node, field string, v *string) error {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		*v = n.GetToken().Value
		p.places[field] = n.GetToken()
		return nil
	}
	return p.at(n.GetToken(), "%s: a value is wanted, in quotes where it has colons", field)
}

// number reads a whole number above 0.
func (p *yamlFile) number(n ast.Node, field string, v *int) error {
	var text string
	if err := p.text(n, field, &text); err != nil {
		return err
	}
	i, err := strconv.Atoi(text)
	if err != nil || i < 1 {
		return p.at(n.GetToken(), "%s: a whole number above 0 is wanted, not %q", field, text)
	}
	*v = i
	return nil
}
