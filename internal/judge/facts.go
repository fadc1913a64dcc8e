package judge

import (
	"fmt"
	"math"
	"slices"

	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// facts are a recording's counters as differences over the run, the ground of everything else here.
type facts struct {
	sc  scenarios.Scenario
	pf  result.Preflight
	rec result.Recording

	ok, eagain, enobufs, other, hidden, seqs int64

	into   int64
	slaves []slaveFacts
	netem  *slaveFacts // only diff, left and reset; nil without an orphaner

	foreign    int64 // frames at the wire that are not ours
	stale      int64 // frames at the wire that an earlier run sent
	unique     int64
	copiesSeen int64
	duplicates int64
	reordered  int64
	crossed    int64
}

// slaveFacts are one slave's counters over the run, summed over its leaf qdiscs.
type slaveFacts struct {
	diff                             counters.Diff
	left                             int64 // packets in the qdisc at the end
	tx, txBytes, txDropped, own      int64
	carrierBefore, carrierAfter      uint32
	reset                            bool    // a qdisc was replaced
	queues                           []int64 // packets, by leaf qdisc, which is by TX queue
	wireOurs, wireForeign, wireStale int64
	overflow                         int64 // datagrams that came out, and that the program there had no room for
}

// check tells why a recording cannot be judged at all; "" when it can. A recording may come from a file.
func check(rec result.Recording) string {
	n := len(rec.Slaves)
	switch {
	case rec.Failure != "":
		return rec.Failure
	case n == 0:
		return "the recording has no slaves"
	case len(rec.Senders) == 0:
		return "the recording has no senders"
	case len(rec.Before.Slaves) != n || len(rec.After.Slaves) != n:
		return fmt.Sprintf("the recording has %d slaves, but counters of %d before and of %d after the run", n, len(rec.Before.Slaves), len(rec.After.Slaves))
	case len(rec.LineRate) != n:
		return fmt.Sprintf("the recording has %d slaves, but %d line rates", n, len(rec.LineRate))
	case len(rec.Series.Slaves) != n && len(rec.Series.Slaves)+len(rec.Series.AtMS) > 0:
		return fmt.Sprintf("the recording has %d slaves, but polls of %d", n, len(rec.Series.Slaves))
	case rec.Wire != nil && len(rec.Wire.Slaves) != n:
		return fmt.Sprintf("the recording has %d slaves, but %d lines at the wire", n, len(rec.Wire.Slaves))
	}
	return ""
}

// gather takes the differences. check must have passed.
func gather(sc scenarios.Scenario, pf result.Preflight, rec result.Recording) *facts {
	f := &facts{sc: sc, pf: pf, rec: rec}
	for _, s := range rec.Senders {
		f.ok += int64(s.OK)
		f.eagain += int64(s.EAGAIN)
		f.enobufs += int64(s.ENOBUFS)
		f.hidden += int64(s.Hidden)
		f.seqs += int64(s.Seqs)
		for _, n := range s.Other {
			f.other += int64(n)
		}
	}
	f.into = int64(rec.After.Into - rec.Before.Into)
	for i := range rec.Slaves {
		f.slaves = append(f.slaves, gatherSlave(rec, i))
		f.foreign += f.slaves[i].wireForeign
		f.stale += f.slaves[i].wireStale
	}
	f.netem = gatherNetem(rec.Before.Orphaner, rec.After.Orphaner)
	if rec.Wire != nil {
		for _, w := range rec.Wire.Senders {
			f.unique += int64(w.Unique)
			f.copiesSeen += int64(w.Copies)
			f.duplicates += int64(w.Duplicates)
			f.reordered += int64(w.Reordered)
			f.crossed += int64(w.Crossed)
		}
	}
	if !f.broadcast() {
		// Only broadcast mode sends a packet out of several slaves.
		f.duplicates, f.copiesSeen = f.duplicates+f.copiesSeen, 0
	}
	return f
}

func gatherSlave(rec result.Recording, i int) slaveFacts {
	b, a := rec.Before.Slaves[i], rec.After.Slaves[i]
	s := sumQdiscs(b.Qdiscs, a.Qdiscs)
	s.tx = int64(a.TxPackets - b.TxPackets)
	s.txBytes = int64(a.TxBytes - b.TxBytes)
	s.txDropped = int64(a.TxDropped - b.TxDropped)
	s.own = int64(a.Own - b.Own)
	s.carrierBefore, s.carrierAfter = b.CarrierChanges, a.CarrierChanges
	if rec.Wire != nil {
		w := rec.Wire.Slaves[i]
		s.wireOurs, s.wireStale, s.overflow = int64(w.Ours), int64(w.Stale), int64(w.Overflow)
		for _, n := range w.Foreign {
			s.wireForeign += int64(n)
		}
	}
	return s
}

func gatherNetem(before, after *counters.Qdisc) *slaveFacts {
	if before == nil && after == nil {
		return nil
	}
	one := func(q *counters.Qdisc) []counters.Qdisc {
		if q == nil {
			return nil
		}
		return []counters.Qdisc{*q}
	}
	s := sumQdiscs(one(before), one(after))
	return &s
}

// sumQdiscs sums over leaves: tbf and its child, mq and its children count each packet and drop twice. A
// qdisc that came or went in between counts as a replacement.
func sumQdiscs(before, after []counters.Qdisc) slaveFacts {
	var s slaveFacts
	before, after = counters.Leaves(before), counters.Leaves(after)
	s.reset = len(before) != len(after)
	for i := range after {
		q := &after[i]
		j := slices.IndexFunc(before, func(b counters.Qdisc) bool { return b.Key() == q.Key() })
		old := counters.Qdisc{Kind: q.Kind, Handle: q.Handle}
		if j < 0 {
			s.reset = true
		} else {
			old = before[j]
		}
		d, reset := counters.Delta(old, *q)
		s.diff.Add(d)
		s.queues = append(s.queues, int64(d.Packets))
		s.reset = s.reset || reset
		s.left += int64(q.Qlen)
	}
	return s
}

// dropped is what counters say was dropped on the way to the wire: slaves' qdiscs, netem, drivers.
func (f *facts) dropped() int64 { return f.qdiscDropped() + f.netemDropped() + f.driverDropped() }

func (f *facts) qdiscDropped() int64 {
	return f.sum(func(s *slaveFacts) int64 { return int64(s.diff.Drops) })
}
func (f *facts) driverDropped() int64 {
	return f.sum(func(s *slaveFacts) int64 { return s.txDropped })
}
func (f *facts) left() int64 { return f.sum(func(s *slaveFacts) int64 { return s.left }) }
func (f *facts) own() int64  { return f.sum(func(s *slaveFacts) int64 { return s.own }) }
func (f *facts) tx() int64   { return f.sum(func(s *slaveFacts) int64 { return s.tx }) }
func (f *facts) overflow() int64 {
	return f.sum(func(s *slaveFacts) int64 { return s.overflow })
}
func (f *facts) requeues() int64 {
	return f.sum(func(s *slaveFacts) int64 { return int64(s.diff.Requeues) })
}

func (f *facts) sum(of func(*slaveFacts) int64) (n int64) {
	for i := range f.slaves {
		n += of(&f.slaves[i])
	}
	return n
}

func (f *facts) netemDropped() int64 {
	if f.netem == nil {
		return 0
	}
	return int64(f.netem.diff.Drops)
}

func (f *facts) netemLeft() int64 {
	if f.netem == nil {
		return 0
	}
	return f.netem.left
}

func (f *facts) offered() int64 { return f.ok + f.eagain + f.enobufs + f.other }

func (f *facts) mode() string { return f.sc.Topology.Bond.Mode }

func (f *facts) broadcast() bool { return f.mode() == "broadcast" }

// copies is how many frames one packet becomes behind the bond.
func (f *facts) copies() int64 {
	if f.broadcast() {
		return int64(len(f.slaves))
	}
	return 1
}

// slaveChanged tells whether a slave changed its state during the run, and how we know.
func (f *facts) slaveChanged() (string, bool) {
	for _, e := range f.rec.Events {
		switch e.Kind {
		case result.EventLinkDown, result.EventLinkUp, result.EventActiveSlave:
			return fmt.Sprintf("%s %s at %.0f ms: %s", f.name(e.Slave), words[e.Kind], e.AtMS, e.Text), true
		}
	}
	for i, s := range f.slaves {
		if s.carrierBefore != s.carrierAfter {
			return fmt.Sprintf("carrier_changes of %s went from %d to %d", f.name(i), s.carrierBefore, s.carrierAfter), true
		}
	}
	return "", false
}

// qdiscReplaced tells whether a slave's qdisc was replaced during the run, and how we know.
func (f *facts) qdiscReplaced() (string, bool) {
	for _, e := range f.rec.Events {
		if e.Kind == result.EventQdiscReplaced {
			return fmt.Sprintf("%s %s at %.0f ms: %s", f.name(e.Slave), words[e.Kind], e.AtMS, e.Text), true
		}
	}
	for i, s := range f.slaves {
		if s.reset {
			return fmt.Sprintf("the qdisc counters of %s began anew", f.name(i)), true
		}
	}
	if f.netem != nil && f.netem.reset {
		return "the counters of netem on the bond began anew", true
	}
	return "", false
}

var words = map[string]string{
	result.EventLinkDown:      "went down",
	result.EventLinkUp:        "came up",
	result.EventActiveSlave:   "changed its active slave",
	result.EventQdiscReplaced: "had its qdisc replaced",
}

// name names a slave by its index in the recording, -1 being the bond.
func (f *facts) name(slave int) string {
	if slave >= 0 && slave < len(f.rec.Slaves) {
		return f.rec.Slaves[slave].Name
	}
	return f.rec.Bond.Name
}

// frameBytes is the mean length of a frame on layer 2; 0 when none was sent. A VLAN's tag is beside the packet while it is
// in the qdisc, which does not count it, and in the frame on most lines, whose rate it is then part of.
func (f *facts) frameBytes() float64 {
	if f.sc.Topology.VLAN != 0 && f.rec.Wire != nil {
		if mean := wireBytes(f.rec.Wire); mean > 0 {
			return mean
		}
	}
	var bytes, packets uint64
	for _, s := range f.slaves {
		bytes += s.diff.Bytes
		packets += s.diff.Packets
	}
	if packets == 0 {
		return 0
	}
	return float64(bytes) / float64(packets)
}

// wireBytes is the mean length of our frames at the wire; 0 when none came.
func wireBytes(w *result.Wire) float64 {
	var bytes, frames uint64
	for _, s := range w.Slaves {
		if n := len(s.CumFrames); n > 0 && n == len(s.CumBytes) {
			bytes, frames = bytes+s.CumBytes[n-1], frames+s.CumFrames[n-1]
		}
	}
	if frames == 0 {
		return 0
	}
	return float64(bytes) / float64(frames)
}

// elapsedMS is how long the longest sender took.
func (f *facts) elapsedMS() float64 {
	var ms float64
	for _, s := range f.rec.Senders {
		ms = math.Max(ms, s.ElapsedMS)
	}
	return ms
}

// blockedShare is the mean over the senders of the share of their time they waited for the send buffer.
func (f *facts) blockedShare() float64 {
	var share float64
	for _, s := range f.rec.Senders {
		if s.ElapsedMS > 0 {
			share += s.BlockedMS / s.ElapsedMS
		}
	}
	return share / float64(len(f.rec.Senders))
}

func (f *facts) warmupMS() float64   { return milliseconds(f.sc.Traffic.Warmup) }
func (f *facts) durationMS() float64 { return milliseconds(f.sc.Traffic.Duration) }

func milliseconds(d scenarios.Duration) float64 { return float64(d.D().Microseconds()) / 1000 }
