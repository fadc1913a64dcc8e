package judge

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// want is what a run is to be judged; empty strings and nil funcs are not looked at.
type want struct {
	verdict result.Verdict
	cause   result.Cause
	code    string // the deciding diagnosis
	guard   string // the first that failed
	text    string // in that diagnosis' or guard's evidence
}

// each case breaks one thing of a run in which everything balances.
var runCases = []struct {
	name  string
	plan  func() *plan
	spoil func(*result.Recording)
	want  want
}{
	{name: "stock", plan: stock, want: want{verdict: result.Good, code: result.NoneFound, text: "blocked 85.0 % of the time, nothing dropped"}},
	{name: "stock with 8 senders", plan: func() *plan { p := stock(); p.sc.Traffic.Senders = 8; return p }, want: want{verdict: result.Good}},
	{name: "mq children", plan: func() *plan { p := orphaning(); p.queues = 4; return p },
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.BackPressureLost, text: "dropped 5000"}},
	{name: "tbf and its child count a drop once", plan: func() *plan { p := orphaning(); return p }, spoil: underTBF,
		want: want{verdict: result.Bad, code: result.BackPressureLost, text: "dropped 5000"}},

	// Mechanisms.
	{name: "orphaning module", plan: orphaning,
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.BackPressureLost, text: "uncharged 1230"}},
	{name: "every second packet orphaned, nothing dropped", plan: func() *plan { p := stock(); p.uncharged = 25; return p },
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.BackPressureLost, text: "uncharged 25 of 51"}},
	{name: "uncharged at the threshold", plan: func() *plan { p := stock(); p.uncharged = 8; return p }, want: want{verdict: result.Good}},
	{name: "10 % of many in flight may be uncharged", plan: func() *plan { p := stock(); p.sc.Traffic.Senders = 8; p.uncharged = 20; return p },
		want: want{verdict: result.Good}},
	{name: "netem as asked", plan: asked,
		want: want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.OrphanedAsAsked}},
	{name: "64 MiB of send buffer", plan: func() *plan {
		p := stock()
		p.sc.Traffic.Socket.SndBufForce = 64 << 20
		p.drops = []int{20000, 0}
		return p
	}, want: want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.SndbufExceedsQueue, text: "1 sender × 7944 packets = 7944 in flight at most, more than txqueuelen 1000 + 236 of ring 256"}},
	{name: "64 senders", plan: func() *plan {
		p := stock()
		p.sc.Traffic.Senders = 64
		p.drops = []int{20000, 0}
		return p
	}, want: want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.SndbufExceedsQueue, text: "64 senders"}},
	{name: "40 senders, which fit with the ring only", plan: func() *plan {
		p := stock()
		p.sc.Traffic.Senders = 40
		p.drops = []int{4, 0}
		return p
	}, want: want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.SndbufExceedsQueue,
		text: "40 senders × 26 packets = 1040 in flight at most, only with the ring within txqueuelen 1000 + 236 of ring 256"}},
	{name: "38 senders, which fit the queue", plan: func() *plan {
		p := stock()
		p.sc.Traffic.Senders = 38
		p.drops = []int{4, 0}
		return p
	}, want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.DropsUnpredicted}},
	{name: "64 senders on an orphaning kernel", plan: func() *plan {
		p := orphaning()
		p.sc.Traffic.Senders = 64
		return p
	}, want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.BackPressureLost}},
	{name: "drops that nothing predicts", plan: func() *plan { p := stock(); p.drops = []int{12, 0}; return p },
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.DropsUnpredicted}},
	{name: "broadcast on equal lines", plan: func() *plan { return broadcast(stock()) }, want: want{verdict: result.Good}},
	{name: "broadcast on unequal lines", plan: func() *plan {
		p := broadcast(stock())
		p.rates = []float64{60e6, 100e6}
		p.drops = []int{3710, 0}
		return p
	}, want: want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.BroadcastClones, text: "lines of 60 Mbit/s, 100 Mbit/s"}},
	{name: "broadcast on equal lines drops", plan: func() *plan { p := broadcast(stock()); p.drops = []int{300, 300}; return p },
		want: want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.BroadcastClones, text: "senders blocked 85.0 %"}},
	{name: "broadcast drops and nobody is held back", plan: func() *plan { p := broadcast(stock()); p.drops = []int{300, 300}; return p },
		spoil: func(r *result.Recording) { r.Senders[0].BlockedMS = 0 },
		want:  want{verdict: result.Bad, cause: result.CauseKernel, code: result.DropsUnpredicted, text: "clones carry no charge"}},
	{name: "copies on another line outside broadcast mode", plan: stock, spoil: func(r *result.Recording) { r.Wire.Senders[0].Copies = 9 },
		want: want{verdict: result.Inconclusive, guard: guardLedger, text: "9 duplicates"}},
	{name: "lost uncounted behind the bond", plan: stock, spoil: lose(9),
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.LostUncounted, text: `remainder +9 at hop "through the bond"; at the wire 9 unexplained gaps`}},
	{name: "many lost uncounted do not look orphaned", plan: stock, spoil: func(r *result.Recording) {
		lose(90)(r)
		for i := range r.Series.Into { // they never complete
			r.Series.Into[i] += 90
		}
	}, want: want{verdict: result.Bad, code: result.LostUncounted}},
	{name: "sent twice uncounted", plan: stock, spoil: double(9),
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.DuplicatedUncounted, text: `remainder -9 at hop "through the bond"; at the wire 0 unexplained gaps and 9 duplicates`}},
	{name: "sent twice, and some of it dropped", plan: asked, spoil: func(r *result.Recording) {
		double(20)(r) // 8 of the 20 copies were dropped: counted, and no gap
		r.After.Slaves[0].Qdiscs[0].Packets -= 8
		r.After.Slaves[0].Qdiscs[0].Drops += 8
		r.After.Slaves[0].TxPackets -= 8
		r.Wire.Slaves[0].Ours -= 8
		r.Wire.Senders[0].Duplicates -= 8
	}, want: want{verdict: result.Bad, code: result.OrphanedAsAsked}},
	{name: "fewer duplicates than doubled, and nothing dropped", plan: stock, spoil: func(r *result.Recording) {
		double(20)(r)
		r.Wire.Senders[0].Duplicates = 12
	}, want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "more duplicates than doubled", plan: asked, spoil: func(r *result.Recording) {
		double(20)(r)
		r.Wire.Senders[0].Duplicates = 40
	}, want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "one off in a small remainder", plan: stock, spoil: func(r *result.Recording) { lose(9)(r); r.Wire.Senders[0].Unique++ },
		want: want{verdict: result.Bad, code: result.LostUncounted}},
	{name: "two off in a small remainder", plan: stock, spoil: func(r *result.Recording) { lose(9)(r); r.Wire.Senders[0].Unique += 2 },
		want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "one lost without evidence", plan: stock, spoil: func(r *result.Recording) { lose(1)(r); r.Wire.Senders[0].Unique++ },
		want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "one gap without a remainder", plan: stock, spoil: func(r *result.Recording) { r.Wire.Senders[0].Unique-- },
		want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "doubled without evidence, with drops that could hide it", plan: asked, spoil: func(r *result.Recording) {
		double(20)(r)
		r.Wire.Senders[0].Duplicates = 0
	}, want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "within the tolerance asked for", plan: func() *plan { p := stock(); p.share[0] = 0.9; p.sc.Guards.LineTolerance = 0.2; return p },
		want: want{verdict: result.Good}},
	{name: "nothing on any line", plan: stock, spoil: func(r *result.Recording) { r.Wire.Slaves[0].Ours = 0 },
		want: want{verdict: result.Inconclusive, guard: guardLineFull, text: "no line carried anything"}},
	{name: "lost before the bond's counter", plan: stock, spoil: func(r *result.Recording) { lose(9)(r); r.After.Into -= 9 },
		want: want{verdict: result.Bad, code: result.LostUncounted, text: `hop "into the bond"`}},
	{name: "lost between driver and wire", plan: stock, spoil: func(r *result.Recording) {
		r.Wire.Slaves[0].Ours -= 50
		r.Wire.Senders[0].Unique -= 50
	}, want: want{verdict: result.Bad, code: result.LostUncounted, text: `hop "driver to wire eth0"`}},
	{name: "lost between qdisc and driver", plan: stock, spoil: func(r *result.Recording) {
		r.After.Slaves[0].TxPackets -= 50
		r.Wire.Slaves[0].Ours -= 50
		r.Wire.Senders[0].Unique -= 50
	}, want: want{verdict: result.Bad, code: result.LostUncounted, text: `hop "qdisc to driver eth0"`}},
	{name: "stuck queue", plan: stock, spoil: strand(40),
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.StuckQueue, text: "40 packets are in the slaves' qdiscs"}},
	{name: "stuck ring", plan: stock, spoil: func(r *result.Recording) {
		r.Drain = result.Drain{TookMS: 5000, Outq: 3 * simTruesize}
		r.After.Slaves[0].TxPackets -= 3
		r.Wire.Slaves[0].Ours -= 3
		r.Wire.Senders[0].Unique -= 3
	}, want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.StuckQueue, text: "3 in their rings"}},
	{name: "a driver that loses is never quiet and has nothing in its ring", plan: stock, spoil: func(r *result.Recording) {
		r.Drain = result.Drain{TookMS: 5000}
		r.After.Slaves[0].TxPackets -= 50
		r.Wire.Slaves[0].Ours -= 50
		r.Wire.Senders[0].Unique -= 50
	}, want: want{verdict: result.Bad, code: result.LostUncounted, text: `hop "qdisc to driver eth0"`}},
	{name: "stuck queue and ring", plan: stock, spoil: func(r *result.Recording) {
		strand(1000)(r)
		r.After.Slaves[0].TxPackets -= 256
		r.Wire.Slaves[0].Ours -= 256
		r.Wire.Senders[0].Unique -= 256
	}, want: want{verdict: result.Bad, code: result.StuckQueue, text: "1000 packets are in the slaves' qdiscs and 256 in their rings"}},
	{name: "stuck with requeued packets, which count twice", plan: stock, spoil: func(r *result.Recording) {
		strand(40)(r)
		r.After.Slaves[0].Qdiscs[0].Packets += 2
	}, want: want{verdict: result.Bad, code: result.StuckQueue, text: "40 packets are in the slaves' qdiscs and 0 in their rings"}},
	{name: "charged packets in netem are no leak", plan: func() *plan { p := stock(); p.netem = true; return p }, spoil: func(r *result.Recording) {
		lose(4)(r)
		r.After.Orphaner.Qlen = 4
		r.Drain = result.Drain{TookMS: 5000, Outq: 4 * simTruesize}
	}, want: want{verdict: result.Good}},
	{name: "leaked charge", plan: stock, spoil: func(r *result.Recording) { r.Drain = result.Drain{TookMS: 5000, Outq: 16896} },
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.LeakedCharge, text: "16896 bytes are charged with every queue empty"}},
	{name: "slow line is not stuck", plan: stock, spoil: func(r *result.Recording) {
		strand(40)(r)
		for i := range r.Series.Slaves[0].Completed { // all that is missing completed during the drain
			r.Series.Slaves[0].Completed[i] = 0
			r.Series.Into[i] = uint64(simInflight)
		}
		r.Drain.TookMS = 3000
	}, want: want{verdict: result.Good}},
	{name: "failed expectation", plan: func() *plan { p := stock(); p.sc.Expect = []string{"rate.achieved >= 9gbit"}; return p },
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.ExpectationFailed, text: "expected rate.achieved >= 9gbit, but rate.achieved is"}},

	// Guards.
	{name: "sender too slow", plan: func() *plan { p := stock(); p.share[0] = 0.9; p.blocked = 0; return p },
		want: want{verdict: result.Inconclusive, guard: guardLineFull, code: result.SenderTooSlow, text: "eth0 took 90 Mbit/s of 100 Mbit/s"}},
	{name: "a line too fast", plan: func() *plan { p := stock(); p.share[0] = 1.1; return p },
		want: want{verdict: result.Inconclusive, guard: guardLineFull}},
	{name: "within the tolerance", plan: func() *plan { p := stock(); p.share[0] = 0.96; return p }, want: want{verdict: result.Good}},
	{name: "one refused send is no pressure", plan: func() *plan { p := stock(); p.blocked = 0.001; return p },
		spoil: func(r *result.Recording) { r.Senders[0].EAGAIN = 1 },
		want:  want{verdict: result.Inconclusive, guard: guardLineFull}},
	{name: "full line, nobody held back", plan: func() *plan { p := stock(); p.blocked = 0.001; return p },
		want: want{verdict: result.Inconclusive, guard: guardLineFull, text: "no sender was blocked"}},
	{name: "full line, sends refused", plan: func() *plan { p := stock(); p.blocked = 0; p.uncharged = 0; return p },
		spoil: func(r *result.Recording) { r.Senders[0].EAGAIN = 4000 },
		want:  want{verdict: result.Good, text: "4000 sends refused"}},
	{name: "warm-up is left out of the rate", plan: stock, spoil: func(r *result.Recording) {
		w := &r.Wire.Slaves[0]
		for i := range w.AtMS { // a slow start
			if w.AtMS[i] < 500 {
				w.CumBytes[i] /= 2
			}
		}
	}, want: want{verdict: result.Good}},
	{name: "the tail after the senders' end is left out of the rate", plan: stock, spoil: func(r *result.Recording) {
		w := &r.Wire.Slaves[0]
		w.AtMS, w.CumBytes = append(w.AtMS, 8000), append(w.CumBytes, w.CumBytes[len(w.CumBytes)-1])
	}, want: want{verdict: result.Good}},
	{name: "the line falls silent before the senders end", plan: stock, spoil: func(r *result.Recording) {
		w := &r.Wire.Slaves[0]
		n := len(w.AtMS) * 3 / 4
		w.AtMS, w.CumFrames, w.CumBytes = w.AtMS[:n], w.CumFrames[:n], w.CumBytes[:n]
	}, want: want{verdict: result.Inconclusive, guard: guardLineFull}},
	{name: "no reading of the line", plan: stock, spoil: func(r *result.Recording) { r.Wire.Slaves[0].AtMS = nil },
		want: want{verdict: result.Inconclusive, guard: guardLineFull, text: "could not be measured"}},
	{name: "no wire, but a driver that counts completions", plan: stock, spoil: func(r *result.Recording) { r.Wire = nil },
		want: want{verdict: result.Good}},
	{name: "traffic past the bond", plan: stock, spoil: func(r *result.Recording) { r.After.Into -= 4000 },
		want: want{verdict: result.Inconclusive, guard: guardIntoBond, text: "traffic bound past the bond"}},
	{name: "every send failed", plan: stock, spoil: func(r *result.Recording) {
		r.Senders[0] = result.Sender{Other: map[string]uint64{"ENETUNREACH": 5}, ElapsedMS: 3000}
	}, want: want{verdict: result.Inconclusive, guard: guardIntoBond, text: "ENETUNREACH 5"}},
	{name: "slave down", plan: stock, spoil: func(r *result.Recording) {
		r.Events = []result.Event{{AtMS: 1000, Kind: result.EventLinkDown, Slave: 0, Text: "eth0 lost its carrier"}}
	}, want: want{verdict: result.Inconclusive, guard: guardSlave, code: result.SlaveDown, text: "eth0 went down at 1000 ms"}},
	{name: "carrier changed unheard", plan: stock, spoil: func(r *result.Recording) { r.After.Slaves[1].CarrierChanges = 2 },
		want: want{verdict: result.Inconclusive, guard: guardSlave, text: "carrier_changes of eth1"}},
	{name: "qdisc replaced, heard", plan: stock, spoil: func(r *result.Recording) {
		r.Events = []result.Event{{AtMS: 1500, Kind: result.EventQdiscReplaced, Slave: 0, Text: "pfifo_fast 8003:"}}
	}, want: want{verdict: result.Inconclusive, guard: guardQdisc, text: "at 1500 ms"}},
	{name: "qdisc replaced, unheard", plan: stock, spoil: func(r *result.Recording) { r.After.Slaves[0].Qdiscs[0].Handle = 0x80070000 },
		want: want{verdict: result.Inconclusive, guard: guardQdisc, text: "eth0 began anew"}},
	{name: "a child of mq came", plan: stock, spoil: func(r *result.Recording) {
		r.After.Slaves[1].Qdiscs = append(r.After.Slaves[1].Qdiscs, counters.Qdisc{Ifindex: 3, Kind: "pfifo_fast", Parent: 2})
	}, want: want{verdict: result.Inconclusive, guard: guardQdisc}},
	{name: "a fault of ours is no change of state", plan: stock, spoil: func(r *result.Recording) {
		r.Events = []result.Event{{AtMS: 1000, Kind: result.EventFault, Slave: 0, Text: "asked for"}}
	}, want: want{verdict: result.Good}},
	{name: "guard turned off", plan: func() *plan { p := stock(); p.sc.Guards.SlaveStable = false; return p },
		spoil: func(r *result.Recording) { r.After.Slaves[1].CarrierChanges = 2 }, want: want{verdict: result.Good}},
	{name: "unconfirmed remainder", plan: stock, spoil: func(r *result.Recording) { r.After.Slaves[0].Qdiscs[0].Packets -= 9; r.After.Slaves[0].TxPackets -= 9 },
		want: want{verdict: result.Inconclusive, guard: guardLedger, text: "unconfirmed"}},
	{name: "remainder that the gaps do not match", plan: stock, spoil: func(r *result.Recording) { lose(90)(r); r.Wire.Senders[0].Unique += 60 },
		want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "gaps without a remainder", plan: stock, spoil: func(r *result.Recording) { r.Wire.Senders[0].Unique -= 9 },
		want: want{verdict: result.Inconclusive, guard: guardLedger, text: "9 unexplained gaps"}},
	{name: "duplicates without a remainder", plan: stock, spoil: func(r *result.Recording) { r.Wire.Senders[0].Duplicates = 9 },
		want: want{verdict: result.Inconclusive, guard: guardLedger, text: "9 duplicates"}},
	{name: "a remainder that no wire can confirm", plan: stock, spoil: func(r *result.Recording) { lose(9)(r); r.Wire = nil },
		want: want{verdict: result.Inconclusive, guard: guardLedger, text: "nothing at the wire can confirm it"}},
	{name: "guest panicked", plan: stock, spoil: func(r *result.Recording) { *r = result.Recording{Failure: "the guest panicked"} },
		want: want{verdict: result.Inconclusive, guard: guardFinished, text: "the guest panicked"}},
	{name: "guards before mechanisms", plan: orphaning, spoil: func(r *result.Recording) { r.After.Slaves[1].CarrierChanges = 2 },
		want: want{verdict: result.Inconclusive, guard: guardSlave}},

	// What explains a difference.
	{name: "u32 counters wrap", plan: orphaning, spoil: wrap, want: want{verdict: result.Bad, code: result.BackPressureLost, text: "dropped 5000"}},
	{name: "hidden ENOBUFS entered the bond", plan: stock, spoil: func(r *result.Recording) {
		s := &r.Senders[0]
		s.OK, s.Seqs, s.Hidden = s.OK-7, s.Seqs-7, 10
		r.Wire.Senders[0].Unique -= 7
	}, want: want{verdict: result.Good}},
	{name: "hidden EAGAIN consumed numbers", plan: stock, spoil: func(r *result.Recording) { r.Senders[0].Seqs += 7; r.Senders[0].Hidden = 10 },
		want: want{verdict: result.Good}},
	{name: "foreign frames through the bond", plan: stock, spoil: func(r *result.Recording) { foreign(r, 3); r.After.Into += 3 },
		want: want{verdict: result.Good}},
	{name: "foreign frames past the bond", plan: stock, spoil: func(r *result.Recording) { foreign(r, 3) }, want: want{verdict: result.Good}},
	{name: "foreign frames explain a loss of none", plan: stock, spoil: func(r *result.Recording) { foreign(r, 3); r.After.Into += 9 },
		want: want{verdict: result.Inconclusive, guard: guardLedger}},
	{name: "slaves' own frames", plan: stock, spoil: func(r *result.Recording) {
		foreign(r, 30)
		r.After.Slaves[0].Own = 30
		c := r.Series.Slaves[0].Completed
		for i := range c {
			c[i] += uint64(30 * i / len(c))
		}
	}, want: want{verdict: result.Good}},
	{name: "a stale frame is another run's", plan: stock, spoil: func(r *result.Recording) { r.Wire.Slaves[0].Frames++; r.Wire.Slaves[0].Stale++ },
		want: want{verdict: result.Good}},
	{name: "counted by the driver", plan: stock, spoil: func(r *result.Recording) {
		r.After.Slaves[0].TxPackets -= 5
		r.After.Slaves[0].TxDropped = 5
		r.Wire.Slaves[0].Ours -= 5
		r.Wire.Senders[0].Unique -= 5
	}, want: want{verdict: result.Good, text: "nothing dropped by a qdisc, 5 by the driver"}},
	{name: "netem's own drops", plan: asked, spoil: func(r *result.Recording) {
		r.After.Into += 40
		r.Senders[0].OK, r.Senders[0].Seqs = r.Senders[0].OK+40, r.Senders[0].Seqs+40
		r.After.Orphaner.Drops = 40
	}, want: want{verdict: result.Bad, code: result.OrphanedAsAsked}},

	// Where the oracle is not.
	{name: "too few samples for GOOD", plan: stock, spoil: fewSamples(19),
		want: want{verdict: result.Inconclusive, code: result.FewSamples, text: "19 samples"}},
	{name: "20 samples suffice", plan: stock, spoil: fewSamples(20), want: want{verdict: result.Good}},
	{name: "BAD by drops stands with few samples", plan: func() *plan { p := stock(); p.drops = []int{12, 0}; return p }, spoil: fewSamples(5),
		want: want{verdict: result.Bad, code: result.DropsUnpredicted}},
	{name: "few samples that show uncharged are not the configuration's", plan: func() *plan {
		p := orphaning()
		p.sc.Traffic.Senders = 64
		return p
	}, spoil: fewSamples(5), want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.DropsUnpredicted}},
	{name: "few samples that show uncharged, no drops", plan: func() *plan { p := stock(); p.uncharged = 25; return p }, spoil: fewSamples(5),
		want: want{verdict: result.Inconclusive, code: result.FewSamples}},
	{name: "driver that does not count completions", plan: func() *plan { p := stock(); p.uncharged = 25; return p },
		spoil: func(r *result.Recording) { r.Slaves[0].CountsCompletions = false }, want: want{verdict: result.Good}},
}

