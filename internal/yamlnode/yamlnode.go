// Package yamlnode holds what every reader of our YAML files needs to know of a node or of a file's tokens.
package yamlnode

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// TooDeep is the first bracket or brace that stands in more than most others, or nil: the YAML library recurses, and takes a
// minute over 64 KiB of them.
func TooDeep(tokens token.Tokens, most int) *token.Token {
	depth := 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > most {
			return tk
		}
	}
	return nil
}

// First is the node that begins n: a mapping's first key, unless it begins with a brace.
func First(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key
		}
	case *ast.MappingValueNode:
		return n.Key
	}
	return n
}
