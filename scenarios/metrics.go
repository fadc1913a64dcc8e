package scenarios

import (
	"slices"
	"strings"
)

// Metric is one figure of a run. Figures of several slaves or senders are summed unless Doc says otherwise.
type Metric struct {
	Name string
	Unit string // packets, frames, bytes, bit/s, ms, polls, slaves, queues, flows, share (0 to 1), and those of LoadMetrics; "" for Bool
	Doc  string
	Bool bool // true or false, held as 1 or 0
	// Better is the direction in which it improves; "" where neither is better by itself.
	Better Direction
}

// Direction is where a metric improves to.
type Direction string

// The directions.
const (
	Higher Direction = "higher"
	Lower  Direction = "lower"
)

// Metrics is the one table of metric names: expressions, results and docs/metrics.md are made from it.
var Metrics = slices.Concat(BondMetrics, LoadMetrics)

// BondMetrics are those of udp-multicast on a bond.
var BondMetrics = []Metric{
	{Name: "offered", Unit: "packets", Doc: "What the senders tried to send: ok + eagain + enobufs + errors."},
	{Name: "ok", Better: Higher, Unit: "packets", Doc: "Sends that the kernel took."},
	{Name: "eagain", Better: Lower, Unit: "packets", Doc: "Sends refused because the socket's send buffer was full (EAGAIN)."},
	{Name: "enobufs", Better: Lower, Unit: "packets", Doc: "Sends that a qdisc dropped and said so (ENOBUFS, with IP_RECVERR set). These packets went into the bond."},
	{Name: "errors", Better: Lower, Unit: "packets", Doc: "Sends that failed with any other errno."},
	{Name: "into", Unit: "packets", Doc: "Packets that entered the bond, by the clsact counter on its egress."},

	{Name: "slaves.qdisc.sent", Better: Higher, Unit: "packets", Doc: "Packets the slaves' qdiscs gave to their drivers."},
	{Name: "slaves.qdisc.dropped", Better: Lower, Unit: "packets", Doc: "Packets the slaves' qdiscs dropped (tc: dropped)."},
	{Name: "slaves.qdisc.requeues", Better: Lower, Unit: "packets", Doc: "Packets a driver would not take and that were put back (tc: requeues)."},
	{Name: "slaves.qdisc.overlimits", Unit: "packets", Doc: "Times a shaping qdisc had to hold a packet back (tc: overlimits)."},
	{Name: "slaves.qdisc.max_qlen", Unit: "packets", Doc: "The longest queue seen in one slave's qdisc."},
	{Name: "slaves.qdisc.max_backlog", Unit: "bytes", Doc: "The largest backlog seen in one slave's qdisc."},
	{Name: "slaves.qdisc.stuck", Better: Lower, Unit: "polls", Doc: "Polls that found packets in a slave's queue after half of the time between two bursts (traffic.burst), with nothing leaving it, where the poll before them had found the same. Polls do not count while the driver's ring may be full, nor on a line that a burst may keep busy for so long. Absent without bursts, when a slave changed its state, and when none was found and fewer than half of the bursts have two such polls."},
	{Name: "drops.untold", Better: Lower, Unit: "packets", Doc: "Packets the slaves' qdiscs dropped and no send was told of: slaves.qdisc.dropped - enobufs. Absent when nothing was dropped, and where short batches hide what a send was told."},
	{Name: "slaves.used", Unit: "slaves", Doc: "Slaves that carried at least 1 % of the frames."},
	{Name: "slaves.share.max", Unit: "share", Doc: "The largest share of the frames that one slave carried."},
	{Name: "slaves.share.min", Unit: "share", Doc: "The smallest such share."},
	{Name: "slaves.queues.used", Unit: "queues", Doc: "TX queues that carried at least 1 % of their slave's packets, of the slave that used most."},
	{Name: "slaves.queues.share.max", Unit: "share", Doc: "The largest share of its slave's packets that one TX queue carried, of the slaves that carry traffic."},
	{Name: "flows.mispredicted", Better: Lower, Unit: "flows", Doc: "Flows (a sender to a group) any frame of which went out of another slave than the hash policy gives. Absent where no prediction can be made: in modes other than balance-xor and 802.3ad, with the policy encap3+4, and when a slave changed its state."},
	{Name: "slaves.tx_packets", Unit: "packets", Doc: "The slaves' own tx_packets."},
	{Name: "bond.tx_packets", Unit: "packets", Doc: "The bond's own tx_packets, which is the sum of its slaves' and misses what their qdiscs drop. No verdict rests on it."},

	{Name: "wire.frames", Better: Higher, Unit: "frames", Doc: "Our frames that came out at the other end of the slaves."},
	{Name: "wire.foreign", Unit: "frames", Doc: "Frames at the other end that are not of this run (ARP, IGMP, LACPDU and the like)."},
	{Name: "wire.lost", Better: Lower, Unit: "packets", Doc: "Sequence numbers that were sent and never came out, less the drops that were counted. Absent with GSO, and in broadcast mode when a slave changed its state."},
	{Name: "wire.duplicates", Better: Lower, Unit: "frames", Doc: "Sequence numbers that came out more often than the mode sends them."},
	{Name: "wire.reordered", Better: Lower, Unit: "frames", Doc: "Frames that came out after a later one of the same sender on the same line."},
	{Name: "wire.crossed", Better: Lower, Unit: "frames", Doc: "Frames that came out after a later one of the same flow (a sender to a group), over all lines together. Absent in broadcast mode."},
	{Name: "wire.overflow", Better: Lower, Unit: "packets", Doc: "Datagrams that came out and that a receiving socket had no room for (SO_RXQ_OVFL)."},

	{Name: "receiver.frames", Better: Higher, Unit: "frames", Doc: "Our frames that a receiver on the far side of the network saw (`run --receiver`), copies included. Absent without one, as are all of its figures."},
	{Name: "receiver.lost", Better: Lower, Unit: "packets", Doc: "Packets that left the slaves and neither reached the receiver nor overflowed its socket: the network's loss or the receiver's, on which no verdict rests by itself. Absent with GSO, when a slave changed its state, and when a qdisc was replaced."},
	{Name: "receiver.duplicates", Better: Lower, Unit: "frames", Doc: "Frames whose number the receiver had seen before on the same interface. Absent in broadcast mode, where that is as it should be."},
	{Name: "receiver.reordered", Better: Lower, Unit: "frames", Doc: "Frames that reached the receiver after a later one of the same sender on the same interface. Absent in broadcast mode."},
	{Name: "receiver.overflow", Better: Lower, Unit: "packets", Doc: "Datagrams that reached the receiver's machine and that its socket had no room for (SO_RXQ_OVFL)."},

	{Name: "failover.gap", Better: Lower, Unit: "ms", Doc: "The longest time without any of our frames on any line, to the end of sending; after a fault only the time from then on. Of that, what the packets sent meanwhile take at the senders' mean rate: a machine that stands still sends nothing. Where the send buffers were full it counts whole."},
	{Name: "failover.arp", Unit: "frames", Doc: "ARP frames (IPv6: neighbour discovery) at the wire after the first fault, on lines that carried none of our frames before it: what a bond announces itself with. Absent without a fault."},
	{Name: "failover.igmp", Unit: "frames", Doc: "IGMP frames (IPv6: MLD) at the wire after the first fault, on lines that carried none of our frames before it. Absent without a fault."},
	{Name: "failover.lost", Better: Lower, Unit: "share", Doc: "Share of the sequence numbers that were sent and never came out, counted drops left out. Absent without a fault, in broadcast mode, with GSO, and when a qdisc was replaced."},
	{Name: "failover.back", Better: Higher, Unit: "share", Doc: "Share of the frames that the slave set down carried from 500 ms after it was set up again on; 0 when nothing came. Absent without such faults, or when the senders ended before."},

	{Name: "outq.max", Unit: "bytes", Doc: "The most that was charged to one socket (SIOCOUTQ)."},
	{Name: "uncharged.median", Better: Lower, Unit: "packets", Doc: "Packets in flight that no socket was charged for, median over the samples."},
	{Name: "uncharged.max", Better: Lower, Unit: "packets", Doc: "The same, greatest sample."},
	{Name: "in_flight.median", Unit: "packets", Doc: "Packets in the bond that were neither dropped nor completed, median over the samples."},
	{Name: "orphaned", Better: Lower, Bool: true, Doc: "True when uncharged.median is above max(8, 10 % of in_flight.median) and the packets that vanished uncounted, which look as if they were in flight: back-pressure is lost."},
	{Name: "blocked.share", Unit: "share", Doc: "Share of the senders' time spent waiting for the send buffer."},

	{Name: "rate.achieved", Better: Higher, Unit: "bit/s", Doc: "What came out of all slaves after the warm-up, layer-2 bytes without FCS and inter-packet gap."},
	{Name: "rate.line", Unit: "bit/s", Doc: "The line rate of the slaves that carry traffic, counted in the same way."},
	{Name: "rate.offered", Unit: "bit/s", Doc: "What the senders tried to send after the warm-up, counted in the same way."},

	{Name: "ledger.remainder", Better: Lower, Unit: "packets", Doc: "What the ledger can't account for: the absolute remainders of its hops, added up. Absent with GSO, when a slave changed its state, and when a qdisc was replaced."},
	{Name: "drain.quiet", Better: Higher, Bool: true, Doc: "True when queues and sockets were empty within 5 s after the last send."},
	{Name: "drain.ms", Better: Lower, Unit: "ms", Doc: "How long that took."},
}

// FindMetric is the metric of that name.
func FindMetric(name string) (Metric, bool) {
	for _, m := range Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

func metricNames() []string {
	return namesOf(Metrics)
}

// nearestMetric is nearest for metric names, which may also be meant by their last part.
func nearestMetric(word string) string {
	if near := nearest(word, metricNames()); near != "" {
		return near
	}
	for _, name := range metricNames() {
		if strings.HasSuffix(name, "."+word) {
			return name
		}
	}
	return ""
}
