package judge

import (
	"fmt"
	"strconv"
	"strings"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// expect evaluates the scenario's expect lines over the metrics of a run. One whose metrics can't be had is
// not evaluated, and says why.
func expect(lines []string, metrics map[string]float64, o result.Oracle) []result.Expectation {
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
			v, ok := metrics[name]
			return v, ok
		})
		e.Note = found(x, metrics, o)
		out = append(out, e)
	}
	return out
}

// found lists the values of an expression's metrics.
func found(x scenarios.Expr, metrics map[string]float64, o result.Oracle) string {
	var values []string
	for _, name := range x.Metrics() {
		v, ok := metrics[name]
		m, _ := scenarios.FindMetric(name)
		switch {
		case !ok && o.Why != "" && oracular[name]:
			values = append(values, name+" can't be had: "+o.Why)
		case !ok:
			values = append(values, name+" can't be had here")
		case m.Bool:
			values = append(values, fmt.Sprintf("%s is %t", name, v != 0))
		default:
			values = append(values, name+" is "+strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return strings.Join(values, ", ")
}

// oracular are the metrics that are absent where the oracle is.
var oracular = map[string]bool{"uncharged.median": true, "uncharged.max": true, "in_flight.median": true, "orphaned": true}

// failedExpectation is the first that failed, with the values found; "" when none did.
func failedExpectation(es []result.Expectation) string {
	for _, e := range es {
		if e.Evaluated && !e.OK {
			return fmt.Sprintf("expected %s, but %s", e.Expr, e.Note)
		}
	}
	return ""
}
