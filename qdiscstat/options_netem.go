package qdiscstat

import (
	"math"

	"bondrepro/qdiscstat/counters"
)

// Attributes of netem's options that tc prints (include/uapi/linux/pkt_sched.h).
const (
	netemCorr    = 1  // struct tc_netem_corr: u32 delay, loss, dup
	netemReorder = 3  // struct tc_netem_reorder: u32 probability, correlation
	netemCorrupt = 4  // struct tc_netem_corrupt: u32 probability, correlation
	netemLoss    = 5  // a nest
	netemRate    = 6  // struct tc_netem_rate: u32 rate, s32 packet_overhead, u32 cell_size, s32 cell_overhead
	netemECN     = 7  // u32; its presence counts
	netemRate64  = 8  // u64
	netemSlot    = 12 // struct tc_netem_slot: s64 min, max, s32 packets, bytes, s64 dist_delay, dist_jitter

	netemLossGI = 1 // struct tc_netem_gimodel: u32 p13, p31, p32, p14, p23
	netemLossGE = 2 // struct tc_netem_gemodel: u32 p, r, h, k1
)

// decodeNetem reads struct tc_netem_qopt (u32 latency, limit, loss, gap, duplicate, jitter; times in ticks) and
// the attributes after it.
func decodeNetem(raw []byte) *counters.Options {
	const qoptLen = 24
	latency, loss, duplicate, jitter := u32(raw, 0), u32(raw, 8), u32(raw, 16), u32(raw, 20)
	o := &counters.Netem{Limit: u32(raw, 4), Gap: u32(raw, 12)}

	var corr []byte
	var rate64 uint64
	for a := (attrs{rest: raw[min(qoptLen, len(raw)):]}); a.next(); {
		p, c := u32(a.data, 0), fraction(u32(a.data, 4))
		switch a.typ {
		case netemCorr:
			corr = a.data
		case netemReorder:
			if p != 0 {
				o.Reorder = &counters.NetemReorder{Reorder: fraction(p), Correlation: c}
			}
		case netemCorrupt:
			if p != 0 {
				o.Corrupt = &counters.NetemCorrupt{Corrupt: fraction(p), Correlation: c}
			}
		case netemLoss:
			decodeNetemLoss(o, a.data)
		case netemRate:
			if p != 0 {
				o.Rate = &counters.NetemRate{Rate: uint64(p), PacketOverhead: int32(u32(a.data, 4)),
					CellSize: u32(a.data, 8), CellOverhead: int32(u32(a.data, 12))}
			}
		case netemECN:
			o.ECN = true
		case netemRate64:
			rate64 = u64(a.data, 0)
		case netemSlot:
			o.Slot = decodeNetemSlot(a.data)
		}
	}
	if o.Rate != nil && rate64 != 0 {
		o.Rate.Rate = rate64
	}
	if latency != 0 {
		o.Delay = &counters.NetemDelay{Delay: ticks(latency) / 1e6, Jitter: ticks(jitter) / 1e6,
			Correlation: fraction(u32(corr, 0))}
	}
	if loss != 0 {
		o.Loss = &counters.NetemLoss{Loss: fraction(loss), Correlation: fraction(u32(corr, 4))}
	}
	if duplicate != 0 {
		o.Duplicate = &counters.NetemDup{Duplicate: fraction(duplicate), Correlation: fraction(u32(corr, 8))}
	}
	return &counters.Options{Netem: o}
}

// fraction maps 0..2^32-1 to 0..1.
func fraction(n uint32) float64 { return float64(n) / math.MaxUint32 }

func decodeNetemLoss(o *counters.Netem, nest []byte) {
	for a := (attrs{rest: nest}); a.next(); {
		at := func(i int) float64 { return fraction(u32(a.data, 4*i)) }
		switch a.typ {
		case netemLossGI:
			o.LossState = &counters.NetemState{P13: at(0), P31: at(1), P32: at(2), P14: at(3), P23: at(4)}
		case netemLossGE:
			o.LossGEmodel = &counters.NetemGE{P: at(0), R: at(1),
				OneMinusH: fraction(math.MaxUint32 - u32(a.data, 8)), OneMinusK: at(3)}
		}
	}
}

func decodeNetemSlot(b []byte) *counters.NetemSlot {
	s := &counters.NetemSlot{Packets: int32(u32(b, 16)), Bytes: int32(u32(b, 20))}
	seconds := func(off int) *float64 {
		v := float64(int64(u64(b, off))) / 1e9
		return &v
	}
	if int64(u64(b, 32)) > 0 {
		s.Distribution, s.Jitter = seconds(24), seconds(32)
	} else {
		s.MinDelay, s.MaxDelay = seconds(0), seconds(8)
	}
	return s
}
