package judge

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// Headers of an IPv4 and an IPv6 datagram with UDP, bytes.
const (
	headersV4 = 20 + 8
	headersV6 = 40 + 8
)

// Names of hops. Those of a slave are followed by its name.
const (
	hopOffered    = "offered"
	hopInto       = "into the bond"
	hopThrough    = "through the bond"
	hopDriver     = "qdisc to driver"
	hopWire       = "driver to wire"
	hopGaps       = "gaps at the wire"
	hopDuplicates = "duplicates at the wire"
)

// ledger accounts for every packet, hop by hop.
func ledger(f *facts) result.Ledger {
	if why := noLedger(f); why != "" {
		return result.Ledger{Why: why}
	}
	l := result.Ledger{Available: true}
	offered, into, foreign := offeredHop(f), hop{}, max(0, f.foreign-f.own())
	if f.rec.Wire == nil {
		foreign = f.unnamed()
	}
	into, foreign = intoHop(f, foreign)
	l.Hops = append(l.Hops, offered, into.Hop, throughHop(f, foreign))
	for i := range f.slaves {
		l.Hops = append(l.Hops, driverHop(f, i))
	}
	if f.rec.Wire != nil {
		for i := range f.slaves {
			l.Hops = append(l.Hops, wireHop(f, i))
		}
		l.Hops = append(l.Hops, gapsHop(f), duplicatesHop(f))
	}
	if far, ok := f.received(); ok {
		l.Hops = append(l.Hops, receiverHop(f, far))
	}
	return l
}

// noLedger tells why packets are not sends here, or why counters do not hold; "" when there is a ledger.
func noLedger(f *facts) string {
	if f.sc.Traffic.Socket.GSO > 0 {
		return "no ledger with GSO: one send becomes many packets"
	}
	mtu := f.rec.Bond.MTU
	if mtu == 0 {
		mtu = f.sc.Topology.MTU
	}
	headers := headersV4
	if f.sc.Traffic.IPv6() {
		headers = headersV6
	}
	if mtu > 0 && f.sc.Traffic.Payload+headers > mtu {
		return fmt.Sprintf("no ledger beyond the MTU: a payload of %d bytes does not fit %d", f.sc.Traffic.Payload, mtu)
	}
	if how, yes := f.qdiscReplaced(); yes {
		return "no ledger over a replaced qdisc: " + how
	}
	// A slave that goes down empties its queue without counting, and in broadcast mode changes the number of copies.
	if how, yes := f.slaveChanged(); yes {
		return "no ledger over a slave's change of state: " + how
	}
	return ""
}

// hop is one equation under construction: what is within [low, high] of left - right is explained by notes.
type hop struct {
	result.Hop
	low, high int64
	notes     []note
}

// note says what one side may have more.
type note struct {
	text string
	left bool
}

// allowLeft explains up to n that the left side has more than the right; allowRight is its counterpart.
func (h *hop) allowLeft(n int64, why string) {
	if n > 0 {
		h.high += n
		h.notes = append(h.notes, note{why, true})
	}
}

func (h *hop) allowRight(n int64, why string) {
	if n > 0 {
		h.low -= n
		h.notes = append(h.notes, note{why, false})
	}
}

// close sets the remainder, and says what explains the rest of a difference. Only what makes the greater side greater explains it.
func (h *hop) close() result.Hop {
	d := h.LeftSum - h.RightSum
	switch {
	case d > h.high:
		h.Remainder = d - h.high
	case d < h.low:
		h.Remainder = d - h.low
	}
	var why []string
	for _, n := range h.notes {
		if d != 0 && n.left == (d > 0) {
			why = append(why, n.text)
		}
	}
	switch {
	case len(why) == 0:
	case h.Remainder != 0:
		h.Note = fmt.Sprintf("%d of the difference of %d: %s", size(d-h.Remainder), size(d), strings.Join(why, "; "))
	default:
		h.Note = fmt.Sprintf("the difference of %d: %s", size(d), strings.Join(why, "; "))
	}
	return h.Hop
}

// size is n without its sign.
func size(n int64) int64 { return max(n, -n) }

func offeredHop(f *facts) result.Hop {
	// Two counts of the sender's own: numbers it used up, and what became of each send.
	h := hop{Hop: result.Hop{Name: hopOffered, LeftSum: f.seqs + f.eagain + f.other, RightSum: f.offered(),
		Left:  fmt.Sprintf("numbers consumed %d + EAGAIN %d + other errors %d", f.seqs, f.eagain, f.other),
		Right: fmt.Sprintf("ok %d + ENOBUFS %d + EAGAIN %d + other errors %d", f.ok, f.enobufs, f.eagain, f.other)}}
	h.allowLeft(f.hidden, fmt.Sprintf("up to %s used up by batches that ended short, each of which hides one EAGAIN or ENOBUFS", result.Plural(f.hidden, "number")))
	return h.close()
}

// intoHop also returns how many foreign frames are left to explain later hops: those that went through the
// bond are in its clsact counter, those that slaves sent past it are not.
func intoHop(f *facts, foreign int64) (hop, int64) {
	h := hop{Hop: result.Hop{Name: hopInto, LeftSum: f.ok + f.enobufs, RightSum: f.into,
		Left:  fmt.Sprintf("ok %d + ENOBUFS %d", f.ok, f.enobufs),
		Right: fmt.Sprintf("into the bond %d", f.into)}}
	h.allowRight(f.hidden, fmt.Sprintf("up to %d hidden ENOBUFS entered the bond", f.hidden))
	used := min(foreign, max(0, h.RightSum-h.LeftSum-f.hidden))
	if used > 0 {
		h.RightSum -= used
		h.Right += " - " + result.Plural(used, "foreign frame")
	}
	h.close()
	return h, foreign - used
}

