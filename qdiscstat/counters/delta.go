package counters

// Diff is what a qdisc counted between two readings.
type Diff struct {
	Bytes      uint64 `json:"bytes"`
	Packets    uint64 `json:"packets"`
	Drops      uint64 `json:"drops"`
	Requeues   uint64 `json:"requeues"`
	Overlimits uint64 `json:"overlimits"`
}

// Add adds e to d.
func (d *Diff) Add(e Diff) {
	d.Bytes += e.Bytes
	d.Packets += e.Packets
	d.Drops += e.Drops
	d.Requeues += e.Requeues
	d.Overlimits += e.Overlimits
}

// Delta is what was counted from before to after, two readings of one qdisc (of equal Key). Counters of 32
// bits may wrap once in between. Where the qdisc was replaced reset is true and the difference is all that
// the new one counted: what the old one counted after before is lost.
//
// A replacement shows in another handle or kind, or in a 64-bit counter that went down. One that kept its
// handle and has since counted more bytes than its predecessor cannot be seen here: listen to RTNLGRP_TC for it.
func Delta(before, after Qdisc) (diff Diff, reset bool) {
	if replaced(&before, &after) {
		before, reset = Qdisc{}, true
	}
	return Diff{
		Bytes:      after.Bytes - before.Bytes,
		Packets:    packets(&before, &after, reset),
		Drops:      wrapped(before.Drops, after.Drops),
		Requeues:   wrapped(before.Requeues, after.Requeues),
		Overlimits: wrapped(before.Overlimits, after.Overlimits),
	}, reset
}

func replaced(before, after *Qdisc) bool {
	return before.Handle != after.Handle ||
		before.Kind != after.Kind ||
		after.Bytes < before.Bytes ||
		before.Packets64 && after.Packets < before.Packets
}

// packets knows that the kernel sends TCA_STATS_PKT64 only once the count no longer fits 32 bits
// (net/core/gen_stats.c): a reading without it is either exact or, before Linux 5.5, modulo 2^32.
func packets(before, after *Qdisc, reset bool) uint64 {
	if after.Packets64 || reset {
		return after.Packets - before.Packets
	}
	return wrapped(uint32(before.Packets), uint32(after.Packets))
}

// wrapped is the difference modulo 2^32: right when the counter wrapped at most once.
func wrapped(before, after uint32) uint64 { return uint64(after - before) }
