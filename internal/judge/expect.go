package judge

import (
	"fmt"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// expect evaluates the scenario's expect lines over the metrics of a run. One whose metrics can't be had is
// not evaluated, and says why.
func expect(lines []string, m metrics) []result.Expectation {
	var out []result.Expectation
	for _, line := range lines {
		e := result.Expectation{Expr: line}
		x, err := scenarios.ParseExpr(line)
		if err != nil {
			e.Note = err.Error()
			out = append(out, e)
			continue
		}
		e.OK, e.Evaluated = x.Eval(func(name string) (float64, bool) {
			v, ok := m.values[name]
			return v, ok
		})
		e.Note = found(x, m)
		out = append(out, e)
	}
	return out
}

// found lists the values of an expression's metrics.
func found(x scenarios.Expr, m metrics) string {
	var values []string
	for _, name := range x.Metrics() {
		v, ok := m.values[name]
		if !ok {
			values = append(values, fmt.Sprintf("%s can't be had: %s", name, m.absent[name]))
			continue
		}
		values = append(values, name+" is "+valueText(name, v))
	}
	return strings.Join(values, ", ")
}

// failed is the first expectation that failed; nil when none did.
func failed(es []result.Expectation) *result.Expectation {
	for i := range es {
		if es[i].Evaluated && !es[i].OK {
			return &es[i]
		}
	}
	return nil
}

// failure says what failed, with the values found.
func failure(e *result.Expectation) string {
	return fmt.Sprintf("expected %s, but %s", e.Expr, e.Note)
}

// oracular are the metrics that are absent where the oracle is.
var oracular = []string{"uncharged.median", "uncharged.max", "in_flight.median", "orphaned"}

// open is the first expectation that could not be evaluated, so that the run can't be GOOD; nil when there is none.
// What rests on the oracle alone is not among them: drops tell where there is none, and the report says so.
func open(es []result.Expectation, m metrics) *result.Expectation {
	for i := range es {
		if !es[i].Evaluated && !restsOnOracle(es[i].Expr, m) {
			return &es[i]
		}
	}
	return nil
}

// restsOnOracle tells whether no other metric than the oracle's is missing for an expression.
func restsOnOracle(text string, m metrics) bool {
	x, err := scenarios.ParseExpr(text)
	return err == nil && !slices.ContainsFunc(x.Metrics(), func(name string) bool {
		_, ok := m.values[name]
		return !ok && !slices.Contains(oracular, name)
	})
}
