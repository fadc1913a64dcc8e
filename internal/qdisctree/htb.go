package qdisctree

import "fmt"

// Attributes of htb (include/uapi/linux/pkt_sched.h).
const (
	htbParms      = 1
	htbInit       = 2
	htbDirectQlen = 5
	htbRate64     = 6
	htbCeil64     = 7
	htbPad        = 8
	htbOffload    = 9
)

// Offsets in struct tc_htb_glob { version, rate2quantum, defcls, debug, direct_pkts u32 }.
const (
	htbVersionAt = 0
	htbR2QAt     = 4
	htbDefaultAt = 8
	htbDirectAt  = 16
)

// htbVersion is what setting wants; a dump says 0x30011 (HTB_VER; htb_init, net/sched/sch_htb.c).
const htbVersion = 3

// Offsets in struct tc_htb_opt { rate, ceil tc_ratespec; buffer, cbuffer, quantum, level, prio u32 }.
const (
	htbRateAt    = 0
	htbCeilAt    = 12
	htbBufferAt  = 24
	htbCbufferAt = 28
	htbQuantumAt = 32
	htbLevelAt   = 36
	htbPrioAt    = 40
)

// htbSettings sets the version and leaves out the counter of packets that met no class.
func htbSettings(dumped []byte) []byte {
	var b []byte
	for typ, data := range attrs(dumped) {
		if typ == htbInit {
			data = put32(put32(data, htbVersionAt, htbVersion), htbDirectAt, 0)
		}
		if typ != htbPad {
			b = appendAttr(b, typ, data)
		}
	}
	return b
}

// htbClassSettings leaves out the level, which follows from the classes below (htb_change_class).
func htbClassSettings(dumped []byte) []byte {
	var b []byte
	for typ, data := range attrs(dumped) {
		if typ == htbParms {
			data = put32(data, htbLevelAt, 0)
		}
		if typ != htbPad {
			b = appendAttr(b, typ, data)
		}
	}
	return b
}

// htbUnable finds htb that is done by the NIC (Linux 5.12): it takes the NIC's queues, which nothing here gives back.
func htbUnable(dumped []byte) []string {
	if find(dumped, htbOffload) != nil {
		return []string{"offload"}
	}
	return nil
}

func htbWords(options []byte) []string {
	glob := find(options, htbInit)
	words := []string{"default", fmt.Sprintf("%#x", u32(glob, htbDefaultAt)), "r2q", number(u32(glob, htbR2QAt))}
	if direct := find(options, htbDirectQlen); direct != nil {
		words = append(words, "direct_qlen", number(u32(direct, 0)))
	}
	return words
}

func htbClassWords(options []byte) []string {
	parms := find(options, htbParms)
	r, ceil := rateOf(parms, htbRateAt, find(options, htbRate64)), rateOf(parms, htbCeilAt, find(options, htbCeil64))
	words := []string{
		"rate", rateText(r.bytes), "burst", r.sizeText(u32(parms, htbBufferAt)),
		"ceil", rateText(ceil.bytes), "cburst", ceil.sizeText(u32(parms, htbCbufferAt)),
		"prio", number(u32(parms, htbPrioAt)), "quantum", number(u32(parms, htbQuantumAt)),
	}
	return append(words, r.words()...)
}
