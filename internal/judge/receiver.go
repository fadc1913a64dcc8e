package judge

import (
	"fmt"

	"bondrepro/reproducer/result"
)

// hopReceiver is the way through the network to a receiver on another machine. What stays on it is the network's or the
// receiver's loss: no verdict rests on it.
const hopReceiver = "slaves to receiver"

// Codes of warnings about a receiver.
const (
	warnReceiverMissing    = "receiver-missing"
	warnReceiverLost       = "receiver-lost"
	warnReceiverOverflow   = "receiver-overflowed"
	warnReceiverMore       = "receiver-saw-more"
	warnReceiverDuplicates = "receiver-duplicates"
)

// far is what a receiver counted of a run, over all senders and interfaces.
type far struct {
	unique, duplicates, reordered, overflow int64
	// again are numbers that came on a further interface, too.
	again int64
	lines int
}

// received is the receiver's account; false where there is none.
func (f *facts) received() (far, bool) {
	if f.rec.Receiver == nil || f.rec.Receiver.Received == nil {
		return far{}, false
	}
	w := f.rec.Receiver.Received.Wire
	r := far{lines: len(w.Slaves)}
	for _, s := range w.Senders {
		r.unique += int64(s.Unique)
		r.duplicates += int64(s.Duplicates)
		r.reordered += int64(s.Reordered)
		r.again += int64(s.Copies)
	}
	for _, l := range w.Slaves {
		r.overflow += int64(l.Overflow)
	}
	return r, true
}

// frames are all that came of this run.
func (r far) frames() int64 { return r.unique + r.duplicates + r.again }

// departed is how many different packets of the senders left the slaves, by the wire or by the slaves' counters, in words,
// and how many more that may be.
func (f *facts) departed() (n int64, text string, more int64) {
	if f.rec.Wire != nil {
		return f.unique, fmt.Sprintf("different numbers at the wire %d", f.unique), 0
	}
	tx := f.tx() - f.own()
	if f.broadcast() {
		most := int64(0)
		for i := range f.slaves {
			most = max(most, f.slaves[i].tx-f.slaves[i].own)
		}
		return most, fmt.Sprintf("tx_packets of the slave that sent most %d", most), max(0, min(f.into, tx)-most)
	}
	text = fmt.Sprintf("slaves' tx_packets %d", f.tx())
	if own := f.own(); own > 0 {
		text += fmt.Sprintf(" - slaves' own %d", own)
	}
	if foreign := f.into - f.ok - f.enobufs - f.hidden; foreign > 0 && foreign <= tx {
		tx -= foreign
		text += " - " + result.Plural(foreign, "foreign frame")
	}
	return tx, text, 0
}

// receiverHop compares different numbers, so that copies of broadcast mode, and those that a switch floods to a second
// interface, are no matter.
func receiverHop(f *facts, r far) result.Hop {
	left, text, more := f.departed()
	h := hop{Hop: result.Hop{Name: hopReceiver, LeftSum: left, RightSum: r.unique + r.overflow, Left: text,
		Right: fmt.Sprintf("different numbers at the receiver %d", r.unique)}}
	if r.overflow > 0 {
		h.Right += fmt.Sprintf(" + %d that overflowed there", r.overflow)
	}
	h.allowRight(more, fmt.Sprintf("up to %s that only another slave sent", result.Plural(more, "packet")))
	if f.broadcast() || r.lines > 1 { // the other copy may have been seen
		h.allowRight(r.overflow, fmt.Sprintf("up to %d of those that overflowed are copies", r.overflow))
	}
	out := h.close()
	say := func(text string) {
		if out.Note != "" {
			out.Note += "; "
		}
		out.Note += text
	}
	if out.Remainder > 0 {
		say("the remainder is the loss of the network between or of the receiver, and no fault of the bond")
	}
	if copies := r.duplicates + r.again; f.broadcast() && copies > 0 {
		say(fmt.Sprintf("%d more frames are copies, which broadcast mode sends out of every slave", copies))
	}
	return out
}

// receiver are the metrics of what reached a receiver.
func (f *facts) receiver(m metrics, l result.Ledger) {
	names := []string{"receiver.frames", "receiver.lost", "receiver.duplicates", "receiver.reordered", "receiver.overflow"}
	r, ok := f.received()
	switch {
	case f.rec.Receiver == nil:
		m.lack("no receiver on another machine was named (--receiver)", names...)
		return
	case !ok:
		m.lack(f.rec.Receiver.Missing, names...)
		return
	}
	m.set("receiver.frames", float64(r.frames()))
	m.set("receiver.overflow", float64(r.overflow))
	if f.broadcast() {
		m.lack("in broadcast mode every frame comes again out of the next slave", "receiver.duplicates", "receiver.reordered")
	} else {
		m.set("receiver.duplicates", float64(r.duplicates))
		m.set("receiver.reordered", float64(r.reordered))
	}
	if l.Available {
		m.set("receiver.lost", float64(max(0, receiverHop(f, r).Remainder)))
	} else {
		m.lack(l.Why, "receiver.lost")
	}
}

// receiverWarnings say what to look at when the far end of the network has another count than the slaves.
func receiverWarnings(r *result.Run) []result.Warning {
	var out []result.Warning
	add := func(code, format string, args ...any) {
		out = append(out, result.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	far := r.Recording.Receiver
	if far == nil {
		return nil
	}
	if far.Received == nil {
		add(warnReceiverMissing, "Nothing is known of what reached the receiver: %s.", far.Missing)
		return out
	}
	value := func(name string) int64 { return int64(r.Judgement.Metrics[name]) }
	for _, h := range r.Judgement.Ledger.Hops {
		switch {
		case h.Name != hopReceiver:
		case h.Remainder > 0 && value("receiver.frames") == 0:
			add(warnReceiverLost, "%d packets left the slaves and none reached the receiver: are the groups joined on the interface that the lines lead to, do switches between flood or snoop them (IGMP snooping without a querier), and does rp_filter let them in?", h.LeftSum)
		case h.Remainder > 0:
			add(warnReceiverLost, "%d of %d packets that left the slaves did not reach the receiver (%.3g %%): the network between or the receiver lost them. Look at the drops of switch ports, at IGMP snooping, at 'ethtool -S' of the receiver's ports (rx_missed, rx_no_buffer), and whether a line leads to an interface that was not named.",
				h.Remainder, h.LeftSum, 100*float64(h.Remainder)/float64(h.LeftSum))
		case h.Remainder < 0:
			add(warnReceiverMore, "The receiver saw %d packets more than the slaves counted: the counters of real ports lag behind what was sent.", -h.Remainder)
		}
	}
	if n := value("receiver.overflow"); n > 0 {
		add(warnReceiverOverflow, "%d packets reached the receiver's machine and overflowed its socket: raise net.core.rmem_max there, or let it have the right CAP_NET_ADMIN. They are no loss of the network.", n)
	}
	if n := value("receiver.duplicates"); n > 0 {
		add(warnReceiverDuplicates, "%d frames reached the receiver twice by one interface, which this mode does not do: the network between doubles them (a loop, two lines that flood into one), or the bond sent them twice.", n)
	}
	return out
}
