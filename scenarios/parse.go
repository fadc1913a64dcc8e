package scenarios

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"bondrepro/internal/yamlnode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// maxSource bounds a scenario file, in bytes: the YAML library recurses, and no scenario is near it.
const maxSource = 64 << 10

// maxBrackets bounds brackets and braces within each other: the library takes a minute over 64 KiB of them.
const maxBrackets = 50

// Parse reads a scenario file. What it leaves out is as in Default, but for the name, which is then the file's
// own, and what does not go with the rest (a verdict with arms). file is only used in errors, which are *Error: an unknown field, a wrong type, an impossible value.
func Parse(file string, src []byte) (Scenario, error) {
	root, d, err := parseYAML(file, "", src)
	if err != nil {
		return Scenario{}, err
	}
	var s Scenario
	for _, base := range []func() Scenario{Default, s.standard} { // what is left out rests on what is there
		next := base()
		next.Name = strings.TrimSuffix(path.Base(file), path.Ext(file))
		if err := d.decode(root, "", reflect.ValueOf(&next).Elem()); err != nil {
			return Scenario{}, err
		}
		s = next
	}
	s.from = d.places
	if err := s.Validate(); err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// parseYAML is the syntax tree of src and a decoder for it. prefix is what stands before src in an assignment.
func parseYAML(file, prefix string, src []byte) (ast.Node, *decoder, error) {
	d := &decoder{file: file, prefix: prefix, places: origins{}}
	whole := func(format string, args ...any) error {
		return &Error{File: file, Path: strings.TrimSuffix(prefix, "="), Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(src) > maxSource:
		return nil, nil, whole("is longer than %d bytes, which no scenario is", maxSource)
	case !utf8.Valid(src):
		return nil, nil, whole("is not UTF-8 text")
	}
	for line := range strings.SplitSeq(string(src), "\n") {
		d.lines = append(d.lines, strings.TrimSuffix(line, "\r"))
	}
	tokens := lexer.Tokenize(string(src))
	if deep := yamlnode.TooDeep(tokens, maxBrackets); deep != nil {
		return nil, nil, d.errorf(ast.String(deep), "", "more than %d brackets within each other; no scenario needs so many", maxBrackets)
	}
	// A name given twice is refused by the decoder, which says it in a better way.
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, nil, d.syntaxError(err)
	}
	if len(tree.Docs) > 1 && tree.Docs[1].Body != nil {
		return nil, nil, d.errorf(tree.Docs[1].Body, "", "a second document begins here; a file holds one scenario")
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		if prefix == "" {
			return nil, nil, whole("holds nothing but blanks and comments; write at least one field, such as summary: a test, or begin with what bondrepro show bond-multicast-tx prints")
		}
		return nil, nil, whole("holds no value")
	}
	return tree.Docs[0].Body, d, nil
}

// syntaxError places an error of the YAML library.
func (d *decoder) syntaxError(err error) *Error {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return &Error{File: d.file, Message: "is not YAML: " + firstLine(err.Error())}
	}
	message := firstLine(syntax.GetMessage())
	if strings.Contains(message, `'	'`) {
		message = "a tab stands here; use spaces to indent"
	}
	return d.errorf(ast.String(syntax.GetToken()), "", "is not YAML: %s", message)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
