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
	// when tells of one arm whether the row is worth its place; nil: always.
	when func(*result.RunJudgement) bool
}

// nonzero shows a row where its metric is there and not 0.
func nonzero(name string) func(*result.RunJudgement) bool {
	return func(j *result.RunJudgement) bool { return j.Metrics[name] != 0 }
}

// having shows a row where its metric is there, be it 0.
func having(name string) func(*result.RunJudgement) bool {
	return func(j *result.RunJudgement) bool {
		_, ok := j.Metrics[name]
		return ok
	}
}

// faulted shows a row where a fault was made: only then is there anything after the first.
var faulted = having("failover.arp")

// in tells whether a row shows in a table of these arms.
func (r row) in(arms []shown) bool {
	return r.when == nil || slices.ContainsFunc(arms, func(a shown) bool { return r.when(&a.run.Judgement) })
}

// rows of the table, in order.
var rows = []row{
	{"offered, packets", metric("offered"), nil},
	{"  refused by the send buffer (EAGAIN)", metric("eagain"), nil},
	{"  told of a drop (ENOBUFS)", metric("enobufs"), nil},
	{"into the bond", metric("into"), nil},
	{"sent by the slaves' qdiscs", metric("slaves.qdisc.sent"), nil},
	{"dropped by the slaves' qdiscs", metric("slaves.qdisc.dropped"), nil},
	{"requeues", metric("slaves.qdisc.requeues"), nil},
	{"overlimits", metric("slaves.qdisc.overlimits"), nil},
	{"greatest backlog of a slave, packets", metric("slaves.qdisc.max_qlen"), nil},
	{"greatest backlog of a slave, bytes", metric("slaves.qdisc.max_backlog"), nil},
	{"greatest outq of a socket, bytes", metric("outq.max"), nil},
	{"in flight, packets (median)", oracle(func(o result.Oracle) float64 { return o.InFlight }), nil},
	{"  uncharged (median)", oracle(func(o result.Oracle) float64 { return o.Median }), nil},
	{"blocked in send", share("blocked.share"), nil},
	{"achieved rate", rate("rate.achieved"), nil},
	{"line rate", rate("rate.line"), nil},
	{"frames at the wire", metric("wire.frames"), nil},
	{"  overflowed in a receiver", metric("wire.overflow"), nonzero("wire.overflow")},
	{"  after a later one of their flow", metric("wire.crossed"), nonzero("wire.crossed")},
	{"frames at the receiver", metric("receiver.frames"), having("receiver.frames")},
	{"  packets lost on the way there", metric("receiver.lost"), nonzero("receiver.lost")},
	{"  overflowed there", metric("receiver.overflow"), nonzero("receiver.overflow")},
	{"  seen twice there", metric("receiver.duplicates"), nonzero("receiver.duplicates")},
	{"flows on a slave that was not predicted", metric("flows.mispredicted"), nonzero("flows.mispredicted")},
	{"polls that found a queue stuck", metric("slaves.qdisc.stuck"), nonzero("slaves.qdisc.stuck")},
	{"longest silence, ms", rounded("failover.gap"), faulted},
	{"lost, counted nowhere", share("failover.lost"), faulted},
	{"ARP or ND frames on new lines after it", metric("failover.arp"), faulted},
	{"IGMP or MLD frames on new lines after it", metric("failover.igmp"), faulted},
	{"share back on the slave set up again", share("failover.back"), faulted},
	{"ledger's remainder", metric("ledger.remainder"), nil},
}

const absent = "-"

func metric(name string) func(*result.RunJudgement) string {
	return formatted(name, number)
}

func rounded(name string) func(*result.RunJudgement) string {
	return formatted(name, func(v float64) string { return fmt.Sprintf("%.0f", v) })
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
		if !j.Oracle.Available || j.Oracle.Samples == 0 || clouded(j.Oracle) {
			return absent
		}
		return fmt.Sprintf("%.1f", of(j.Oracle))
	}
}

// clouded tells whether packets that vanished uncounted are among those in flight, for they never complete. As figures they
// would look like lost back-pressure; where it is lost in spite of them, the figures stand.
func clouded(o result.Oracle) bool { return o.Vanished > 0 && !o.Orphaned }

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
		if !r.in(arms) {
			continue
		}
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
	for _, a := range arms {
		if o := a.run.Judgement.Oracle; clouded(o) {
			wrap(b, "(in flight, "+a.arm.Name+" arm: ", fmt.Sprintf("%s vanished uncounted and cannot be told from those in flight)", result.Plural(int(o.Vanished), "packet")))
		}
	}
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