func throughHop(f *facts, foreign int64) result.Hop {
	sent := f.sum(func(s *slaveFacts) int64 { return int64(s.diff.Packets) })
	h := hop{Hop: result.Hop{Name: hopThrough, LeftSum: f.into * f.copies(),
		RightSum: sent + f.qdiscDropped() + f.left() + f.netemDropped() + f.netemLeft() - f.own(),
		Left:     fmt.Sprintf("into the bond %d", f.into),
		Right:    fmt.Sprintf("slaves' sent %d + dropped %d + backlog %d", sent, f.qdiscDropped(), f.left())}}
	if f.copies() != 1 {
		h.Left += fmt.Sprintf(" × %d slaves", f.copies())
	}
	if f.netem != nil {
		h.Right += fmt.Sprintf(" + netem's dropped %d + backlog %d", f.netemDropped(), f.netemLeft())
	}
	if own := f.own(); own > 0 {
		h.Right += fmt.Sprintf(" - slaves' own %d", own)
	}
	h.allowRight(foreign, fmt.Sprintf("up to %s sent past the bond", result.Plural(foreign, "foreign frame")))
	// sch_direct_xmit puts back what the driver refused: counted as sent at its first dequeue, and backlog again.
	h.allowRight(f.left(), fmt.Sprintf("up to %s put back, sent and backlog at once", result.Plural(f.left(), "packet")))
	return h.close()
}

func driverHop(f *facts, i int) result.Hop {
	s := &f.slaves[i]
	h := hop{Hop: result.Hop{Name: hopDriver + " " + f.name(i), LeftSum: int64(s.diff.Packets), RightSum: s.tx + s.txDropped,
		Left:  fmt.Sprintf("qdisc sent %d", s.diff.Packets),
		Right: fmt.Sprintf("tx_packets %d", s.tx)}}
	if s.txDropped > 0 {
		h.Right += fmt.Sprintf(" + dropped by the driver %d", s.txDropped)
	}
	if f.waiting() {
		h.allowLeft(int64(f.rec.Slaves[i].Ring)+s.left, "the ring was not empty at the end")
	}
	if !f.rec.Slaves[i].CountsCompletions { // it is the device that counts
		h.allowLeft(int64(f.rec.Slaves[i].Ring), "the device's counter may lag by what its ring holds")
		h.allowRight(f.unnamed(), "the device may send of itself")
	}
	return h.close()
}

// unnamed bounds how many frames of others may be among ours where nothing at the other end of the lines names them: LACPDUs,
// ARP, LLDP, IGMP, and what a device's firmware sends; with an ARP monitor at its usual pace some ten a second and slave.
func (f *facts) unnamed() int64 {
	const atOnce, aSecond = 16, 12
	seconds := (f.elapsedMS() + f.rec.Drain.TookMS) / 1000
	return atOnce + int64(aSecond*seconds*float64(len(f.slaves)))
}

func wireHop(f *facts, i int) result.Hop {
	s := &f.slaves[i]
	h := hop{Hop: result.Hop{Name: hopWire + " " + f.name(i), LeftSum: s.tx, RightSum: s.wireOurs + s.wireForeign,
		Left:  fmt.Sprintf("tx_packets %d", s.tx),
		Right: fmt.Sprintf("frames at the wire %d ours + %d foreign", s.wireOurs, s.wireForeign)}}
	if s.overflow > 0 { // they came, and the receiving socket had no room
		h.RightSum += s.overflow
		h.Right += fmt.Sprintf(" + %d that overflowed", s.overflow)
	}
	// The wire counts from before the bond was built until it is gone, the counters from quiet to quiet.
	h.allowRight(s.wireForeign, fmt.Sprintf("up to %s came before or after the counters were read", result.Plural(s.wireForeign, "foreign frame")))
	return h.close()
}

// gapsHop is evidence, not a counter: sequence numbers that no line saw against drops that were counted.
func gapsHop(f *facts) result.Hop {
	missing := f.seqs*f.copies() - f.unique - f.copiesSeen
	known := f.dropped() + f.left() + f.netemLeft() + f.overflow()
	h := hop{Hop: result.Hop{Name: hopGaps, LeftSum: missing, RightSum: known,
		Left:  fmt.Sprintf("sequence numbers consumed %d - seen %d = missing %d", f.seqs*f.copies(), f.unique+f.copiesSeen, missing),
		Right: fmt.Sprintf("counted drops and backlog %d", known)}}
	if n := f.overflow(); n > 0 {
		h.Right = fmt.Sprintf("counted drops, backlog and overflow %d", known)
	}
	// A number given to a send that a short batch or another error refused reached no packet; one sent again after a
	// hidden ENOBUFS fills the gap of a counted drop.
	spare := f.seqs - f.ok - f.enobufs
	h.allowLeft(spare*f.copies(), fmt.Sprintf("up to %s consumed by sends that were refused", result.Plural(spare*f.copies(), "number")))
	h.allowLeft(f.inRing(), fmt.Sprintf("up to %s in rings", result.Plural(f.inRing(), "packet")))
	// Foreign frames are dropped too, and a number sent again fills a gap.
	h.allowRight(known-missing, "fewer gaps than drops prove no loss")
	return h.close()
}

func duplicatesHop(f *facts) result.Hop {
	h := hop{Hop: result.Hop{Name: hopDuplicates, LeftSum: 0, RightSum: f.duplicates,
		Left:  "expected 0",
		Right: fmt.Sprintf("frames whose number was seen before %d", f.duplicates)}}
	return h.close()
}
