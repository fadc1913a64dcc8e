package scenarios

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// stringValue is the text of a string node.
func stringValue(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.MappingNode:
		return unparted(n)
	}
	return "", false
}

// unparted is the text that the library takes for a key and a value: braces around it make it part ff05::1 at the first colon.
// In YAML a colon that no blank follows parts nothing.
func unparted(n *ast.MappingNode) (string, bool) {
	if n.IsFlowStyle || len(n.Values) != 1 {
		return "", false
	}
	key, colon, value := n.Values[0].Key.GetToken(), n.Values[0].GetToken(), n.Values[0].Value.GetToken()
	if key.Type != token.StringType || value.Type != token.StringType && value.Type != token.IntegerType ||
		key.Position.Line != value.Position.Line || colon.Position.Column+1 != value.Position.Column {
		return "", false
	}
	return key.Value + ":" + value.Value, true
}

// integerValue is the value of an integer node that fits.
func integerValue(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch v := i.Value.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}

// scalarText is what stands in the file for a scalar that has a text form of its own.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode, *ast.LiteralNode, *ast.MappingNode:
		return stringValue(n)
	case *ast.IntegerNode:
		return fmt.Sprint(n.Value), true
	case *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// kindOf names what a node is, in words, for errors.
func kindOf(n ast.Node) string {
	if s, ok := stringValue(n); ok {
		return fmt.Sprintf("the text %q", s)
	}
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return "the number " + n.GetToken().Value
	case *ast.BoolNode:
		return n.GetToken().Value
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a group of fields"
	case *ast.InfinityNode, *ast.NanNode:
		return "no finite number"
	case *ast.NullNode:
		return "empty"
	}
	return "something else"
}

// wantedAt says what the field at path takes instead of n, and what n may have meant.
func wantedAt(path string, n ast.Node, t reflect.Type) string {
	text, _ := scalarText(n)
	if c := choiceAt(path); c != nil {
		return "one of " + strings.Join(c.words, ", ") + " is wanted" + c.didYouMean(text)
	}
	if share, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); t.Kind() == reflect.Float64 && strings.HasSuffix(text, "%") && err == nil {
		return "write " + strconv.FormatFloat(share/100, 'g', 6, 64)
	}
	return wanted(t) + " is wanted"
}

// wanted names what a field of this type takes.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Duration]():
		return "a duration such as 100ms"
	case reflect.TypeFor[Size]():
		return "a size such as 212992 or 64MiB, or off,"
	case reflect.TypeFor[Senders]():
		return "a whole number, or auto,"
	case reflect.TypeFor[Switch]():
		return "on or off"
	case reflect.TypeFor[Rate]():
		return "a rate such as 9gbit or 250kpps, or unpaced,"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "another value"
}
