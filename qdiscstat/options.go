package qdiscstat

import (
	"math"

	"bondrepro/qdiscstat/counters"
)

// optionDecoders maps a kind to the decoder of its TCA_OPTIONS. A decoder takes any bytes; what is missing is 0.
var optionDecoders = map[string]func(raw []byte) *counters.Options{
	"netem":      decodeNetem,
	"pfifo_fast": decodePfifoFast,
	"tbf":        decodeTBF,
}

// decodeOptions is nil for kinds that are not decoded, and for mq, which has none.
func decodeOptions(kind string, raw []byte) *counters.Options {
	decode, ok := optionDecoders[kind]
	if !ok || len(raw) == 0 {
		return nil
	}
	return decode(raw)
}

// decodePfifoFast reads struct tc_prio_qopt (s32 bands, u8 priomap[16]), which pfifo_fast_dump sends.
func decodePfifoFast(raw []byte) *counters.Options {
	const qoptLen, prioMQ = 20, 1 // TCA_PRIO_MQ
	o := &counters.PfifoFast{Bands: int(int32(u32(raw, 0)))}
	copy(o.Priomap[:], raw[min(4, len(raw)):])
	for a := (attrs{rest: raw[min(qoptLen, len(raw)):]}); a.next(); {
		if a.typ == prioMQ {
			o.Multiqueue = u8(a.data, 0) != 0
		}
	}
	return &counters.Options{PfifoFast: o}
}

// ticksPerMicrosecond is fixed since Linux 2.6.31: a tick of the packet scheduler is 64 ns (PSCHED_SHIFT 6,
// include/net/pkt_sched.h; the second over the first number of /proc/net/psched).
const ticksPerMicrosecond = 15.625

// ticks is a time in ticks as whole microseconds: tc cuts the rest off (tc_core_tick2time), and so do we, to
// say what tc says.
func ticks(n uint32) float64 { return math.Trunc(float64(n) / ticksPerMicrosecond) }

// transmitted is how many bytes go out in n ticks at a rate in bytes/s (tc_calc_xmitsize).
func transmitted(rate uint64, n uint32) uint32 { return clampU32(float64(rate) * ticks(n) / 1e6) }

func clampU32(f float64) uint32 {
	if f >= math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(f)
}
