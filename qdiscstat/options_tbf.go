package qdiscstat

import "bondrepro/qdiscstat/counters"

// Attributes and layout of tbf's options (include/uapi/linux/pkt_sched.h).
const (
	tbfParms  = 1 // struct tc_tbf_qopt
	tbfRate64 = 4 // u64 bytes/s, when the u32 in the struct is too small
	tbfPeak64 = 5
)

// ratespec is struct tc_ratespec: u8 cell_log, u8 linklayer, u16 overhead, s16 cell_align, u16 mpu, u32 rate.
type ratespec struct {
	linklayer uint8
	overhead  uint16
	mpu       uint16
	rate      uint64 // bytes/s
}

const ratespecLen = 12

func decodeRatespec(b []byte, off int) ratespec {
	return ratespec{
		linklayer: u8(b, off+1) & 0x0f, // TC_LINKLAYER_MASK
		overhead:  u16(b, off+2),
		mpu:       u16(b, off+6),
		rate:      uint64(u32(b, off+8)),
	}
}

// linklayers are the link layers that tc names; it says nothing of the first two unless asked for details.
var linklayers = map[uint8]string{0: "", 1: "", 2: "atm"}

// decodeTBF reads TCA_TBF_PARMS (struct tc_tbf_qopt: two struct tc_ratespec, rate and peakrate, then u32 limit,
// buffer, mtu, the latter two in ticks) and the 64-bit rates. Burst and latency are worked out as tc does.
func decodeTBF(raw []byte) *counters.Options {
	var rate, peak ratespec
	var limit, buffer, mtu uint32
	for a := (attrs{rest: raw}); a.next(); {
		if a.typ == tbfParms {
			rate, peak = decodeRatespec(a.data, 0), decodeRatespec(a.data, ratespecLen)
			limit = u32(a.data, 2*ratespecLen)
			buffer = u32(a.data, 2*ratespecLen+4)
			mtu = u32(a.data, 2*ratespecLen+8)
		}
	}
	for a := (attrs{rest: raw}); a.next(); {
		switch a.typ {
		case tbfRate64:
			rate.rate = u64(a.data, 0)
		case tbfPeak64:
			peak.rate = u64(a.data, 0)
		}
	}
	o := &counters.TBF{
		Rate:     rate.rate,
		Burst:    transmitted(rate.rate, buffer),
		Peakrate: peak.rate,
		Limit:    limit,
		Overhead: int(rate.overhead),
	}
	latency := tbfLatency(limit, rate.rate, buffer)
	if peak.rate != 0 {
		latency = max(latency, tbfLatency(limit, peak.rate, mtu))
		if mtu != 0 || peak.mpu != 0 {
			o.Minburst = transmitted(peak.rate, mtu)
		}
	}
	if latency >= 0 && rate.rate != 0 {
		us := int64(latency)
		o.Latency = &us
	}
	if name, known := linklayers[rate.linklayer]; known {
		o.Linklayer = name
	} else {
		o.Linklayer = "unknown"
	}
	return &counters.Options{TBF: o}
}

// tbfLatency is the longest wait in microseconds: the time the limit takes at the rate, less that of a burst.
func tbfLatency(limit uint32, rate uint64, burst uint32) float64 {
	return 1e6*(float64(limit)/float64(rate)) - ticks(burst)
}
