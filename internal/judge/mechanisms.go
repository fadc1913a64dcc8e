package judge

import (
	"fmt"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// finding is a diagnosis with its sentence from the table.
func finding(code, evidence string) result.Finding {
	return result.Finding{Code: code, Text: result.Diagnoses[code].Text, Evidence: evidence}
}

// mechanism looks for one thing that makes a run BAD.
type mechanism func(*facts, result.Oracle, balance) (result.Finding, result.Cause, bool)

// mechanisms are in the order in which they decide. Lost back-pressure comes before a remainder, which takes
// a second run to be believed, and so does what the kernel itself says.
var mechanisms = []mechanism{orphaned, queueMapped, lost, doubled, dropped, stuck, stalled, leaked}

// orphaned needs no drop: half the packets off their charge is enough to overrun some other queue.
func orphaned(f *facts, o result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	if !o.Orphaned {
		return result.Finding{}, "", false
	}
	ev := fmt.Sprintf("uncharged %.4g of %.4g packets in flight (median of %d samples, threshold %s), greatest outq %d bytes, dropped %d",
		o.Median, o.InFlight, o.Samples, thresholdText(o), f.greatestOutq(), f.qdiscDropped())
	if f.sc.Orphan == scenarios.OrphanNetem {
		return finding(result.OrphanedAsAsked, ev), result.CauseConfiguration, true
	}
	return finding(result.BackPressureLost, ev), result.CauseKernel, true
}

// thresholdText says what the threshold is made of.
func thresholdText(o result.Oracle) string {
	if o.Vanished == 0 {
		return fmt.Sprintf("%.4g", o.Threshold)
	}
	return fmt.Sprintf("%.4g + %.4g that vanished uncounted", o.Threshold, o.Vanished)
}

func lost(_ *facts, _ result.Oracle, b balance) (result.Finding, result.Cause, bool) {
	return finding(result.LostUncounted, b.String()), result.CauseKernel, b.confirmed() && b.lost > 0
}

func doubled(_ *facts, _ result.Oracle, b balance) (result.Finding, result.Cause, bool) {
	return finding(result.DuplicatedUncounted, b.String()), result.CauseKernel, b.confirmed() && b.doubled > 0
}

// dropped finds out whom to blame for drops of packets that were charged.
func dropped(f *facts, o result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	n := f.qdiscDropped()
	if n == 0 || o.Orphaned {
		return result.Finding{}, "", false
	}
	ev := fmt.Sprintf("dropped %d; %s; uncharged %s", n, preflightText(f.pf, f.sc.Topology.Slaves.Queues), unchargedText(o))
	// Too few samples are no oracle, but packets that they show uncharged are not the configuration's.
	charged := !o.Available || o.Median <= o.Threshold
	switch {
	case f.sc.Orphan == scenarios.OrphanNetem:
		return finding(result.OrphanedAsAsked, ev), result.CauseConfiguration, true
	case f.broadcast() && f.unequalLines():
		return finding(result.BroadcastClones, ev+"; lines of "+f.lineRates()), result.CauseConfiguration, true
	case f.broadcast() && f.blockedShare() >= heldBack:
		// The last copy is charged and holds the sender back at its own slave; any other slave that is late drops.
		return finding(result.BroadcastClones, ev+fmt.Sprintf("; senders blocked %.1f %% of the time; lines of %s", 100*f.blockedShare(), f.lineRates())), result.CauseConfiguration, true
	case (f.pf.Exceeds || f.pf.Tight) && charged:
		return finding(result.SndbufExceedsQueue, ev), result.CauseConfiguration, true
	}
	return finding(result.DropsUnpredicted, ev), result.CauseKernel, true
}

// stuck finds packets that stay in a qdisc or a ring while the line is idle: a lost wake-up. A line that is
// merely too slow to drain in time is not stuck.
func stuck(f *facts, _ result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	if !f.waiting() || f.backlog()+f.inRing() == 0 || !f.idle() {
		return result.Finding{}, "", false
	}
	return finding(result.StuckQueue, fmt.Sprintf("after %.0f ms of waiting %d packets are in the slaves' qdiscs and %d in their rings, %d bytes charged",
		f.rec.Drain.TookMS, f.backlog(), f.inRing(), f.rec.Drain.Outq)), result.CauseKernel, true
}

// leaked finds bytes charged to sockets with no packet left that they could be for.
func leaked(f *facts, _ result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	d := f.rec.Drain
	if d.Quiet || d.Outq == 0 || f.backlog()+f.netemLeft()+f.inRing() > 0 {
		return result.Finding{}, "", false
	}
	return finding(result.LeakedCharge, fmt.Sprintf("after %.0f ms of waiting %d bytes are charged with every queue empty", d.TookMS, d.Outq)),
		result.CauseKernel, true
}

// backlog is what the drain left in slaves' qdiscs, packets.
func (f *facts) backlog() int64 { return max(int64(f.rec.Drain.Backlog), f.left()) }

// waiting tells whether the drain ended with packets still somewhere: queued, or charged to a socket.
func (f *facts) waiting() bool {
	return !f.rec.Drain.Quiet && (f.backlog() > 0 || f.rec.Drain.Outq > 0)
}

// inRing is how many packets qdiscs handed to drivers that neither completed nor were put back; 0 where nothing
// waits. What a driver took and freed is not in its ring: it is charged to nobody.
func (f *facts) inRing() int64 {
	if !f.waiting() {
		return 0
	}
	handed := f.sum(func(s *slaveFacts) int64 { return int64(s.diff.Packets) - s.tx - s.txDropped })
	return max(0, min(handed, f.pending()))
}

// pending is how many packets went into the bond and were neither counted as dropped nor completed, and wait in
// no qdisc.
func (f *facts) pending() int64 {
	return f.into*f.copies() + f.own() - f.dropped() - f.left() - f.netemLeft() - f.tx()
}

// idle tells whether the lines took less than half of what they could have during the drain.
func (f *facts) idle() bool {
	frame := f.frameBytes()
	var could, did float64
	for i, s := range f.slaves {
		if s.left == 0 && int64(s.diff.Packets) == s.tx {
			continue
		}
		could += f.lineRate(i) / 8 * f.rec.Drain.TookMS / 1000
		did += float64(s.tx) * frame
		if i < len(f.rec.Series.Slaves) {
			if c := f.rec.Series.Slaves[i].Completed; len(c) > 0 {
				did -= float64(c[len(c)-1]) * frame
			}
		}
	}
	return did < could/2
}

func (f *facts) unequalLines() bool {
	for _, r := range f.rec.LineRate {
		if r != f.rec.LineRate[0] {
			return true
		}
	}
	return false
}

func (f *facts) lineRates() string {
	s := ""
	for i, r := range f.rec.LineRate {
		if i > 0 {
			s += ", "
		}
		s += result.BitRate(r)
	}
	return s
}

// greatestOutq is the most that was charged to one socket, bytes.
func (f *facts) greatestOutq() (most int) {
	for _, s := range f.rec.Senders {
		most = max(most, s.MaxOutq)
	}
	return most
}

// preflightText is the sum with what it is held against, which is one TX queue however many there are.
func preflightText(pf result.Preflight, queues int) string {
	if pf.Truesize == 0 {
		return "the sum of the send buffers is not known"
	}
	than := "within"
	switch {
	case pf.Exceeds:
		than = "more than"
	case pf.Tight:
		than = "only with the ring within"
	}
	of := ""
	if queues > 1 {
		of = fmt.Sprintf(" of one TX queue of %d", queues)
	}
	return fmt.Sprintf("%s × %s = %d in flight at most, %s txqueuelen %d + %d of ring %d%s",
		result.Plural(int64(pf.Senders), "sender"), result.Plural(int64(pf.PerSender), "packet"), pf.Sum, than, pf.TxQueueLen, pf.Ring-pf.Reserve, pf.Ring, of)
}

func unchargedText(o result.Oracle) string {
	if !o.Available {
		return "not known (" + o.Why + ")"
	}
	return fmt.Sprintf("%.4g (median of %d samples)", o.Median, o.Samples)
}
