package scenarios

import (
	"fmt"
	"strings"
	"testing"
)

// docs/metrics.md is the metric table. It is written by: go test ./scenarios -run MetricsDoc -update
func TestMetricsDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Metrics\n\nThe figures of a run, as `expect` and the result file name them. " +
		"This page is made from `scenarios/metrics.go`.\n\n" +
		"Figures of several slaves or senders are added up unless the text says otherwise. A figure that can't be had on a testbed is missing, " +
		"and a condition that rests on it is not evaluated: then the run is inconclusive, unless only the oracle for lost back-pressure is missing. A condition that can't hold in any run of a scenario, " +
		"for want of a fault, a burst or a mode that the text names, is refused before anything runs.\n\n| Name | Unit | Meaning |\n|---|---|---|\n")
	for _, m := range Metrics {
		unit := m.Unit
		if m.Bool {
			unit = "true or false"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Name, unit, m.Doc)
	}
	b.WriteString("\n## Conditions\n\nA condition compares a metric with a value: `==`, `!=`, `<`, `<=`, `>`, `>=`. Conditions are joined by `and` and `or` " +
		"(`and` binds closer) and parentheses.\nNumbers may end in `k`, `m` or `g` (decimal), beside `bit/s` also in `kbit`, `mbit` or `gbit`, " +
		"beside `bytes` in `KiB`, `MiB` and the like, beside `ms` in `ms` or `s`, beside a `share` in `%`.\n\n" +
		"    slaves.qdisc.dropped == 0 and (orphaned == false or blocked.share > 5%)\n")
	golden(t, "../docs/metrics.md", b.String())
}

func TestMetricTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics {
		if seen[m.Name] || m.Doc == "" || m.Bool == (m.Unit != "") || strings.ToLower(m.Name) != m.Name {
			t.Errorf("bad entry %+v", m)
		}
		seen[m.Name] = true
		value := "1"
		if m.Bool {
			value = "true"
		}
		if _, err := ParseExpr(m.Name + " == " + value); err != nil {
			t.Error(err)
		}
	}
}