func TestRun(t *testing.T) {
	for _, c := range runCases {
		t.Run(c.name, func(t *testing.T) {
			p := c.plan()
			rec := p.simulate()
			if c.spoil != nil {
				c.spoil(&rec)
			}
			j := Run(p.sc, p.preflight(), rec)
			c.want.check(t, j)
		})
	}
}

func (w want) check(t *testing.T, j result.RunJudgement) {
	t.Helper()
	var evidence, code string
	if len(j.Diagnosis) > 0 {
		code, evidence = j.Diagnosis[0].Code, j.Diagnosis[0].Evidence
	}
	var failed string
	if g := broken(j.Guards); g != nil {
		failed = g.Name
		evidence += "\n" + g.Evidence
	}
	if j.Verdict != w.verdict || j.Cause != w.cause && w.cause != "" || w.code != "" && code != w.code || failed != w.guard || !strings.Contains(evidence, w.text) {
		t.Errorf("got %s, cause %q, diagnosis %q, guard %q, evidence %q\nwant %+v\nledger %+v\noracle %+v", j.Verdict, j.Cause, code, failed, evidence, w, j.Ledger, j.Oracle)
	}
	if j.Valid != (failed == "") {
		t.Errorf("valid is %t with failed guard %q", j.Valid, failed)
	}
	if (j.Verdict == result.Bad) != (j.Cause != "") {
		t.Errorf("verdict %s with cause %q", j.Verdict, j.Cause)
	}
}

