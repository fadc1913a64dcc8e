package scenarios

import (
	"slices"
	"strconv"
)

// Expr is a condition over the metric table: comparisons of a metric with a value, joined by "and" and "or"
// ("and" binds closer), in parentheses where wanted. The zero Expr is empty and never evaluated.
type Expr struct {
	text string
	root node
}

// String is the expression as it was written.
func (e Expr) String() string { return e.text }

// Metrics are the names the expression uses, each once, in order of appearance.
func (e Expr) Metrics() []string {
	var names []string
	if e.root != nil {
		e.root.metrics(func(name string) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
	}
	return names
}

// Eval tells whether the expression holds. value gives a metric's value (1 and 0 for true and false) or false
// when it can't be had. evaluated is false when the missing metrics decide: "a and b" with b missing is known
// to be false when a is, and unknown otherwise.
func (e Expr) Eval(value func(name string) (float64, bool)) (ok, evaluated bool) {
	if e.root == nil {
		return false, false
	}
	switch e.root.eval(value) {
	case holds:
		return true, true
	case fails:
		return false, true
	}
	return false, false
}

// unmet is the first comparison that keeps the expression from ever holding where only some metrics can be had; nil
// when it can hold.
func (e Expr) unmet(has func(name string) bool) *comparison {
	if e.root == nil {
		return nil
	}
	return e.root.unmet(has)
}

// truth is the three-valued outcome of a condition. The order makes "and" the least and "or" the greatest.
type truth int

const (
	fails truth = iota
	unknown
	holds
)

type node interface {
	eval(value func(string) (float64, bool)) truth
	metrics(use func(string))
	unmet(has func(string) bool) *comparison
}

// joined is conditions with one word between them.
type joined struct {
	and   bool
	terms []node
}

func (j joined) eval(value func(string) (float64, bool)) truth {
	result := j.terms[0].eval(value)
	for _, term := range j.terms[1:] {
		if j.and {
			result = min(result, term.eval(value))
		} else {
			result = max(result, term.eval(value))
		}
	}
	return result
}

func (j joined) metrics(use func(string)) {
	for _, term := range j.terms {
		term.metrics(use)
	}
}

// unmet: "and" needs every term, "or" any.
func (j joined) unmet(has func(string) bool) *comparison {
	var first *comparison
	for _, term := range j.terms {
		c := term.unmet(has)
		if first == nil {
			first = c
		}
		if (c == nil) != j.and {
			return c
		}
	}
	return first
}

// comparison is one metric against one value.
type comparison struct {
	at     int // characters before the metric's name
	metric string
	op     string
	value  float64
}

// operators is what each comparison means.
var operators = map[string]func(a, b float64) bool{
	"==": func(a, b float64) bool { return a == b },
	"!=": func(a, b float64) bool { return a != b },
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
}

func (c comparison) eval(value func(string) (float64, bool)) truth {
	v, ok := value(c.metric)
	switch {
	case !ok:
		return unknown
	case operators[c.op](v, c.value):
		return holds
	}
	return fails
}

func (c comparison) metrics(use func(string)) { use(c.metric) }

func (c comparison) unmet(has func(string) bool) *comparison {
	if has(c.metric) {
		return nil
	}
	return &c
}

// parseNumber reads a number with the suffix it may have beside a metric of that unit: k, m, g anywhere, % beside
// shares, bit rates beside bit/s, sizes beside bytes. "" is no error.
func parseNumber(text, of string) (v float64, problem string) {
	units := append([]unit{}, countUnits...)
	switch of {
	case "share":
		units = []unit{{"%", 0.01}}
	case "bit/s":
		units = append(units, bitUnits...)
	case "bytes":
		units = append(units, sizeUnits...)
	case "ms":
		units = []unit{{"ms", 1}, {"s", 1000}}
	case "µs":
		units = []unit{{"us", 1}, {"µs", 1}, {"ms", 1000}, {"s", 1e6}}
	case "s":
		units = []unit{{"ms", 0.001}, {"s", 1}}
	case "s/byte":
		units = []unit{{"ns", 1e-9}, {"us", 1e-6}, {"s", 1}}
	}
	number, u, err := splitUnit(text, units)
	if err != nil {
		return 0, strconv.Quote(text) + " is not a number" + suggestUnit(text, units) + suffixes(units, of)
	}
	v, _ = strconv.ParseFloat(number, 64)
	if u != nil {
		v *= u.factor
	}
	return v, ""
}

// countUnits are decimal.
var countUnits = []unit{{"g", 1e9}, {"G", 1e9}, {"m", 1e6}, {"M", 1e6}, {"k", 1e3}, {"K", 1e3}}

func suffixes(units []unit, of string) string {
	text := " (a number of " + of + " may end in"
	for i, u := range units {
		if i > 0 {
			text += ","
		}
		text += " " + u.name
	}
	return text + ")"
}
