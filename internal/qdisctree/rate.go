package qdisctree

import (
	"fmt"
	"math"
	"sort"
)

// tick is PSCHED_TICKS2NS(1): the unit, ns, in which tbf and htb tell bursts (include/net/pkt_sched.h).
const tick = 64

const (
	ratespecLen = 12 // struct tc_ratespec
	layerATM    = 2  // TC_LINKLAYER_ATM
	layerMask   = 0x0f
)

// rate is struct tc_ratespec with the 64-bit rate that goes with it.
type rate struct {
	layer         uint8
	overhead, mpu uint16 // bytes
	bytes         uint64 // a second
}

// rateOf reads the ratespec at off in a struct; wide is the attribute with the 64-bit rate, which may be missing.
func rateOf(b []byte, off int, wide []byte) rate {
	if len(b) < off+ratespecLen {
		return rate{}
	}
	b = b[off:]
	return rate{
		layer: b[1] & layerMask, overhead: u16(b, 2), mpu: u16(b, 6),
		bytes: max(uint64(u32(b, 8)), u64(wide, 0)),
	}
}

// time is how long so many bytes take, ns, computed as psched_ratecfg_precompute and psched_l2t_ns do.
func (r rate) time(size uint32) uint64 {
	mult, shift := uint64(1), 0
	for factor := uint64(1e9); r.bytes > 0; factor, shift = factor<<1, shift+1 {
		mult = factor / r.bytes
		if mult&(1<<31) != 0 || factor&(1<<63) != 0 {
			break
		}
	}
	n := max(uint64(size)+uint64(r.overhead), uint64(r.mpu))
	if r.layer == layerATM {
		n = (n + 47) / 48 * 53
	}
	return n * mult >> shift
}

// burst is the largest number of bytes whose time is dumped as so many ticks; false if there is none. The kernel
// does not dump the bytes it was given: of those it may have been, the largest lets every packet pass that passed.
func (r rate) burst(ticks uint32) (uint32, bool) {
	limit := sort.Search(1<<32-1, func(n int) bool { return r.time(uint32(n))/tick > uint64(ticks) })
	if limit == 0 || r.time(uint32(limit-1))/tick != uint64(ticks) {
		return 0, false
	}
	return uint32(limit - 1), true
}

// burstText is a burst as tc's argument. If no number of bytes is dumped as so many ticks, it is a near one.
func (r rate) burstText(ticks uint32) string {
	n, ok := r.burst(ticks)
	if !ok {
		n = uint32(float64(ticks) * tick * float64(r.bytes) / 1e9)
	}
	return octets(n)
}

// sizeText is the argument from which tc computes so many ticks: it takes whole microseconds of 15.625 ticks, and no link layer
// (tc_calc_xmittime, tc_core_time2tick, iproute2 tc/tc_core.c).
func (r rate) sizeText(ticks uint32) string {
	micro := math.Ceil(float64(ticks) / (1000. / tick))
	return fmt.Sprintf("%.0fb", math.Ceil(micro*float64(r.bytes)/1e6))
}

// words are what a rate has beside its bytes a second.
func (r rate) words() []string {
	var words []string
	if r.overhead != 0 {
		words = append(words, "overhead", fmt.Sprint(r.overhead))
	}
	if r.mpu != 0 {
		words = append(words, "mpu", fmt.Sprint(r.mpu))
	}
	if r.layer == layerATM {
		words = append(words, "linklayer", "atm")
	}
	return words
}