// lose takes n packets away behind the bond's counter, so that no counter sees it.
func lose(n uint64) func(*result.Recording) {
	return func(r *result.Recording) {
		r.After.Slaves[0].Qdiscs[0].Packets -= n
		r.After.Slaves[0].TxPackets -= n
		if r.Wire != nil {
			r.Wire.Slaves[0].Ours -= n
			r.Wire.Senders[0].Unique -= n
		}
	}
}

func double(n uint64) func(*result.Recording) {
	return func(r *result.Recording) {
		r.After.Slaves[0].Qdiscs[0].Packets += n
		r.After.Slaves[0].TxPackets += n
		r.Wire.Slaves[0].Ours += n
		r.Wire.Senders[0].Duplicates += n
	}
}

// strand leaves n packets in the first slave's qdisc.
func strand(n int) func(*result.Recording) {
	return func(r *result.Recording) {
		lose(uint64(n))(r)
		r.After.Slaves[0].Qdiscs[0].Qlen = uint32(n)
		r.Drain = result.Drain{TookMS: 5000, Backlog: uint32(n), Outq: n * simTruesize}
		for i, c := range r.Series.Slaves[0].Completed { // five completed after the last poll
			r.Series.Slaves[0].Completed[i] = min(c, r.After.Slaves[0].TxPackets-r.Before.Slaves[0].TxPackets-5)
		}
	}
}

