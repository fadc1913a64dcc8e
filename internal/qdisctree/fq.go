package qdisctree

import "fmt"

// Attributes of fq (include/uapi/linux/pkt_sched.h).
const (
	fqQuantum     = 3  // TCA_FQ_QUANTUM
	fqRateEnable  = 5  // TCA_FQ_RATE_ENABLE
	fqHorizonDrop = 15 // TCA_FQ_HORIZON_DROP
)

// word is how one attribute with a number is written.
type word struct {
	name   string
	format func(v uint32) string
}

func number(v uint32) string   { return fmt.Sprint(v) }
func micros(v uint32) string   { return fmt.Sprintf("%dus", v) }
func octets(v uint32) string   { return fmt.Sprintf("%db", v) }
func byteRate(v uint32) string { return rateText(uint64(v)) }

// rateText writes bytes a second as tc takes them.
func rateText(bytesPerSecond uint64) string { return fmt.Sprintf("%dbit", bytesPerSecond*8) }

// fqTable are the attributes in the order in which tc shows them.
var fqTable = map[uint16]word{
	1:  {"limit", number},
	2:  {"flow_limit", number},
	3:  {"quantum", number},
	4:  {"initial_quantum", number},
	7:  {"maxrate", byteRate},
	8:  {"buckets", func(log uint32) string { return fmt.Sprint(uint64(1) << min(log, 63)) }},
	9:  {"refill_delay", micros},
	10: {"orphan_mask", number},
	11: {"low_rate_threshold", byteRate},
	12: {"ce_threshold", micros},
	13: {"timer_slack", func(ns uint32) string { return fmt.Sprintf("%dns", ns) }},
	14: {"horizon", micros},
}

// fqUnset are values that stand for "none" and can't be written.
var fqUnset = map[uint16]uint32{7: 0xffffffff, 12: 0xffffffff}

func fqWords(options []byte) []string {
	var words []string
	for typ, data := range attrs(options) {
		v := u32(data, 0)
		if unset, ok := fqUnset[typ]; ok && v == unset {
			continue
		}
		switch w, known := fqTable[typ]; {
		case known:
			words = append(words, w.name, w.format(v))
		case typ == fqRateEnable:
			words = append(words, map[bool]string{true: "pacing", false: "nopacing"}[v != 0])
		case typ == fqHorizonDrop:
			words = append(words, map[bool]string{true: "horizon_drop", false: "horizon_cap"}[len(data) > 0 && data[0] != 0])
		}
	}
	return words
}
