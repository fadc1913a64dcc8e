package scenarios

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds parentheses within parentheses.
const maxDepth = 50

// ParseExpr reads an expression such as "slaves.qdisc.dropped == 0 and rate.achieved >= 9gbit". Errors are
// *Error with the expression as source.
func ParseExpr(text string) (Expr, error) {
	p := exprParser{text: text, tokens: lex(text)}
	root, err := p.or(0)
	if err == nil && p.peek().text != "" {
		err = p.errorf("%q is one thing too many; conditions are joined by \"and\" or \"or\"", p.peek().text)
	}
	if err != nil {
		return Expr{}, err
	}
	return Expr{text, root}, nil
}

// exprToken is one word of an expression; at counts bytes.
type exprToken struct {
	text string
	at   int
}

// lex parts a text into operators, parentheses and words. The last token is empty and stands at the end.
func lex(text string) []exprToken {
	var tokens []exprToken
	for at := 0; at < len(text); {
		if text[at] == ' ' || text[at] == '\t' {
			at++
			continue
		}
		end := at + 1
		switch {
		case strings.IndexByte("()", text[at]) >= 0:
		case isOperator(text[at]):
			for end < len(text) && isOperator(text[end]) {
				end++
			}
		default:
			for end < len(text) && !isOperator(text[end]) && strings.IndexByte(" \t()", text[end]) < 0 {
				end++
			}
		}
		tokens = append(tokens, exprToken{text[at:end], at})
		at = end
	}
	return append(tokens, exprToken{"", len(text)})
}

func isOperator(c byte) bool { return strings.IndexByte("=!<>&|", c) >= 0 }

// exprParser goes through the tokens: or = and {"or" and}; and = term {"and" term}; term = "(" or ")" | comparison.
type exprParser struct {
	text   string
	tokens []exprToken
	next   int
}

func (p *exprParser) peek() exprToken { return p.tokens[p.next] }

// take is the next token; the last one is never passed.
func (p *exprParser) take() exprToken {
	t := p.tokens[p.next]
	if t.text != "" {
		p.next++
	}
	return t
}

// errorf is an error at the next token.
func (p *exprParser) errorf(format string, args ...any) error {
	return p.errorAt(p.peek(), format, args...)
}

func (p *exprParser) errorAt(t exprToken, format string, args ...any) error {
	return &Error{Column: utf8.RuneCountInString(p.text[:t.at]) + 1, Source: p.text, Message: fmt.Sprintf(format, args...)}
}

func (p *exprParser) or(depth int) (node, error)  { return p.join("or", depth, p.and) }
func (p *exprParser) and(depth int) (node, error) { return p.join("and", depth, p.term) }

// join reads one or more terms with the word between them.
func (p *exprParser) join(word string, depth int, term func(int) (node, error)) (node, error) {
	var terms []node
	for {
		t, err := term(depth)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
		if p.peek().text != word {
			break
		}
		p.take()
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	return joined{word == "and", terms}, nil
}

func (p *exprParser) term(depth int) (node, error) {
	if p.peek().text != "(" {
		return p.comparison()
	}
	if depth >= maxDepth {
		return nil, p.errorf("more than %d parentheses within each other", maxDepth)
	}
	p.take()
	inner, err := p.or(depth + 1)
	if err != nil {
		return nil, err
	}
	if p.peek().text != ")" {
		return nil, p.errorf("a closing parenthesis is missing here")
	}
	p.take()
	return inner, nil
}

func (p *exprParser) comparison() (node, error) {
	name := p.take()
	at := utf8.RuneCountInString(p.text[:name.at])
	metric, ok := FindMetric(name.text)
	switch {
	case name.text == "":
		return nil, p.errorAt(name, "a condition is missing here, such as slaves.qdisc.dropped == 0")
	case !ok:
		near := nearestMetric(name.text)
		if near != "" {
			near = "; did you mean " + near + "?"
		}
		return nil, p.errorAt(name, "%q is not a metric%s (docs/metrics.md lists them)", name.text, near)
	}
	op := p.take()
	if _, ok := operators[op.text]; !ok {
		hint := ""
		if op.text == "=" {
			hint = "; did you mean ==?"
		}
		return nil, p.errorAt(op, "%s must be followed by ==, !=, <, <=, > or >=%s", metric.Name, hint)
	}
	value := p.take()
	if value.text == "" {
		return nil, p.errorAt(value, "a value is missing here")
	}
	if !metric.Bool {
		v, problem := parseNumber(value.text, metric.Unit)
		if problem != "" {
			return nil, p.errorAt(value, "%s", problem)
		}
		return comparison{at, metric.Name, op.text, v}, nil
	}
	truths := map[string]float64{"false": 0, "true": 1}
	v, ok := truths[value.text]
	switch {
	case !ok:
		return nil, p.errorAt(value, "%s is compared with true or false", metric.Name)
	case op.text != "==" && op.text != "!=":
		return nil, p.errorAt(op, "%s is true or false; compare it by == or !=", metric.Name)
	}
	return comparison{at, metric.Name, op.text, v}, nil
}