// foreign adds n frames that the first slave sent past the bond.
func foreign(r *result.Recording, n uint64) {
	r.After.Slaves[0].Qdiscs[0].Packets += n
	r.After.Slaves[0].TxPackets += n
	r.Wire.Slaves[0].Foreign = map[string]uint64{"arp": n}
}

// wrap moves every 32-bit counter close to its end.
func wrap(r *result.Recording) {
	near := uint32(math.MaxUint32 - 100)
	b, a := &r.Before.Slaves[0].Qdiscs[0], &r.After.Slaves[0].Qdiscs[0]
	b.Packets, a.Packets = uint64(near), uint64(near+uint32(a.Packets))
	b.Drops, a.Drops = near, near+a.Drops
	b.Requeues, a.Requeues = near, near+a.Requeues
}

// underTBF puts the pfifo_fast of each slave under a tbf that counts the same packets and drops.
func underTBF(r *result.Recording) {
	for _, s := range [][]result.SlaveCounters{r.Before.Slaves, r.After.Slaves} {
		for i := range s {
			tbf, child := s[i].Qdiscs[0], s[i].Qdiscs[0]
			tbf.Kind, tbf.Handle = "tbf", 0x00010000
			child.Parent = 0x00010001
			s[i].Qdiscs = []counters.Qdisc{tbf, child}
		}
	}
}

