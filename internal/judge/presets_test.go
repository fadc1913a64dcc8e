package judge

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bondrepro/internal/xmithash"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// presetCases are what each kind of scenario shows on a good kernel and on a bad one.
var presetCases = []struct {
	name    string
	plan    func() *plan
	spoil   func(*result.Recording)
	want    want
	metrics map[string]float64 // NaN: absent
	remark  string             // a code after the first
}{
	// Spread.
	{name: "hash spreads", plan: func() *plan { return hashing("layer2") }, spoil: placed(hashing("layer2").sc, byLast),
		want:    want{verdict: result.Good, code: result.ExpectationsHold, text: "slaves.used is 2; flows.mispredicted is 0"},
		metrics: map[string]float64{"slaves.used": 2, "slaves.share.max": 0.5, "slaves.share.min": 0.5, "flows.mispredicted": 0}},
	{name: "all flows on one slave, as the hash has it", plan: func() *plan { p := hashing("layer2+3"); p.share = []float64{0, 1}; return p },
		spoil:   placed(hashing("layer2+3").sc, allOn(1)),
		want:    want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.ExpectationFailed, text: "expected slaves.used == 2, but slaves.used is 1"},
		metrics: map[string]float64{"slaves.used": 1, "slaves.share.max": 1, "slaves.share.min": 0, "flows.mispredicted": 0}, remark: result.OneSlaveHash},
	{name: "all flows on one slave, against the hash", plan: func() *plan { p := hashing("layer2"); p.share = []float64{1, 0}; return p },
		spoil:   placed(hashing("layer2").sc, allOn(0)),
		want:    want{verdict: result.Bad, cause: result.CauseKernel, code: result.ExpectationFailed},
		metrics: map[string]float64{"flows.mispredicted": 8}, remark: result.OneSlaveHash},
	{name: "vlan+srcmac gives all to one slave, and the VLAN tells which", plan: func() *plan { return inVLAN(100, 0) },
		spoil: both(placed(inVLAN(100, 0).sc, allOn(0)), func(r *result.Recording) {
			for i, frames := range r.Wire.Slaves[0].CumFrames {
				r.Wire.Slaves[0].CumBytes[i] += 4 * frames // the tag, which the qdisc did not count
			}
		}),
		want:    want{verdict: result.Bad, cause: result.CauseConfiguration, code: result.ExpectationFailed, text: "slaves.used is 1"},
		metrics: map[string]float64{"flows.mispredicted": 0, "rate.offered": 1e8 * (simFrame + 4) / simFrame}, remark: result.OneSlaveHash},
	{name: "vlan+srcmac with another VLAN gives all to the other slave", plan: func() *plan { return inVLAN(101, 0) },
		spoil: placed(inVLAN(101, 0).sc, allOn(0)), metrics: map[string]float64{"flows.mispredicted": 16}, want: want{verdict: result.Bad}},
	{name: "one flow strays", plan: func() *plan { return hashing("layer2") }, spoil: func(r *result.Recording) {
		placed(hashing("layer2").sc, byLast)(r)
		r.Wire.Slaves[0].Flows = append(r.Wire.Slaves[0].Flows, result.Flow{Sender: 0, Group: 0, Frames: 1})
	}, want: want{verdict: result.Bad, code: result.ExpectationFailed, text: "flows.mispredicted is 1"}},
	{name: "as the hash has it, but something else failed, too", plan: func() *plan {
		p := hashing("layer2+3")
		p.share = []float64{0, 1}
		p.sc.Expect = append(p.sc.Expect, "rate.achieved >= 9gbit")
		return p
	}, spoil: placed(hashing("layer2+3").sc, allOn(1)), want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.ExpectationFailed}},
	{name: "a recording without flows predicts nothing", plan: func() *plan { return hashing("layer2") },
		want:    want{verdict: result.Inconclusive, code: result.NotEvaluated, text: "flows.mispredicted == 0: flows.mispredicted can't be had: no prediction: the recording does not tell flows apart"},
		metrics: map[string]float64{"slaves.used": 2, "flows.mispredicted": math.NaN(), "wire.crossed": math.NaN(), "failover.gap": math.NaN()}},
	{name: "broadcast uses all", plan: func() *plan { return broadcast(stock()).like("bond-broadcast") }, spoil: placed(stock().sc, allOn(0)),
		want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.used": 2, "slaves.share.max": 0.5, "wire.crossed": math.NaN()}},
	{name: "broadcast that sends little out of one slave", plan: func() *plan { return broadcast(stock()).like("bond-broadcast") }, spoil: func(r *result.Recording) {
		r.Wire.Slaves[1].Ours /= 200
	}, want: want{verdict: result.Inconclusive, guard: guardLedger}, metrics: map[string]float64{"slaves.used": 1}},

	// Failover.
	{name: "failover", plan: failing, spoil: failedOver,
		want:    want{verdict: result.Good, code: result.ExpectationsHold, text: "failover.gap is 40.0 ms; failover.lost is 0.1 %"},
		metrics: map[string]float64{"failover.gap": 40, "failover.lost": 12 / 12370.0, "failover.arp": 1, "failover.igmp": 1, "failover.back": 1}, remark: result.SlaveDown},
	{name: "failover with a long gap", plan: failing, spoil: both(failedOver, func(r *result.Recording) { r.Wire.Silences[1].MS = 1100 }),
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.ExpectationFailed, text: "failover.gap is 1100"}},
	{name: "an older recording has the longest gap only", plan: failing, spoil: both(failedOver, func(r *result.Recording) {
		r.Wire.GapMS, r.Wire.GapAtMS, r.Wire.Silences = 40, 1000, nil
	}), want: want{verdict: result.Good}, metrics: map[string]float64{"failover.gap": 40}},
	{name: "failover that never delivers again", plan: failing, spoil: both(failedOver, silent(1000)),
		want:    want{verdict: result.Bad, cause: result.CauseKernel, code: result.ExpectationFailed, text: "failover.gap is 3010"},
		metrics: map[string]float64{"failover.lost": 0.75, "failover.back": 0}},
	{name: "failover that loses much in small gaps", plan: failing, spoil: both(failedOver, func(r *result.Recording) { r.Wire.Senders[0].Unique -= 1300 }),
		want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.ExpectationFailed, text: "failover.lost is 10.6 %"}},
	{name: "drops that were counted are not lost in the failover", plan: failing, spoil: both(failedOver, func(r *result.Recording) {
		r.After.Slaves[0].Qdiscs[0].Drops += 1300
		r.Wire.Senders[0].Unique -= 1300
	}), want: want{verdict: result.Bad, code: result.DropsUnpredicted}, metrics: map[string]float64{"failover.lost": 12 / 12370.0}},
	{name: "a silence before the fault is none of the failover's", plan: failing, spoil: both(failedOver, func(r *result.Recording) { r.Wire.Silences[0].MS = 800 }),
		want: want{verdict: result.Good}, metrics: map[string]float64{"failover.gap": 40}},
	{name: "a silence that began before the fault counts from the fault on", plan: failing, spoil: both(failedOver, func(r *result.Recording) { r.Wire.Silences[0].MS = 2000 }),
		want: want{verdict: result.Bad, code: result.ExpectationFailed}, metrics: map[string]float64{"failover.gap": 1110}},
	{name: "the senders ended before the slave could settle", plan: func() *plan { p := failing(); p.sc.Traffic.Duration = scenarios.Duration(2400e6); return p }, spoil: failedOver,
		want: want{verdict: result.Inconclusive, code: result.NotEvaluated, text: "failover.back can't be had"}, metrics: map[string]float64{"failover.back": math.NaN()}},
	{name: "failover in broadcast mode", plan: func() *plan { return broadcast(failing()).expecting("failover.gap <= 1s") }, spoil: failedOver,
		want: want{verdict: result.Good}, metrics: map[string]float64{"failover.gap": 40, "failover.lost": math.NaN(), "wire.lost": math.NaN()}},
	{name: "a silence after the end of sending", plan: failing, spoil: both(failedOver, func(r *result.Recording) {
		r.Wire.Silences = append(r.Wire.Silences, result.Silence{AtMS: 3990, MS: 2000})
	}), want: want{verdict: result.Good}, metrics: map[string]float64{"failover.gap": 40}},
	{name: "a machine that stands still sends nothing", plan: failing, spoil: both(failedOver, paused(1500, 3000)),
		want: want{verdict: result.Good}, metrics: map[string]float64{"failover.gap": 40}},
	{name: "senders that are held back are not silent of themselves", plan: failing, spoil: both(failedOver, paused(1500, 3000), full(1500, 3000)),
		want: want{verdict: result.Bad, code: result.ExpectationFailed}, metrics: map[string]float64{"failover.gap": 1500}},
	{name: "no polls, no excuse", plan: failing, spoil: both(failedOver, func(r *result.Recording) {
		r.Wire.Silences[1].MS, r.Series = 1100, result.Series{}
	}), want: want{verdict: result.Bad}, metrics: map[string]float64{"failover.gap": 1100}},
	{name: "failover of IPv6", plan: func() *plan { p := failing(); p.sc.Traffic.Groups = scenarios.Groups{"ff0e::4242:1"}; return p }, spoil: both(failedOver, func(r *result.Recording) {
		b := &r.Wire.Slaves[1]
		b.Sightings = append(b.Sightings[:1], result.Sighting{AtMS: 1050, Kind: "nd"}, result.Sighting{AtMS: 1051, Kind: "nd"}, result.Sighting{AtMS: 1052, Kind: "mld"})
	}), want: want{verdict: result.Good}, metrics: map[string]float64{"failover.arp": 2, "failover.igmp": 1}},
	{name: "ARP on the line that carried all along announces nothing", plan: failing, spoil: both(failedOver, func(r *result.Recording) {
		b, a := &r.Wire.Slaves[1], &r.Wire.Slaves[0]
		b.Sightings, a.Sightings = append(b.Sightings[:1], b.Sightings[2]), append(a.Sightings, result.Sighting{AtMS: 1041, Kind: "arp"})
	}), want: want{verdict: result.Bad, code: result.ExpectationFailed, text: "failover.arp is 0"}},
	{name: "failover that nobody is told of", plan: failing, spoil: both(failedOver, func(r *result.Recording) { r.Wire.Slaves[1].Sightings = nil }),
		want: want{verdict: result.Bad, code: result.ExpectationFailed, text: "failover.arp is 0"}},
	{name: "failover without reports", plan: failing, spoil: both(failedOver, func(r *result.Recording) { r.Wire.Slaves[1].Sightings = r.Wire.Slaves[1].Sightings[:2] }),
		want: want{verdict: result.Bad, code: result.ExpectationFailed, text: "failover.igmp is 0"}},
	{name: "failover that comes back within half a second", plan: failing, spoil: both(failedOver, func(r *result.Recording) {
		a, b := &r.Wire.Slaves[0], &r.Wire.Slaves[1]
		for i, at := range a.AtMS {
			if at > 2000 {
				n := a.CumFrames[min(i, 240)] - a.CumFrames[200]
				b.CumFrames[i] += n
				if at > 2400 {
					a.CumFrames[i] -= n
				}
			}
		}
	}), want: want{verdict: result.Good}, metrics: map[string]float64{"failover.back": 1}},
	{name: "failover that never comes back", plan: failing, spoil: both(failedOver, func(r *result.Recording) {
		a, b := &r.Wire.Slaves[0], &r.Wire.Slaves[1]
		for i, at := range a.AtMS {
			if at > 2000 {
				b.CumFrames[i] += a.CumFrames[i] - a.CumFrames[200]
				a.CumFrames[i] = a.CumFrames[200]
			}
		}
	}), want: want{verdict: result.Bad, code: result.ExpectationFailed, text: "failover.back is 0"}},
	{name: "no fault, no failover", plan: stock, spoil: placed(stock().sc, allOn(0)), want: want{verdict: result.Good, code: result.NoneFound},
		metrics: map[string]float64{"failover.gap": 0, "failover.arp": math.NaN(), "failover.igmp": math.NaN(), "failover.lost": math.NaN(), "failover.back": math.NaN()}},
	{name: "the fault was never undone", plan: failing, spoil: both(failedOver, func(r *result.Recording) { r.Events = r.Events[:3] }),
		want: want{verdict: result.Inconclusive, code: result.NotEvaluated, text: "failover.back can't be had: no slave was set down, up again"}, metrics: map[string]float64{"failover.back": math.NaN(), "failover.arp": 1}},

	// Stuck queue.
	{name: "bursts that drain", plan: bursting, want: want{verdict: result.Good, code: result.ExpectationsHold}, metrics: map[string]float64{"slaves.qdisc.stuck": 0}},
	{name: "a queue stuck between bursts", plan: bursting, spoil: wedge(103, 104), // 1030 and 1040 ms: 30 and 40 ms after a burst
		want:    want{verdict: result.Bad, cause: result.CauseKernel, code: result.StuckQueue, text: "1 polls, each the second in a row or later, found packets in the queue of eth0 with nothing leaving it, first at 1040 ms: 7 packets, and none left for 20 ms"},
		metrics: map[string]float64{"slaves.qdisc.stuck": 1}},
	{name: "one late poll is no stuck queue", plan: bursting, spoil: wedge(103, 103), want: want{verdict: result.Good}},
	{name: "polls of half of the bursts are enough", plan: bursting, spoil: unpolled(1500, 3000),
		want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": 0}},
	{name: "without polls in the second half nobody sees a stuck queue", plan: bursting, spoil: unpolled(1400, 3000),
		want: want{verdict: result.Inconclusive, code: result.NotEvaluated, text: "only 28 of 60 bursts have two polls"}, metrics: map[string]float64{"slaves.qdisc.stuck": math.NaN()}},
	{name: "few polls, but they found one", plan: bursting, spoil: both(wedge(103, 104), unpolled(1400, 3000)),
		want: want{verdict: result.Bad, code: result.StuckQueue}, metrics: map[string]float64{"slaves.qdisc.stuck": 1}},
	{name: "no polls at all", plan: bursting, spoil: func(r *result.Recording) { r.Series = result.Series{} },
		want: want{verdict: result.Inconclusive}, metrics: map[string]float64{"slaves.qdisc.stuck": math.NaN()}},
	{name: "a slave that changed is not watched", plan: bursting, spoil: both(wedge(103, 104), func(r *result.Recording) { r.After.Slaves[1].CarrierChanges++ }),
		want: want{verdict: result.Inconclusive, guard: guardSlave}, metrics: map[string]float64{"slaves.qdisc.stuck": math.NaN()}},
	{name: "one poll that sees a queue wait is not a stuck one", plan: func() *plan { p := bursting(); p.sc.Expect = nil; return p }, spoil: wedge(103, 103),
		want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": 0}},
	{name: "a poll before and one after the next burst are not two", plan: func() *plan { p := bursting(); p.sc.Expect = nil; return p },
		spoil: wedge(104, 106), want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": 0}},
	{name: "two polls of different bursts are not two in a row", plan: func() *plan {
		p := bursting()
		p.sc.Expect, p.poll, p.sc.Traffic.Burst.Every = nil, 30, scenarios.Duration(40e6)
		return p
	}, spoil: wedge(1, 2), want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": math.NaN()}},
	{name: "two polls of a burst with one between that sees the queue move", plan: func() *plan {
		p := bursting()
		p.sc.Expect, p.sc.Traffic.Burst.Every = nil, scenarios.Duration(100e6)
		return p
	}, spoil: both(wedge(106, 106), wedge(108, 108)), want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": 0}},
	{name: "a queue is full early in a burst", plan: bursting, spoil: wedge(101, 102), want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": 0}},
	{name: "a queue that moves is not stuck", plan: bursting, spoil: func(r *result.Recording) { r.Series.Slaves[0].Qlen[103], r.Series.Slaves[0].Qlen[104] = 7, 7 },
		want: want{verdict: result.Good}},
	{name: "a line too slow for the bursts", plan: func() *plan {
		p := bursting()
		p.sc.Expect = nil
		p.sc.Traffic.Burst.Packets = 20 // 80 frames take 26 ms
		return p
	}, spoil: wedge(103, 104), want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": math.NaN()}},
	{name: "a ring that nobody empties", plan: func() *plan { p := bursting(); p.sc.Expect = nil; return p },
		spoil: both(wedge(103, 104), func(r *result.Recording) { r.Series.Slaves[0].Sent[104] += 128 }), want: want{verdict: result.Good},
		metrics: map[string]float64{"slaves.qdisc.stuck": 0}},
	{name: "without bursts a queue may wait", plan: stock, spoil: wedge(103, 104), want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.qdisc.stuck": math.NaN()}},

	// Return code.
	{name: "every drop told", plan: overflowing, spoil: told, want: want{verdict: result.Good, code: result.ExpectationsHold},
		metrics: map[string]float64{"drops.untold": 0}, remark: result.SndbufExceedsQueue},
	{name: "drops untold", plan: overflowing, want: want{verdict: result.Bad, code: result.ExpectationFailed, text: "drops.untold is 200"}, remark: result.SndbufExceedsQueue},
	{name: "other drops are not accepted", plan: func() *plan { p := overflowing(); p.sc.Traffic.Senders = 1; return p }, spoil: told,
		want: want{verdict: result.Bad, code: result.DropsUnpredicted}},
	{name: "who was told is hidden", plan: overflowing, spoil: func(r *result.Recording) { r.Senders[0].Hidden = 200; r.Senders[0].OK -= 200 },
		want: want{verdict: result.Inconclusive, code: result.NotEvaluated, text: "200 batches ended short"}, metrics: map[string]float64{"drops.untold": math.NaN()}},
	{name: "a queue that never filled", plan: func() *plan { p := overflowing(); p.drops[0] = 0; return p },
		want: want{verdict: result.Inconclusive, code: result.NotEvaluated, text: "drops.untold == 0: drops.untold can't be had: nothing was dropped"}, metrics: map[string]float64{"drops.untold": math.NaN()}},

	// Reordering.
	{name: "in order", plan: func() *plan { return stock().like("bond-reorder") }, spoil: placed(stock().sc, allOn(0)),
		want: want{verdict: result.Good}, metrics: map[string]float64{"wire.crossed": 0}},
	{name: "out of order", plan: func() *plan { return stock().like("bond-reorder") },
		spoil: both(placed(stock().sc, allOn(0)), func(r *result.Recording) { r.Wire.Senders[0].Crossed = 3 }),
		want:  want{verdict: result.Bad, code: result.ExpectationFailed, text: "wire.crossed is 3"}},

	// Queues.
	{name: "packets over all queues", plan: manyQueues, want: want{verdict: result.Good}, metrics: map[string]float64{"slaves.queues.used": 4, "slaves.queues.share.max": 0.25}},
	{name: "all packets on one queue", plan: manyQueues, spoil: onQueue(2),
		want:    want{verdict: result.Bad, code: result.ExpectationFailed, text: "slaves.queues.used is 1"},
		metrics: map[string]float64{"slaves.queues.used": 1, "slaves.queues.share.max": 1}, remark: result.OneQueue},
	{name: "one flow on one queue is as it must be", plan: func() *plan { p := manyQueues(); p.sc.Traffic.Senders = 1; p.sc.Expect = nil; return p }, spoil: onQueue(0),
		want: want{verdict: result.Good}},
	{name: "the kernel says that a queue is not there", plan: manyQueues, spoil: func(r *result.Recording) {
		r.KernelLog = []string{"eth0 selects TX queue 7, but real number of TX queues is 4", "eth0 selects TX queue 6, but real number of TX queues is 4"}
	}, want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.QueueMapping, text: `"eth0 selects TX queue 7, but real number of TX queues is 4" and 1 more`}},
	{name: "the kernel says so of the bond, with a time", plan: manyQueues, spoil: func(r *result.Recording) {
		r.KernelLog = []string{"[    4.0] bond0 selects TX queue 17, but real number of TX queues is 16"}
	}, want: want{verdict: result.Bad, cause: result.CauseKernel, code: result.QueueMapping}},
	{name: "the kernel says so of another device", plan: manyQueues, spoil: func(r *result.Recording) {
		r.KernelLog = []string{"eth9 selects TX queue 7, but real number of TX queues is 4"}
	}, want: want{verdict: result.Good}},
	{name: "a device on its way out has no queues", plan: manyQueues, spoil: func(r *result.Recording) {
		r.KernelLog = []string{"eth0 selects TX queue 0, but real number of TX queues is 0"}
	}, want: want{verdict: result.Good}},

	// Lines of their own for TX queues.
	{name: "a line for each queue, half of them in use", plan: func() *plan { p := manyQueues(); p.sc.Guards.LineFull, p.share[0] = true, 0.5; return p },
		spoil: func(r *result.Recording) {
			r.Slaves[0].Lines, r.Slaves[1].Lines = 4, 4
			qs := r.After.Slaves[0].Qdiscs
			for k := range 2 { // queues 3 and 4 to 1 and 2
				qs[k].Packets, qs[k].Bytes = qs[k].Packets+qs[k+2].Packets, qs[k].Bytes+qs[k+2].Bytes
				qs[k+2].Packets, qs[k+2].Bytes = 0, 0
			}
		}, want: want{verdict: result.Good}, metrics: map[string]float64{"rate.line": 50e6, "slaves.queues.used": 2}},
	{name: "one line for all queues, half of it in use", plan: func() *plan { p := manyQueues(); p.sc.Guards.LineFull, p.share[0] = true, 0.5; return p },
		want: want{verdict: result.Inconclusive, guard: guardLineFull}},
	{name: "a line for each queue, the fullest holds the sender back", plan: func() *plan { p := manyQueues(); p.sc.Guards.LineFull, p.share[0] = true, 0.5; return p },
		spoil: func(r *result.Recording) {
			r.Slaves[0].Lines, r.Slaves[1].Lines = 4, 4
			qs := r.After.Slaves[0].Qdiscs
			all := qs[0].Packets + qs[1].Packets + qs[2].Packets + qs[3].Packets
			for k, tenths := range []uint64{5, 3, 1, 1} {
				qs[k].Packets, qs[k].Bytes = all*tenths/10, all*tenths/10*simFrame
			}
			qs[0].Packets += all - qs[0].Packets - qs[1].Packets - qs[2].Packets - qs[3].Packets
		}, want: want{verdict: result.Good}, metrics: map[string]float64{"rate.line": 50e6, "slaves.queues.used": 4}},

	{name: "a queue's line that drains slowly is not stuck", plan: func() *plan { p := manyQueues(); p.sc.Expect, p.sc.Guards.LineFull = nil, false; return p },
		spoil: both(onQueue(0), func(r *result.Recording) {
			strand(40)(r)
			r.Slaves[0].Lines = 4
			for i := range r.Series.Slaves[0].Completed { // all of it completed during the drain, a third of the slave's rate
				r.Series.Slaves[0].Completed[i] = 0
				r.Series.Into[i] = uint64(8 * simInflight)
			}
			r.Drain.TookMS = 9000
		}), want: want{verdict: result.Good}},

	// Overflow.
	{name: "receivers without room lose nothing on the way", plan: stock, spoil: func(r *result.Recording) {
		r.Wire.Slaves[0].Ours -= 90
		r.Wire.Slaves[0].Overflow = 90
		r.Wire.Senders[0].Unique -= 90
	}, want: want{verdict: result.Good, code: result.NoneFound}, metrics: map[string]float64{"wire.overflow": 90, "wire.lost": 0}},
	{name: "the line was full although the receiver was late", plan: stock, spoil: func(r *result.Recording) {
		w := &r.Wire.Slaves[0]
		n := w.Ours / 10
		w.Ours, w.Overflow = w.Ours-n, n
		r.Wire.Senders[0].Unique -= n
		for i := range w.CumBytes {
			w.CumBytes[i] = w.CumBytes[i] * 9 / 10
		}
	}, want: want{verdict: result.Good}},
	{name: "an overflow explains no more than itself", plan: stock, spoil: func(r *result.Recording) {
		r.Wire.Slaves[0].Ours -= 100
		r.Wire.Slaves[0].Overflow = 90
		r.Wire.Senders[0].Unique -= 100
	}, want: want{verdict: result.Bad, code: result.LostUncounted}, metrics: map[string]float64{"wire.lost": 10}},

	{name: "in broadcast mode nobody knows what is lost after a slave changed", plan: func() *plan { p := broadcast(stock()); p.sc.Guards.SlaveStable = false; return p },
		spoil: func(r *result.Recording) { r.After.Slaves[1].CarrierChanges++ }, want: want{verdict: result.Good}, metrics: map[string]float64{"wire.lost": math.NaN()}},

	// What a scenario accepts.
	{name: "accepting one thing accepts no other", plan: func() *plan { p := orphaning(); p.sc.Accept = []string{result.SndbufExceedsQueue}; return p },
		want: want{verdict: result.Bad, code: result.BackPressureLost}},
}

func TestPresets(t *testing.T) {
	for _, c := range presetCases {
		t.Run(c.name, func(t *testing.T) {
			p := c.plan()
			rec := p.simulate()
			if c.spoil != nil {
				c.spoil(&rec)
			}
			j := Run(p.sc, p.preflight(), rec)
			c.want.check(t, j)
			for name, v := range c.metrics {
				got, ok := j.Metrics[name]
				if ok == math.IsNaN(v) || ok && math.Abs(got-v) > math.Abs(v)/100 {
					t.Errorf("%s is %v (there: %t), want %v", name, got, ok, v)
				}
			}
			if c.remark != "" && !slices.ContainsFunc(j.Diagnosis[1:], func(d result.Finding) bool { return d.Code == c.remark }) {
				t.Errorf("no remark %s in %+v", c.remark, j.Diagnosis)
			}
		})
	}
}

// TestSpread holds when there is a spread, whether it is predicted, and why not.
func TestSpread(t *testing.T) {
	mode := func(name string) func() *plan {
		return func() *plan { p := hashing("layer2"); p.sc.Topology.Bond.Mode = name; return p }
	}
	for _, c := range []struct {
		name  string
		plan  func() *plan
		place func(int, int) int
		spoil func(*result.Recording)
		none  bool
		why   string // "" for a prediction
	}{
		{name: "balance-xor", plan: mode("balance-xor"), place: byLast},
		{name: "802.3ad", plan: mode("802.3ad"), place: byLast},
		{name: "balance-rr", plan: mode("balance-rr"), place: byLast, why: "in turn"},
		{name: "balance-tlb", plan: mode("balance-tlb"), place: byLast, why: "takes the load into account"},
		{name: "broadcast", plan: func() *plan { return broadcast(mode("broadcast")()) }, place: byLast, none: true},
		{name: "active-backup", plan: mode("active-backup"), place: byLast, none: true},
		{name: "failover", plan: failing, place: allOn(0), spoil: failedOver, why: "active slave"},
		{name: "a slave changed", plan: mode("balance-xor"), place: byLast, spoil: func(r *result.Recording) { r.After.Slaves[1].CarrierChanges++ }, why: "not the same all the time"},
		{name: "no flows", plan: mode("balance-xor"), place: byLast, spoil: func(r *result.Recording) { r.Wire.Slaves[0].Flows, r.Wire.Slaves[1].Flows = nil, nil }, why: "does not tell flows apart"},
		{name: "no wire", plan: mode("balance-xor"), place: byLast, spoil: func(r *result.Recording) { r.Wire = nil }, why: "nothing listens at the other end"},
		{name: "no address of the bond", plan: mode("balance-xor"), place: byLast, spoil: func(r *result.Recording) { r.Bond.MAC = "" }, why: "MAC address is not known"},
		{name: "no port", plan: func() *plan { return hashing("layer3+4") }, place: byLast, spoil: func(r *result.Recording) { r.Senders[0].Port = 0 }, why: "ports are not known"},
		{name: "nothing sent", plan: func() *plan { p := hashing("layer2"); p.share = []float64{0, 0}; return p }, place: byLast, none: true},
		{name: "what the kernel says of its policy counts", plan: func() *plan { return hashing("layer2") }, place: byLast,
			spoil: func(r *result.Recording) { r.Bond.Options["xmit_hash_policy"] = "encap3+4" }, why: "own hash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.plan()
			rec := p.simulate()
			placed(p.sc, c.place)(&rec)
			if c.spoil != nil {
				c.spoil(&rec)
			}
			s := Run(p.sc, p.preflight(), rec).Spread
			if c.none || s == nil {
				if !c.none || s != nil {
					t.Errorf("got %+v", s)
				}
				return
			}
			if s.Predicted != (c.why == "") || !strings.Contains(s.Why, c.why) {
				t.Errorf("predicted %t: %q, want %q", s.Predicted, s.Why, c.why)
			}
			for _, fl := range s.Flows {
				if s.Predicted != (fl.Predicted >= 0) || s.Predicted && fl.Seen[fl.Predicted] != 100 {
					t.Errorf("flow %+v", fl)
				}
			}
		})
	}
}

// TestOlderKernelsHash: the formula of another kernel is told by how it fits.
func TestOlderKernelsHash(t *testing.T) {
	p := hashing("layer2")
	p.sc.Traffic.Groups = nil
	for _, g := range []string{"ff02::42:1", "ff02::42:2", "ff02::42:3"} {
		p.sc.Traffic.Groups = append(p.sc.Traffic.Groups, g)
	}
	for formula, place := range map[xmithash.Formula]func(int, int) int{
		xmithash.Linux518: func(_, g int) int { return g % 2 }, // 0x86dd is odd
		xmithash.Linux415: byLast,                              // 0xdd86 is even
	} {
		rec := p.simulate()
		placed(p.sc, place)(&rec)
		j := Run(p.sc, p.preflight(), rec)
		if n := j.Metrics["flows.mispredicted"]; n != 0 {
			t.Errorf("%s: %v flows mispredicted", formula.Kernels, n)
		}
		if s := j.Spread; s.Formula != formula.Kernels || s.Older != (formula != xmithash.Linux518) {
			t.Errorf("%s: formula %q, older %t", formula.Kernels, s.Formula, s.Older)
		}
	}
	rec := p.simulate()
	placed(p.sc, allOn(0))(&rec) // no kernel's
	if n := Run(p.sc, p.preflight(), rec).Metrics["flows.mispredicted"]; n != 1 {
		t.Errorf("%v flows mispredicted, want the fewest of any formula: 1", n)
	}
}

// TestOneSlaveHashSaysWhatTheHashGives: the evidence tells a policy's doing from the kernel's.
func TestOneSlaveHashSaysWhatTheHashGives(t *testing.T) {
	for policy, want := range map[string]string{
		"layer2+3": "16 flows, 9277 of 9277 frames through eth1; the layer2+3 hash gives all 16 flows to eth1",
		"layer2":   "; although the layer2 hash gives 8 to eth0 and 8 to eth1",
	} {
		p := hashing(policy)
		p.share = []float64{0, 1}
		rec := p.simulate()
		placed(p.sc, allOn(1))(&rec)
		i := slices.IndexFunc(Run(p.sc, p.preflight(), rec).Diagnosis, func(d result.Finding) bool { return d.Code == result.OneSlaveHash })
		if i < 0 {
			t.Errorf("%s: no finding", policy)
			continue
		}
		if d := Run(p.sc, p.preflight(), rec).Diagnosis[i]; !strings.HasSuffix(d.Evidence, want) {
			t.Errorf("%s: %s", policy, d.Evidence)
		}
	}
}

// TestOneQueueTakesSeveralFlows: one flow belongs on one queue.
func TestOneQueueTakesSeveralFlows(t *testing.T) {
	for senders, want := range map[scenarios.Senders]bool{1: false, 2: true} {
		p := manyQueues()
		p.sc.Traffic.Senders = senders
		rec := p.simulate()
		onQueue(0)(&rec)
		if got := slices.ContainsFunc(Run(p.sc, p.preflight(), rec).Diagnosis, func(d result.Finding) bool { return d.Code == result.OneQueue }); got != want {
			t.Errorf("%d senders: %t", senders, got)
		}
	}
}

// TestControlKinds: a control by netem or a short queue must lose, or any must fail an expectation that the test arm
// holds to.
func TestControlKinds(t *testing.T) {
	one := func() *plan { p := hashing("layer2+3"); p.share = []float64{1, 0}; return p }
	netem := func(p *plan) *plan { p.sc.Orphan = scenarios.OrphanNetem; return p }
	spread := sim{func() *plan { return hashing("layer2") }, placed(hashing("layer2").sc, byLast)}
	allTold := sim{overflowing, told}
	fast := func() *plan { return stock().expecting("rate.achieved >= 50mbit") }
	half := func(p *plan) *plan { p.sc.Guards.LineFull, p.share[0] = false, 0.4; return p }
	few := func(p *plan) *plan { p.sc.Topology.Slaves.TxQueueLen = 8; return p }
	for _, c := range []struct {
		name    string
		test    sim
		control sim
		bad     bool
		invalid bool
		kind    string
		note    string
	}{
		{"another kind, BAD by an expectation", spread, sim{one, placed(one().sc, allOn(0))}, true, false, kindOther, "expected slaves.used == 2, but slaves.used is 1"},
		{"another kind, good", spread, spread, false, false, kindOther, "every expectation holds"},
		{"BAD by an expectation that fails in the test arm, too", sim{one, placed(one().sc, allOn(0))}, sim{one, placed(one().sc, allOn(0))}, false, false, kindOther,
			"not in what the scenario expects and the test arm holds to: an expectation of the scenario failed: expected slaves.used"},
		{"BAD by an expectation, and no run of the test arm counts", invalid, sim{one, placed(one().sc, allOn(0))}, false, false, kindOther, "no run of the test arm counts"},
		{"another kind, BAD by one remainder", clean, lossy, false, false, kindOther, "not in what the scenario expects and the test arm holds to: packets lost, counted nowhere"},
		{"another kind, BAD by drops nobody expects", sim{fast, nil}, sim{func() *plan { p := fast(); p.drops[0] = 12; return p }, nil}, false, false, kindOther, "not in what the scenario expects"},
		{"BAD by a mechanism first, and in what the scenario expects, too", sim{fast, nil}, sim{func() *plan { p := half(fast()); p.drops[0] = 12; return p }, nil}, true, false, kindOther, "expected rate.achieved >= 50mbit"},
		{"another kind, not valid", clean, sim{func() *plan { p := stock(); p.share[0] = 0.5; return p }, nil}, false, true, kindOther, "guard line_full"},
		{"netem that loses", clean, shown, true, false, kindNetem, "uncharged 1230"},
		{"netem that loses, and no run of the test arm counts", invalid, shown, true, false, kindNetem, "uncharged 1230"},
		{"netem that is good", clean, hushed, false, false, kindNetem, "dropped 0, uncharged 0"},
		{"netem that only fails an expectation of the test arm's", sim{fast, nil}, sim{func() *plan { return half(netem(fast())) }, nil}, true, false, kindNetem, "expected rate.achieved"},
		{"netem where drops are accepted, untold", allTold, sim{func() *plan { return netem(overflowing()) }, nil}, true, false, kindNetem, "drops.untold is 200"},
		{"netem where drops are accepted, and none came", allTold, sim{func() *plan { p := netem(overflowing()); p.drops[0] = 0; return p }, nil}, false, false, kindNetem, "nothing was dropped"},
		{"netem where drops are accepted, BAD by a remainder", allTold, sim{func() *plan { return netem(overflowing()) }, both(told, lose(9))}, false, false, kindNetem, "not in what the scenario expects"},
		{"a short queue that drops", clean, short, true, false, kindQueue, "drops are visible here"},
		{"a short queue where drops are accepted, all told", allTold, sim{func() *plan { return few(overflowing()) }, told}, false, false, kindQueue, "every expectation holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config0()
			cfg.Scenario = c.test.plan().sc
			test, a := arm(result.ArmTest, c.test), arm(result.ArmControl, c.control)
			got := control(cfg, &a, lastValid(&test))
			if got.Bad != c.bad || got.Invalid != c.invalid || got.Kind != c.kind || !strings.Contains(got.Note, c.note) {
				t.Errorf("got %+v, want bad %t, invalid %t, kind %s, note %q", got, c.bad, c.invalid, c.kind, c.note)
			}
		})
	}
}

// TestControlOfSeveralRuns: a run that counts speaks before one that does not, and the first that is BAD before all.
func TestControlOfSeveralRuns(t *testing.T) {
	test := arm(result.ArmTest, clean)
	for _, c := range []struct {
		sims []sim
		want result.ControlJudgement
		note string
	}{
		{[]sim{unfull, shown}, result.ControlJudgement{Measured: true, Bad: true, Kind: kindNetem}, "uncharged 1230"},
		{[]sim{hushed, unfull}, result.ControlJudgement{Measured: true, Kind: kindNetem}, "dropped 0"},
		{[]sim{unfull, unfull}, result.ControlJudgement{Measured: true, Invalid: true, Kind: kindNetem}, "guard line_full"},
	} {
		a := arm(result.ArmControl, c.sims...)
		got := control(config0(), &a, lastValid(&test))
		note := got.Note
		got.Note = ""
		if got != c.want || !strings.Contains(note, c.note) {
			t.Errorf("got %+v: %s, want %+v: %s", got, note, c.want, c.note)
		}
	}
}

// TestPraise: the sentence of GOOD is true of the scenario.
func TestPraise(t *testing.T) {
	for _, c := range []struct {
		plan  func() *plan
		spoil func(*result.Recording)
		want  string
	}{
		{stock, nil, "The socket throttled the sender, no qdisc dropped anything (2 of 2 valid runs)."},
		{func() *plan { p := stock(); p.sc.Expect = standard[:1]; return p }, nil, "The socket throttled the sender"},
		{func() *plan { return hashing("layer2") }, placed(hashing("layer2").sc, byLast), "Every expectation holds: slaves.used == 2, flows.mispredicted == 0, slaves.share.max <= 75% (2 of 2 valid runs)."},
		{func() *plan { return broadcast(stock()).expecting("slaves.used == 2", "orphaned == false") }, nil, "Every expectation that could be evaluated holds: slaves.used == 2 (2 of 2"},
		{func() *plan { p := overflowing(); p.sc.Expect = nil; return p }, nil, "Nothing that was seen is a fault"},
	} {
		cfg := config0()
		cfg.Scenario, cfg.NoControl = c.plan().sc, true
		j, _ := Decide(cfg, []result.Arm{arm(result.ArmTest, sim{c.plan, c.spoil}, sim{c.plan, c.spoil})})
		if j.Verdict != result.Good || !strings.HasPrefix(j.Reason, c.want) {
			t.Errorf("%s: %s\nwant %s", j.Verdict, j.Reason, c.want)
		}
	}
}

// TestKernelLogWarns: faults the kernel reports are a warning, once.
func TestKernelLogWarns(t *testing.T) {
	log := func(r *result.Recording) { r.KernelLog = []string{"BUG: scheduling while atomic"} }
	r := result.Result{Schema: result.Schema, Config: config0(), Arms: []result.Arm{arm("test", sim{stock, log}, sim{stock, log}), arm("control", shown)}}
	count := func(r result.Result) (n int) {
		for _, w := range r.Warnings {
			if strings.Contains(w.Text, "BUG: scheduling") {
				n++
			}
		}
		return n
	}
	if again := Again(Again(r)); count(again) != 1 || again.Warnings[0].Code != warnKernelLog {
		t.Errorf("%+v", again.Warnings)
	}
	r.Warnings = []result.Warning{{Code: complaints, Text: "The kernel reported a fault of its own while it was measured: BUG: scheduling while atomic"}}
	if again := Again(Again(r)); count(again) != 1 || again.Warnings[0].Code != complaints {
		t.Errorf("%+v", again.Warnings)
	}
}
