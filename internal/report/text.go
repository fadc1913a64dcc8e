package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
)

// Text is the result for people: the arms side by side, the slaves' qdiscs, the ledger, guards and
// expectations, warnings, the diagnosis in words, and last the verdict. Of what could not be measured only the verdict is told.
func Text(r result.Result) string {
	var b strings.Builder
	arms := choose(r)
	if measured(arms) {
		table(&b, arms)
		for _, a := range arms {
			armText(&b, a)
		}
	}
	if len(r.Warnings) > 0 {
		section(&b, "warnings")
		for _, w := range r.Warnings {
			wrap(&b, "  "+w.Code+": ", w.Text)
		}
	}
	if measured(arms) {
		section(&b, "positive control: an arm that must be BAD here, or GOOD would mean nothing")
		wrap(&b, "  ", controlled(r.Judgement.Control))
	}
	if len(r.Judgement.Diagnosis) > 0 {
		section(&b, "diagnosis of the test arm")
		for _, d := range r.Judgement.Diagnosis {
			wrap(&b, "  ", d.Code+": "+d.Text)
			wrap(&b, "    ", d.Evidence)
		}
	}
	section(&b, "verdict")
	wrap(&b, verdictLabel(r.Judgement), r.Judgement.Reason)
	return strings.TrimPrefix(b.String(), "\n") // of what comes first without a table
}

// shown is an arm by the run that stands for it.
type shown struct {
	arm   *result.Arm
	run   *result.Run
	index int
}

// measured tells whether there are figures to show; there are none of a kernel that did not come up, and the verdict says why.
func measured(arms []shown) bool {
	return slices.ContainsFunc(arms, func(a shown) bool { return len(a.run.Judgement.Metrics) > 0 })
}

// choose picks for each arm its last BAD run, else its last valid one, else its last that ended, else its last.
func choose(r result.Result) []shown {
	var out []shown
	for i := range r.Arms {
		a := &r.Arms[i]
		best, rank := -1, -1
		for k := range a.Runs {
			if n := standing(&a.Runs[k].Judgement); n >= rank {
				best, rank = k, n
			}
		}
		if best >= 0 {
			out = append(out, shown{a, &a.Runs[best], best})
		}
	}
	return out
}

func standing(j *result.RunJudgement) int {
	switch {
	case j.Valid && j.Verdict == result.Bad:
		return 3
	case j.Valid:
		return 2
	case len(j.Metrics) > 0:
		return 1
	}
	return 0
}

func (s shown) which() string { return fmt.Sprintf("run %d of %d", s.index+1, len(s.arm.Runs)) }

func section(b *strings.Builder, title string) { b.WriteString("\n" + title + "\n") }

// armText is what there is to see of one arm's run below the table.
func armText(b *strings.Builder, s shown) {
	j := &s.run.Judgement
	title := s.arm.Name + " arm, " + s.which()
	if rec := &s.run.Recording; len(rec.Before.Slaves) == len(rec.After.Slaves) && len(rec.After.Slaves) > 0 {
		section(b, title+": qdiscs, as tc -s qdisc prints them, counted over the run")
		qdiscs(b, rec)
	}
	if j.Spread != nil {
		section(b, title+": spread over the slaves")
		spread(b, j.Spread)
	}
	section(b, title+": ledger (each line is an equation; the remainder is what nothing explains)")
	ledger(b, j.Ledger)
	section(b, title+": guards (all must hold for the run to count)")
	for _, g := range j.Guards {
		wrap(b, fmt.Sprintf("  %-13s %-8s", g.Name, guardWord(g)), g.Evidence)
	}
	if word, text := unchargedText(j.Oracle); text != "" {
		wrap(b, fmt.Sprintf("  %-13s %-8s", "uncharged", word), text)
	}
	if len(j.Expect) > 0 && s.arm.Name == result.ArmTest { // it is what the expectations are about
		section(b, title+": expectations")
		for _, e := range j.Expect {
			wrap(b, fmt.Sprintf("  %-8s", expectWord(e)), because(e.Expr, e.Note))
		}
	}
	if len(s.arm.Runs) > 1 {
		section(b, s.arm.Name+" arm: all runs")
		for i, r := range s.arm.Runs {
			wrap(b, fmt.Sprintf("  %-3d %-12s", i+1, word(r.Judgement.Verdict)), " "+runText(&r.Judgement))
		}
	}
}

// unchargedText is what the table's figures do not tell of the oracle; "" when they tell all.
func unchargedText(o result.Oracle) (word, text string) {
	switch {
	case !o.Available:
		return "unknown", o.Why
	case clouded(o) && o.Median > o.Threshold: // where it is lost, the diagnosis says it
		return "ok", fmt.Sprintf("%.4g of %.4g (medians), but %.4g packets vanished uncounted and look as if they were in flight, so the threshold is %.4g + %.4g",
			o.Median, o.InFlight, o.Vanished, o.Threshold, o.Vanished)
	}
	return "", ""
}