// fewSamples leaves n polls after the warm-up.
func fewSamples(n int) func(*result.Recording) {
	return func(r *result.Recording) {
		s := &r.Series
		first := slices.IndexFunc(s.AtMS, func(ms float64) bool { return ms >= 500 })
		s.Missed = len(s.AtMS) - first - n
		s.AtMS = s.AtMS[:first+n]
	}
}

func TestInformativeFindings(t *testing.T) {
	codes := func(j result.RunJudgement) (out []string) {
		for _, d := range j.Diagnosis {
			out = append(out, d.Code)
		}
		return out
	}
	p := stock()
	rec := p.simulate()
	rec.After.Slaves[0].Qdiscs[0].Requeues = 223
	if got := codes(Run(p.sc, p.preflight(), rec)); !slices.Equal(got, []string{result.NoneFound, result.RingStops}) {
		t.Errorf("requeues: %v", got)
	}
	p = stock()
	p.sc.Topology.Bond.Mode = "balance-xor"
	p.sc.Traffic.Groups = scenarios.Groups{"239.66.1.1", "239.66.1.2"}
	if got := codes(Run(p.sc, p.preflight(), p.simulate())); !slices.Contains(got, result.OneSlaveHash) {
		t.Errorf("all flows on one slave: %v", got)
	}
	p.share = []float64{1, 0.5}
	j := Run(p.sc, p.preflight(), p.simulate())
	if got := codes(j); j.Verdict != result.Good || slices.Contains(got, result.OneSlaveHash) {
		t.Errorf("flows on both slaves: %s %v", j.Verdict, got)
	}
}

