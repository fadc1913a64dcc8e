package qdiscstat

import "bondrepro/qdiscstat/counters"

// Attributes inside TCA_STATS2 and TCA_ACT_STATS (include/uapi/linux/gen_stats.h). TCA_STATS_APP, the kind's
// own statistics, and the rate estimators are skipped like any unknown attribute.
const (
	statsBasic   = 1 // struct gnet_stats_basic: u64 bytes, u32 packets
	statsQueue   = 3 // struct gnet_stats_queue: u32 qlen, backlog, drops, requeues, overlimits
	statsBasicHW = 7 // like statsBasic, the share of the hardware; statsBasic includes it
	statsPkt64   = 8 // u64: packets of the basic attribute before it, once they no longer fit 32 bits
)

// gnetStats is what a nest of generic statistics holds.
type gnetStats struct {
	bytes, packets                             uint64
	packets64                                  bool
	qlen, backlog, drops, requeues, overlimits uint32
}

// decodeStats2 reads a nest of generic statistics. Short attributes are zero-filled, unknown ones skipped.
func decodeStats2(nest []byte) gnetStats {
	var s gnetStats
	a := attrs{rest: nest}
	hardware := false // the basic attribute seen last, which statsPkt64 belongs to
	for a.next() {
		switch a.typ {
		case statsBasic:
			hardware = false
			s.bytes = u64(a.data, 0)
			s.packets = uint64(u32(a.data, 8))
		case statsBasicHW:
			hardware = true
		case statsPkt64:
			if !hardware {
				s.packets, s.packets64 = u64(a.data, 0), true
			}
		case statsQueue:
			s.qlen = u32(a.data, 0)
			s.backlog = u32(a.data, 4)
			s.drops = u32(a.data, 8)
			s.requeues = u32(a.data, 12)
			s.overlimits = u32(a.data, 16)
		}
	}
	return s
}

// decodeStats reads the legacy struct tc_stats (include/uapi/linux/pkt_sched.h): u64 bytes, u32 packets,
// drops, overlimits, bps, pps, qlen, backlog. It has no requeues.
func decodeStats(b []byte) gnetStats {
	return gnetStats{
		bytes:      u64(b, 0),
		packets:    uint64(u32(b, 8)),
		drops:      u32(b, 12),
		overlimits: u32(b, 16),
		qlen:       u32(b, 28),
		backlog:    u32(b, 32),
	}
}

// fill puts the statistics into q.
func (s *gnetStats) fill(q *counters.Qdisc) {
	q.Bytes, q.Packets, q.Packets64 = s.bytes, s.packets, s.packets64
	q.Qlen, q.Backlog = s.qlen, s.backlog
	q.Drops, q.Requeues, q.Overlimits = s.drops, s.requeues, s.overlimits
}
