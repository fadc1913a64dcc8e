package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// row is one quantity of the table of arms. A quantity that can't be had shows as a dash.
type row struct {
	label string
	value func(*result.RunJudgement) string
}

// rows of the table, in order.
var rows = []row{
	{"offered, packets", metric("offered")},
	{"  refused by the send buffer (EAGAIN)", metric("eagain")},
	{"  told of a drop (ENOBUFS)", metric("enobufs")},
	{"into the bond", metric("into")},
	{"sent by the slaves' qdiscs", metric("slaves.qdisc.sent")},
	{"dropped by the slaves' qdiscs", metric("slaves.qdisc.dropped")},
	{"requeues", metric("slaves.qdisc.requeues")},
	{"overlimits", metric("slaves.qdisc.overlimits")},
	{"greatest backlog of a slave, packets", metric("slaves.qdisc.max_qlen")},
	{"greatest backlog of a slave, bytes", metric("slaves.qdisc.max_backlog")},
	{"greatest outq of a socket, bytes", metric("outq.max")},
	{"in flight, packets (median)", oracle(func(o result.Oracle) float64 { return o.InFlight })},
	{"  uncharged (median)", oracle(func(o result.Oracle) float64 { return o.Median })},
	{"blocked in send", share("blocked.share")},
	{"achieved rate", rate("rate.achieved")},
	{"line rate", rate("rate.line")},
	{"frames at the wire", metric("wire.frames")},
	{"ledger's remainder", metric("ledger.remainder")},
}

const absent = "-"

func metric(name string) func(*result.RunJudgement) string {
	return formatted(name, number)
}

func rate(name string) func(*result.RunJudgement) string { return formatted(name, result.BitRate) }

func share(name string) func(*result.RunJudgement) string {
	return formatted(name, func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) })
}

func formatted(name string, format func(float64) string) func(*result.RunJudgement) string {
	return func(j *result.RunJudgement) string {
		if v, ok := j.Metrics[name]; ok {
			return format(v)
		}
		return absent
	}
}

func oracle(of func(result.Oracle) float64) func(*result.RunJudgement) string {
	return func(j *result.RunJudgement) string {
		if !j.Oracle.Available || j.Oracle.Samples == 0 {
			return absent
		}
		return fmt.Sprintf("%.1f", of(j.Oracle))
	}
}

// table writes the arms side by side, each by the run shown.
func table(b *strings.Builder, arms []shown) {
	var cells [][]string
	names, which := []string{""}, []string{"what was measured"}
	for _, a := range arms {
		names = append(names, a.arm.Name)
		which = append(which, a.which())
	}
	cells = append(cells, names, which)
	for _, r := range rows {
		line := []string{r.label}
		for _, a := range arms {
			line = append(line, r.value(&a.run.Judgement))
		}
		cells = append(cells, line)
	}
	verdicts := []string{"verdict of this run"}
	for _, a := range arms {
		verdicts = append(verdicts, word(a.run.Judgement.Verdict))
	}
	cells = append(cells, verdicts)
	align(b, cells)
}

// align sets the first column left and the others right.
func align(b *strings.Builder, cells [][]string) {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	for _, line := range cells {
		text := fmt.Sprintf("%-*s", widths[0], line[0])
		for i, c := range line[1:] {
			text += fmt.Sprintf("   %*s", widths[i+1], c)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}
