package qdisctree

// Attributes of tbf (include/uapi/linux/pkt_sched.h).
const (
	tbfParms    = 1
	tbfRate64   = 4
	tbfPeak64   = 5
	tbfBurst    = 6
	tbfPeakSize = 7 // TCA_TBF_PBURST
)

// Offsets in struct tc_tbf_qopt { rate, peakrate tc_ratespec; limit, buffer, mtu u32 }.
const (
	tbfRateAt   = 0
	tbfPeakAt   = 12
	tbfLimitAt  = 24
	tbfBufferAt = 28
	tbfMTUAt    = 32
)

// tbfSettings adds the bursts in bytes. Without them tbf computes its largest packet from ticks, rounded down, and might drop packets that passed before.
func tbfSettings(dumped []byte) []byte {
	var b []byte
	for typ, data := range attrs(dumped) {
		switch typ {
		case tbfParms, tbfRate64, tbfPeak64:
			b = appendAttr(b, typ, data)
		}
	}
	parms := find(dumped, tbfParms)
	if size, ok := tbfRate(dumped).burst(u32(parms, tbfBufferAt)); ok {
		b = appendU32(b, tbfBurst, size)
	}
	if peak := tbfPeak(dumped); peak.bytes > 0 {
		if size, ok := peak.burst(u32(parms, tbfMTUAt)); ok {
			b = appendU32(b, tbfPeakSize, size)
		}
	}
	return b
}

func tbfRate(b []byte) rate { return rateOf(find(b, tbfParms), tbfRateAt, find(b, tbfRate64)) }
func tbfPeak(b []byte) rate { return rateOf(find(b, tbfParms), tbfPeakAt, find(b, tbfPeak64)) }

func tbfWords(options []byte) []string {
	parms, r, peak := find(options, tbfParms), tbfRate(options), tbfPeak(options)
	words := []string{"rate", rateText(r.bytes), "burst", r.burstText(u32(parms, tbfBufferAt)), "limit", octets(u32(parms, tbfLimitAt))}
	if peak.bytes > 0 {
		words = append(words, "peakrate", rateText(peak.bytes), "mtu", peak.burstText(u32(parms, tbfMTUAt)))
	}
	return append(words, r.words()...)
}