// TestFullLineOfSeveral holds the choice of the line that must be full.
func TestFullLineOfSeveral(t *testing.T) {
	p := stock()
	p.sc.Topology.Bond.Mode = "balance-rr"
	p.share = []float64{0.6, 1} // the fullest decides
	p.rates = []float64{100e6, 60e6}
	if j := Run(p.sc, p.preflight(), p.simulate()); j.Verdict != result.Good {
		t.Errorf("balance-rr with the slower line full: %s %+v", j.Verdict, j.Guards)
	}
	p = broadcast(stock())
	p.rates = []float64{60e6, 100e6}
	p.share = []float64{0.5, 0.3} // both take 30 Mbit/s: not even the slowest is full
	if j := Run(p.sc, p.preflight(), p.simulate()); j.Valid {
		t.Errorf("broadcast with the slowest line half full: %+v", j.Guards)
	}
	p = broadcast(stock())
	rec := p.simulate()
	for i := range rec.Wire.Slaves[1].CumBytes { // of lines as slow as each other the least full decides
		rec.Wire.Slaves[1].CumBytes[i] /= 2
	}
	if j := Run(p.sc, p.preflight(), rec); j.Valid {
		t.Errorf("broadcast with one of two equal lines half full: %+v", j.Guards)
	}
	p = broadcast(stock())
	p.rates = []float64{60e6, 100e6}
	p.share = []float64{1, 0.6} // the sender is held to the slowest
	if j := Run(p.sc, p.preflight(), p.simulate()); j.Verdict != result.Good {
		t.Errorf("broadcast with the slowest line full: %s %+v", j.Verdict, j.Guards)
	}
}

// TestLedgerGuard: the ledger is always among the guards, and says what it found.
func TestLedgerGuard(t *testing.T) {
	for _, c := range []struct {
		spoil func(*result.Recording)
		gso   scenarios.Size
		off   bool
		text  string
	}{
		{text: "every hop balances"},
		{spoil: lose(9), text: "the wire confirms the remainder +9"},
		{gso: 16, off: true, text: "no ledger with GSO"},
	} {
		p := stock()
		p.sc.Traffic.Socket.GSO = c.gso
		rec := p.simulate()
		if c.spoil != nil {
			c.spoil(&rec)
		}
		g := Run(p.sc, p.preflight(), rec).Guards
		last := g[len(g)-1]
		if last.Name != guardLedger || !last.OK || last.Off != c.off || !strings.HasPrefix(last.Evidence, c.text) {
			t.Errorf("got %+v, want %q", last, c.text)
		}
	}
}