// runText is a run in one line.
func runText(j *result.RunJudgement) string {
	for _, g := range j.Guards {
		if !g.OK {
			return fmt.Sprintf("does not count, guard %s: %s", g.Name, g.Evidence)
		}
	}
	if len(j.Diagnosis) == 0 {
		return ""
	}
	d := j.Diagnosis[0]
	return result.Diagnoses[d.Code].Title + ": " + d.Evidence
}

// few is how many qdiscs of a slave are all written: a root, or tbf and its child.
const few = 2

// qdiscs writes the qdiscs of the slaves, and netem on the bond, with the counts of the run. Of the many of a slave
// with several TX queues those that had nothing to do are only counted.
func qdiscs(b *strings.Builder, rec *result.Recording) {
	for i, after := range rec.After.Slaves {
		idle := 0
		for _, q := range inOrder(after.Qdiscs) {
			over := during(rec.Before.Slaves[i].Qdiscs, q)
			if len(after.Qdiscs) > few && over.Packets == 0 && over.Drops == 0 && over.Qlen == 0 {
				idle++
				continue
			}
			b.WriteString(over.Text())
		}
		if idle > 0 {
			fmt.Fprintf(b, "(%s of %s: nothing sent, dropped or waiting)\n", result.Plural(idle, "more qdisc"), slaveName(rec, i))
		}
	}
	if q := rec.After.Orphaner; q != nil {
		var before []counters.Qdisc
		if rec.Before.Orphaner != nil {
			before = append(before, *rec.Before.Orphaner)
		}
		over := during(before, *q)
		b.WriteString(over.Text())
	}
}

// inOrder sorts qdiscs as their TX queues are numbered: the kernel lists those under mq in no order. A root comes last in
// number, for its parent is the greatest, and is put first.
func inOrder(qs []counters.Qdisc) []counters.Qdisc {
	return slices.SortedStableFunc(slices.Values(qs), func(a, b counters.Qdisc) int { return cmp.Compare(place(a), place(b)) })
}

// place is where a qdisc hangs: 0 for a root.
func place(q counters.Qdisc) uint32 {
	if q.Root() {
		return 0
	}
	return q.Parent
}

func slaveName(rec *result.Recording, i int) string {
	if i < len(rec.Slaves) {
		return rec.Slaves[i].Name
	}
	return fmt.Sprintf("slave %d", i)
}

// during is q with what it counted since its reading in before.
func during(before []counters.Qdisc, q counters.Qdisc) counters.Qdisc {
	i := slices.IndexFunc(before, func(b counters.Qdisc) bool { return b.Key() == q.Key() })
	if i < 0 {
		return q
	}
	d, _ := counters.Delta(before[i], q)
	q.Bytes, q.Packets = d.Bytes, d.Packets
	q.Drops, q.Requeues, q.Overlimits = uint32(d.Drops), uint32(d.Requeues), uint32(d.Overlimits)
	return q
}

func ledger(b *strings.Builder, l result.Ledger) {
	if !l.Available {
		wrap(b, "  ", l.Why)
		return
	}
	for _, h := range l.Hops {
		fmt.Fprintf(b, "  %-28s remainder %d\n", h.Name, h.Remainder)
		wrap(b, "      ", h.Left+" = "+h.Right)
		if h.Note != "" {
			wrap(b, "      ", "("+h.Note+")")
		}
	}
}

// controlled says how far the control bears the verdict.
func controlled(c result.ControlJudgement) string {
	kind := c.Kind
	if kind == "other" { // the header says what it sets
		kind = ""
	}
	switch {
	case !c.Measured:
		return "not measured: " + c.Note
	case c.Invalid:
		return because("the control does not count", kind) + ": " + c.Note
	case c.Bad:
		return because("BAD, as it must be", kind) + ": " + c.Note
	}
	return because("NOT BAD as it must be", kind) + ": " + c.Note
}

func guardWord(g result.Guard) string {
	switch {
	case g.Off:
		return "off"
	case g.OK:
		return "ok"
	}
	return "FAILED"
}

func expectWord(e result.Expectation) string {
	switch {
	case !e.Evaluated:
		return "unknown"
	case e.OK:
		return "ok"
	}
	return "FAILED"
}

// word is a verdict for people.
func word(v result.Verdict) string {
	switch v {
	case result.Good:
		return "GOOD"
	case result.Bad:
		return "BAD"
	}
	return "CANNOT TELL"
}

func verdictLabel(j result.Judgement) string {
	if j.Verdict == result.Bad {
		return fmt.Sprintf("BAD (%s): ", j.Cause)
	}
	return word(j.Verdict) + ": "
}
