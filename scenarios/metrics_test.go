package scenarios

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// oracleRows are the rows of the report's table that do not name their metric.
var oracleRows = map[string]string{"in_flight.median": "in flight, packets (median)", "uncharged.median": "uncharged (median)"}

// reported matches a row of the report's table: its label, and the metric it shows.
var reported = regexp.MustCompile(`(?m)^\t\{"([^"]+)", \w+\("([a-z_.]+)"\)`)

// labels are what the report's table calls the metrics, by their names. It is read as text: the rows are the report's own.
func labels(t *testing.T) map[string]string {
	src, err := os.ReadFile("../internal/report/table.go")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, row := range reported.FindAllStringSubmatch(string(src), -1) {
		of[row[2]] = strings.TrimSpace(row[1])
	}
	if len(of) < 20 {
		t.Fatalf("only %d rows of the report's table are understood", len(of))
	}
	for name, label := range oracleRows {
		if !strings.Contains(string(src), label+`", oracle(`) {
			t.Errorf("the report's table has no row %q", label)
		}
		of[name] = label
	}
	for name := range of {
		if _, ok := FindMetric(name); !ok {
			t.Errorf("the report's table shows %s, which is no metric", name)
		}
	}
	return of
}

// docs/metrics.md is the metric table. It is written by: go test ./scenarios -run MetricsDoc -update
func TestMetricsDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Metrics\n\nThe figures of a run, as `expect` and the result file name them. " +
		"This page is made from `scenarios/metrics.go`.\n\n" +
		"Figures of several slaves or senders are added up unless the text says otherwise. A figure that can't be had on a testbed is missing, " +
		"and a condition that rests on it is not evaluated: then the run is inconclusive, unless only the oracle for lost back-pressure is missing. A condition that can't hold in any run of a scenario, " +
		"for want of a fault, a burst or a mode that the text names, is refused before anything runs.\n\n" +
		"The table of a result calls some of them by other words; those are in the last column.\n\n| Name | Unit | Better | Meaning | In the result's table |\n|---|---|---|---|---|\n")
	called := labels(t)
	for _, m := range Metrics {
		unit := m.Unit
		if m.Bool {
			unit = "true or false"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, unit, m.Better, m.Doc, called[m.Name])
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
		if seen[m.Name] || m.Doc == "" || m.Bool == (m.Unit != "") || strings.ToLower(m.Name) != m.Name || m.Better != "" && m.Better != Higher && m.Better != Lower {
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