// TestOneFindingAKind: what was lost hides no duplicates, and the other way round.
func TestOneFindingAKind(t *testing.T) {
	p := stock()
	rec := p.simulate()
	lose(9)(&rec)
	rec.After.Slaves[0].TxPackets += 5
	rec.Wire.Slaves[0].Ours += 5
	rec.Wire.Senders[0].Duplicates += 5
	d := Run(p.sc, p.preflight(), rec).Diagnosis
	if len(d) != 2 || d[0].Code != result.LostUncounted || d[1].Code != result.DuplicatedUncounted {
		t.Errorf("got %+v", d)
	}
}

// TestVanishedRaisesTheThreshold: packets that vanished look as if they were in flight, and the evidence says so.
func TestVanishedRaisesTheThreshold(t *testing.T) {
	p := orphaning()
	rec := p.simulate()
	lose(90)(&rec)
	j := Run(p.sc, p.preflight(), rec)
	if j.Oracle.Vanished != 90 || !strings.Contains(j.Diagnosis[0].Evidence, "threshold 123 + 90 that vanished uncounted") {
		t.Errorf("got %+v, %+v", j.Oracle, j.Diagnosis[0])
	}
}

func TestOracleFigures(t *testing.T) {
	p := stock()
	rec := p.simulate()
	rec.Series.Into[100] += 17 // after the warm-up
	rec.Series.Into[10] += 99  // before it
	rec.Series.Into[200] -= 9
	o := Run(p.sc, p.preflight(), rec).Oracle
	if o.Max != 17 || o.Median != 0 || o.InFlight != 26 || o.Threshold != 8 || o.Samples != 251 {
		t.Errorf("got %+v", o)
	}
	for i := range rec.Series.Into { // more charged than in flight
		rec.Series.Into[i] -= 20
	}
	if o := Run(p.sc, p.preflight(), rec).Oracle; o.Max != -3 || o.Orphaned {
		t.Errorf("got %+v", o)
	}
}

// TestOracleCorrections: own frames complete without having entered; what netem drops is not in flight.
func TestOracleCorrections(t *testing.T) {
	p := stock()
	rec := p.simulate()
	rec.After.Slaves[0].Own = 3000
	rec.Drain.TookMS = 0
	c := rec.Series.Slaves[0].Completed
	for i := range c {
		c[i] += uint64(3000 * i / (len(c) - 1))
	}
	if o := Run(p.sc, p.preflight(), rec).Oracle; math.Abs(o.Median) > 1 || math.Abs(o.InFlight-26) > 1 {
		t.Errorf("own frames: %+v", o)
	}
	p = stock()
	p.netem = true
	rec = p.simulate()
	for i := range rec.Series.Into {
		rec.Series.Into[i] += 500
		rec.Series.NetemDropped[i] = 500
	}
	if o := Run(p.sc, p.preflight(), rec).Oracle; o.Median != 0 || o.InFlight != 26 {
		t.Errorf("netem's drops: %+v", o)
	}
	p = stock()
	rec = p.simulate()
	if o := Run(p.sc, Preflight(p.sc, 1, simRing), rec).Oracle; o.Median != 0 {
		t.Errorf("the run's own truesize is not used: %+v", o)
	}
}

func TestDropsWithoutTruesize(t *testing.T) {
	p := stock()
	p.drops = []int{12, 0}
	rec := p.simulate()
	rec.Truesize = 0
	j := Run(p.sc, Preflight(p.sc, 0, simRing), rec)
	if j.Verdict != result.Bad || !strings.Contains(j.Diagnosis[0].Evidence, "the sum of the send buffers is not known") {
		t.Errorf("got %s %+v", j.Verdict, j.Diagnosis)
	}
}

func TestOracleNeedsTruesize(t *testing.T) {
	p := stock()
	rec := p.simulate()
	rec.Truesize = 0
	if j := Run(p.sc, p.preflight(), rec); !j.Oracle.Available {
		t.Error("the preflight's truesize is not used")
	}
	if j := Run(p.sc, Preflight(p.sc, 0, simRing), rec); j.Oracle.Available {
		t.Error("an oracle without a truesize")
	}
	p.sc.Traffic.Socket.GSO = 16
	if j := Run(p.sc, p.preflight(), p.simulate()); j.Oracle.Available || j.Metrics["wire.lost"] != 0 {
		t.Error("an oracle with GSO")
	}
}

// TestExpectUnavailable: orphaned == false is not evaluated, and said so, where clones carry no charge.
func TestExpectUnavailable(t *testing.T) {
	p := broadcast(stock())
	j := Run(p.sc, p.preflight(), p.simulate())
	e := j.Expect[1]
	if e.Expr != "orphaned == false" || e.Evaluated || !strings.Contains(e.Note, "clones carry no charge") {
		t.Errorf("got %+v", e)
	}
	if !j.Expect[0].Evaluated || !j.Expect[0].OK {
		t.Errorf("got %+v", j.Expect[0])
	}
}

