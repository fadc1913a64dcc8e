package matrix

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"bondrepro/internal/yamlnode"
	"bondrepro/scenarios"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

const (
	// maxSource bounds a matrix file, in bytes, and maxBrackets the brackets within each other: the YAML library recurses.
	maxSource   = 256 << 10
	maxBrackets = 20
)

// source is a matrix file under its syntax tree. Its errors are those of scenario files: place, sentence, line and caret.
type source struct {
	file  string
	lines []string
}

// parse is the syntax tree of src.
func parse(file string, src []byte) (*source, ast.Node, error) {
	s := &source{file: file, lines: strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")}
	switch {
	case len(src) > maxSource:
		return nil, nil, s.whole("is longer than %d bytes, which no matrix file is", maxSource)
	case !utf8.Valid(src):
		return nil, nil, s.whole("is not UTF-8 text")
	}
	tokens := lexer.Tokenize(string(src))
	if deep := yamlnode.TooDeep(tokens, maxBrackets); deep != nil {
		return nil, nil, s.errorf(ast.String(deep), "", "more than %d brackets within each other; no matrix needs so many", maxBrackets)
	}
	// A name given twice is refused by fields, which says it in a better way.
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, nil, s.syntaxError(err)
	}
	if len(tree.Docs) > 1 && tree.Docs[1].Body != nil {
		return nil, nil, s.errorf(tree.Docs[1].Body, "", "a second document begins here; a file holds one matrix")
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, nil, s.whole("holds nothing but blanks and comments; write at least scenarios: [bond-multicast-tx]")
	}
	return s, tree.Docs[0].Body, nil
}

func (s *source) syntaxError(err error) error {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return s.whole("is not YAML: %s", text)
	}
	text, _, _ := strings.Cut(syntax.GetMessage(), "\n")
	return s.errorf(ast.String(syntax.GetToken()), "", "is not YAML: %s", text)
}

// whole is an error about the file as such.
func (s *source) whole(format string, args ...any) error {
	return &scenarios.Error{File: s.file, Message: fmt.Sprintf(format, args...)}
}

// errorf is an error at a node (none: about the file); path is the field that it is about.
func (s *source) errorf(n ast.Node, path, format string, args ...any) error {
	e := &scenarios.Error{File: s.file, Path: path, Message: fmt.Sprintf(format, args...)}
	if n == nil {
		return e
	}
	if tk := yamlnode.First(n).GetToken(); tk != nil && tk.Position != nil {
		e.Line = min(max(tk.Position.Line, 1), len(s.lines))
		e.Column = max(tk.Position.Column, 1)
		e.Source = s.lines[e.Line-1]
	}
	return e
}

// field is one entry of a mapping.
type field struct {
	name       string
	key, value ast.Node
}

// fields are the entries of a mapping, in the order of the file. Nothing at all (null) has none.
func (s *source) fields(n ast.Node, path string) ([]field, error) {
	if _, empty := n.(*ast.NullNode); empty {
		return nil, nil
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil, s.errorf(n, path, "is %s; fields with values are wanted", kindOf(n))
	}
	var all []field
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		name, ok := text(it.Key())
		switch {
		case !ok || name == "":
			return nil, s.errorf(it.Key(), path, "a field name is a plain word")
		case seen[name]:
			return nil, s.errorf(it.Key(), join(path, name), "is given twice")
		}
		seen[name] = true
		all = append(all, field{name: name, key: it.Key(), value: it.Value()})
	}
	return all, nil
}

// list are the elements of a list that has some.
func (s *source) list(n ast.Node, path string) ([]ast.Node, error) {
	l, ok := n.(*ast.SequenceNode)
	switch {
	case !ok:
		return nil, s.errorf(n, path, "is %s; a list is wanted", kindOf(n))
	case len(l.Values) == 0:
		return nil, s.errorf(n, path, "is an empty list; name one at least, or leave the field out")
	}
	return l.Values, nil
}

// word is the text of a scalar that is not empty.
func (s *source) word(n ast.Node, path string) (string, error) {
	t, ok := text(n)
	if !ok || strings.TrimSpace(t) == "" {
		return "", s.errorf(n, path, "is %s; a text is wanted", kindOf(n))
	}
	return t, nil
}

// text is what stands in the file for a scalar, without quotes.
func text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// kindOf names what a node is, in words, for errors.
func kindOf(n ast.Node) string {
	if t, ok := text(n); ok {
		return fmt.Sprintf("the text %q", t)
	}
	switch n.(type) {
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a group of fields"
	case *ast.NullNode:
		return "empty"
	}
	return "something else"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
