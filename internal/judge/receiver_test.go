package judge

import (
	"slices"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// at gives a recording a receiver that saw so many different numbers; change makes it see more.
func at(unique int, change func(*result.Wire)) func(*result.Recording) {
	return func(r *result.Recording) {
		w := result.Wire{
			Slaves:  []result.WireSlave{{Frames: uint64(unique), Ours: uint64(unique)}},
			Senders: []result.WireSender{{Unique: uint64(unique), Beyond: uint64(unique)}},
		}
		if change != nil {
			change(&w)
		}
		r.Receiver = &result.Reception{Received: &result.ReceivedRun{Run: r.Run, Wire: w}}
	}
}

// noWireThere takes the wire out of a recording: real ports have none.
func noWireThere(r *result.Recording) { r.Wire = nil }

const sent = 9277 // frames of a stock run

func TestReceiverHop(t *testing.T) {
	twice := func(w *result.Wire) { w.Senders[0].Duplicates = sent }
	for _, c := range []struct {
		name     string
		plan     func() *plan
		spoil    []func(*result.Recording)
		left     int64
		right    int64
		rest     int64
		in       string   // in its words
		warnings []string // codes
	}{
		{"all of it", stock, []func(*result.Recording){at(sent, nil)}, sent, sent, 0, "different numbers at the wire 9277", nil},
		{"all of it, without a wire", stock, []func(*result.Recording){noWireThere, at(sent, nil)}, sent, sent, 0, "slaves' tx_packets 9277", nil},
		{"lost", stock, []func(*result.Recording){noWireThere, at(sent-7, nil)}, sent, sent - 7, 7, "no fault of the bond", []string{warnReceiverLost}},
		{"overflowed", stock, []func(*result.Recording){noWireThere, at(sent-7, func(w *result.Wire) { w.Slaves[0].Overflow = 7 })}, sent, sent, 0, "+ 7 that overflowed there", []string{warnReceiverOverflow}},
		{"nothing came", stock, []func(*result.Recording){noWireThere, at(0, nil)}, sent, 0, sent, "", []string{warnReceiverLost}},
		{"more than was counted", stock, []func(*result.Recording){noWireThere, at(sent+3, nil)}, sent, sent + 3, -3, "", []string{warnReceiverMore}},
		{"doubled on the way", stock, []func(*result.Recording){at(sent, func(w *result.Wire) { w.Senders[0].Duplicates = 4 })}, sent, sent, 0, "", []string{warnReceiverDuplicates}},
		{"own and foreign frames do not count", stock, []func(*result.Recording){noWireThere, at(sent, nil), func(r *result.Recording) {
			r.After.Into += 2
			r.After.Slaves[0].Own = 5
			r.After.Slaves[0].TxPackets += 7
			r.After.Slaves[0].Qdiscs[0].Packets += 7
		}}, sent, sent, 0, "- slaves' own 5 - 2 foreign frames", nil},
		{"drops by a qdisc never left", orphaning, []func(*result.Recording){at(sent, nil)}, sent, sent, 0, "", nil},
		{"broadcast, both copies", both2, []func(*result.Recording){at(sent, twice)}, sent, sent, 0, "9277 more frames are copies", nil},
		{"broadcast, one line", both2, []func(*result.Recording){noWireThere, at(sent, nil)}, sent, sent, 0, "slave that sent most 9277", nil},
		{"broadcast, a loss", both2, []func(*result.Recording){noWireThere, at(sent-2, twice)}, sent, sent - 2, 2, "9277 more frames are copies", []string{warnReceiverLost}},
		{"broadcast, copies overflowed", both2, []func(*result.Recording){noWireThere, at(sent, func(w *result.Wire) { w.Slaves[0].Overflow = 9 })}, sent, sent + 9, 0, "up to 9 of those that overflowed are copies", []string{warnReceiverOverflow}},
		{"broadcast, each slave dropped others", func() *plan { p := both2(); p.drops = []int{5, 3}; return p }, []func(*result.Recording){noWireThere, at(sent+4, nil)}, sent + 2, sent + 4, 0, "up to 3 packets that only another slave sent", nil},
	} {
		p := c.plan()
		rec := p.simulate()
		for _, s := range c.spoil {
			s(&rec)
		}
		without := rec
		without.Receiver = nil
		r := result.Run{Recording: rec, Judgement: Run(p.sc, p.preflight(), rec)}
		h := hopOf(r.Judgement, hopReceiver)
		if h.LeftSum != c.left || h.RightSum != c.right || h.Remainder != c.rest || !strings.Contains(h.Left+h.Right+h.Note, c.in) {
			t.Errorf("%s: %+v", c.name, h)
		}
		var codes []string
		for _, w := range receiverWarnings(&r) {
			codes = append(codes, w.Code)
		}
		if !slices.Equal(codes, c.warnings) {
			t.Errorf("%s: warnings %v, want %v", c.name, codes, c.warnings)
		}
		// Nothing of it decides.
		alone := Run(p.sc, p.preflight(), without)
		if j := r.Judgement; j.Verdict != alone.Verdict || j.Valid != alone.Valid || j.Metrics["ledger.remainder"] != alone.Metrics["ledger.remainder"] {
			t.Errorf("%s: %s, valid %t; without a receiver %s, valid %t", c.name, j.Verdict, j.Valid, alone.Verdict, alone.Valid)
		}
		if lost := r.Judgement.Metrics["receiver.lost"]; lost != float64(max(0, c.rest)) {
			t.Errorf("%s: receiver.lost is %v", c.name, lost)
		}
	}
}

// both2 is a broadcast bond of two equal lines.
func both2() *plan { return broadcast(stock()) }

func hopOf(j result.RunJudgement, name string) result.Hop {
	i := slices.IndexFunc(j.Ledger.Hops, func(h result.Hop) bool { return h.Name == name })
	if i < 0 {
		return result.Hop{}
	}
	return j.Ledger.Hops[i]
}

// TestReceiverMissing: no hop and no figure, and a warning in the result; the verdict is what it was.
func TestReceiverMissing(t *testing.T) {
	missing := func(r *result.Recording) { r.Receiver = &result.Reception{Missing: "the receiver's file has no run 1"} }
	r := Again(result.Result{Config: result.Config{Scenario: stock().sc}, Arms: []result.Arm{arm("test", sim{stock, missing}, sim{stock, missing}), arm("control", sim{asked, nil})}})
	if r.Judgement.Verdict != result.Good {
		t.Errorf("%s: %s", r.Judgement.Verdict, r.Judgement.Reason)
	}
	j := r.Arms[0].Runs[0].Judgement
	if _, ok := j.Metrics["receiver.frames"]; ok || hopOf(j, hopReceiver).Name != "" {
		t.Errorf("figures of a receiver that knows nothing: %v", j.Metrics)
	}
	i := slices.IndexFunc(r.Warnings, func(w result.Warning) bool { return w.Code == warnReceiverMissing })
	if i < 0 || r.Warnings[i].Text != "Run 1: Nothing is known of what reached the receiver: the receiver's file has no run 1." {
		t.Errorf("warnings %+v", r.Warnings)
	}
	if again := Again(r); len(again.Warnings) != len(r.Warnings) {
		t.Errorf("judged again there are %d warnings, there were %d", len(again.Warnings), len(r.Warnings))
	}
}

// TestReceiverExpectation: a scenario may make its verdict rest on the receiver's figures.
func TestReceiverExpectation(t *testing.T) {
	p := stock()
	p.sc.Expect = []string{"receiver.lost == 0"}
	for _, c := range []struct {
		change func(*result.Recording)
		want   result.Verdict
	}{{at(sent, nil), result.Good}, {at(sent-1, nil), result.Bad}, {func(*result.Recording) {}, result.Inconclusive}} {
		rec := p.simulate()
		c.change(&rec)
		if j := Run(p.sc, p.preflight(), rec); j.Verdict != c.want {
			t.Errorf("%s, want %s: %+v", j.Verdict, c.want, j.Expect)
		}
	}
}