// TestMetricNames: a run with everything there has every metric of the table, and no other.
func TestMetricNames(t *testing.T) {
	p := hashing("layer2+3")
	p.sc.Traffic.Burst.Packets = 155 // 60 bursts
	p.rates = []float64{1e9, 1e9}    // which are over soon
	p.sc.Faults = failing().sc.Faults
	p.share, p.drops = []float64{0.1, 0}, []int{1, 0}
	rec := p.simulate()
	placed(p.sc, allOn(0))(&rec)
	for _, at := range []float64{1000, 2000} { // on a slave that nobody noticed going
		rec.Events = append(rec.Events, result.Event{AtMS: at, Kind: result.EventFault, Slave: 0})
	}
	rec.Receiver = &result.Reception{Received: &result.ReceivedRun{}}
	j := Run(p.sc, p.preflight(), rec)
	for _, m := range scenarios.BondMetrics {
		if _, ok := j.Metrics[m.Name]; !ok {
			t.Errorf("%s is missing", m.Name)
		}
	}
	if len(j.Metrics) != len(scenarios.BondMetrics) {
		t.Errorf("%d metrics, the table has %d", len(j.Metrics), len(scenarios.BondMetrics))
	}
	for name, want := range map[string]float64{"into": 9278, "rate.line": 1e9, "in_flight.median": 26, "blocked.share": 0.85, "outq.max": 219648} {
		if got := j.Metrics[name]; math.Abs(got-want) > want/100 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestPreflight(t *testing.T) {
	sc := scenarios.Default()
	pf := Preflight(sc, simTruesize, simRing)
	if pf.PerSender != 26 || pf.Sum != 26 || pf.Exceeds {
		t.Errorf("one default sender: %+v", pf)
	}
	sc.Traffic.Senders = 47 // 1222 of 1000 + 256 - 20
	if pf := Preflight(sc, simTruesize, simRing); pf.Exceeds || pf.Room() != 1236 {
		t.Errorf("47 senders: %+v", pf)
	}
	sc.Traffic.Senders = 48
	if pf := Preflight(sc, simTruesize, simRing); !pf.Exceeds {
		t.Errorf("48 senders: %+v", pf)
	}
	if pf := Preflight(sc, simTruesize, 0); pf.Room() != 1000 || pf.Tight {
		t.Errorf("no ring: %+v", pf)
	}
	sc.Traffic.Senders = 38 // 988
	if pf := Preflight(sc, simTruesize, simRing); pf.Tight || pf.Exceeds {
		t.Errorf("38 senders: %+v", pf)
	}
	sc.Traffic.Senders = 39
	if pf := Preflight(sc, simTruesize, simRing); !pf.Tight || pf.Exceeds {
		t.Errorf("39 senders: %+v", pf)
	}
	sc.Traffic.Senders, sc.Traffic.Socket.SndBufForce = 1, 64<<20
	if pf := Preflight(sc, simTruesize, simRing); !pf.Exceeds || pf.SndBuf != 64<<20 {
		t.Errorf("64 MiB: %+v", pf)
	}
	if pf := Preflight(sc, 0, simRing); pf.Exceeds {
		t.Errorf("unknown truesize: %+v", pf)
	}
}

// LACPDUs complete without having entered the bond: they are seen at the wire, and taken off.
func TestLACPDUsAreNotUncharged(t *testing.T) {
	p := stock()
	rec := p.simulate()
	before := Run(p.sc, p.preflight(), rec).Oracle.Median
	for k := range 8 { // 8 a second into the run
		rec.Wire.Slaves[0].Sightings = append(rec.Wire.Slaves[0].Sightings, result.Sighting{AtMS: float64(100 + k), Kind: frameLACP})
	}
	rec.Wire.Slaves[0].Foreign = map[string]uint64{frameLACP: 8}
	s := &rec.Series.Slaves[0]
	s.Completed = slices.Clone(s.Completed)
	for i, at := range rec.Series.AtMS {
		if at >= 108 {
			s.Completed[i] += 8
		}
	}
	if o := Run(p.sc, p.preflight(), rec).Oracle; o.Median != before {
		t.Errorf("uncharged %v with 8 LACPDUs, %v without", o.Median, before)
	}
}

// TestShape: a recording from a file may lack anything; it is judged, not trusted.
func TestShape(t *testing.T) {
	p := stock()
	for name, spoil := range map[string]func(*result.Recording){
		"empty":         func(r *result.Recording) { *r = result.Recording{} },
		"no senders":    func(r *result.Recording) { r.Senders = nil },
		"counters":      func(r *result.Recording) { r.After.Slaves = r.After.Slaves[:1] },
		"line rates":    func(r *result.Recording) { r.LineRate = nil },
		"polls":         func(r *result.Recording) { r.Series.Slaves = r.Series.Slaves[:1] },
		"wire":          func(r *result.Recording) { r.Wire.Slaves = nil },
		"short columns": func(r *result.Recording) { r.Series.Slaves[0].Completed = nil },
	} {
		rec := p.simulate()
		spoil(&rec)
		if j := Run(p.sc, p.preflight(), rec); j.Verdict != result.Inconclusive {
			t.Errorf("%s: %s", name, j.Verdict)
		}
	}
}
