package qdisctree

import "fmt"

// Attributes of fq_codel (include/uapi/linux/pkt_sched.h).
const (
	fqCodelTarget    = 1
	fqCodelInterval  = 3
	fqCodelECN       = 4
	fqCodelThreshold = 7
	fqCodelQuantum   = 6
	fqCodelSelector  = 10
	fqCodelMask      = 11
)

// fqCodelSettings gives times that make those that were dumped. The kernel keeps them in units of 1024 ns and rounds down on the
// way in and on the way out (fq_codel_change, codel_time_to_us, include/net/codel.h): the 4999 µs that it
// shows for 5 ms would become 4998.
func fqCodelSettings(dumped []byte) []byte {
	var b []byte
	for typ, data := range attrs(dumped) {
		switch typ {
		case fqCodelTarget, fqCodelInterval, fqCodelThreshold:
			b = appendU32(b, typ, codelTime(u32(data, 0)))
		default:
			b = appendAttr(b, typ, data)
		}
	}
	return b
}

// codelTime is the least time, µs, that is dumped as the given one.
func codelTime(dumped uint32) uint32 {
	units := (uint64(dumped)*1000 + 1023) / 1024
	return uint32((units*1024 + 999) / 1000)
}

var fqCodelTable = map[uint16]word{
	fqCodelTarget:    {"target", micros},
	2:                {"limit", number},
	fqCodelInterval:  {"interval", micros},
	5:                {"flows", number},
	fqCodelQuantum:   {"quantum", number},
	fqCodelThreshold: {"ce_threshold", micros},
	8:                {"drop_batch", number},
	9:                {"memory_limit", octets},
}

func fqCodelWords(options []byte) []string {
	var words []string
	for typ, data := range attrs(options) {
		switch w, known := fqCodelTable[typ]; {
		case known:
			words = append(words, w.name, w.format(u32(data, 0)))
		case typ == fqCodelECN:
			words = append(words, map[bool]string{true: "ecn", false: "noecn"}[u32(data, 0) != 0])
		}
	}
	return append(words, selectorWords(options)...)
}

// selectorWords are those of the DSCP values that the threshold is for (Linux 5.16).
func selectorWords(options []byte) []string {
	selector, mask := find(options, fqCodelSelector), find(options, fqCodelMask)
	if len(selector) == 0 || len(mask) == 0 || mask[0] == 0 {
		return nil
	}
	return []string{"ce_threshold_selector", fmt.Sprintf("%#x/%#x", selector[0], mask[0])}
}
