package counters

import (
	"fmt"
	"strconv"
	"time"
)

// Text is the qdisc as `tc -s qdisc show` prints it (iproute2 6.1), ending in a newline, without the
// trailing blanks of tc. Options show where they were asked for and are of a kind that is decoded.
func (q *Qdisc) Text() string { return string(q.AppendText(nil)) }

// AppendText appends Text to dst.
func (q *Qdisc) AppendText(dst []byte) []byte {
	dst = q.appendHead(dst)
	dst = q.AppendCounters(dst)
	return dst
}

// appendHead appends the first line: kind, handle, device, place and options.
func (q *Qdisc) appendHead(dst []byte) []byte {
	dst = fmt.Appendf(dst, "qdisc %s %x: dev %s", q.Kind, q.Handle>>16, q.device())
	switch {
	case q.Root():
		dst = append(dst, " root"...)
	case q.Parent != 0:
		dst = append(dst, " parent "+classID(q.Parent)...)
	}
	if q.Refcnt != 1 { // tc leaves the common value out
		dst = fmt.Appendf(dst, " refcnt %d", q.Refcnt)
	}
	return append(q.Options.kind().appendText(dst), '\n')
}

// device names the device; one that went away before its name was read is "ifN", as in iproute2.
func (q *Qdisc) device() string {
	if q.Dev != "" {
		return q.Dev
	}
	return "if" + strconv.Itoa(q.Ifindex)
}

// AppendCounters appends the two lines of counters.
func (q *Qdisc) AppendCounters(dst []byte) []byte {
	dst = fmt.Appendf(dst, " Sent %d bytes %d pkt (dropped %d, overlimits %d requeues %d)\n",
		q.Bytes, q.Packets, q.Drops, q.Overlimits, q.Requeues)
	return fmt.Appendf(dst, " backlog %s %dp requeues %d\n", size(q.Backlog), q.Qlen, q.Requeues)
}

// AppendText appends one line that says what was counted in a span of time: a negative count never shows. reset
// is that of Delta.
func (d Diff) AppendText(dst []byte, span time.Duration, reset bool) []byte {
	dst = fmt.Appendf(dst, " in %v: %d bytes %d pkt (dropped %d, overlimits %d requeues %d)",
		span, d.Bytes, d.Packets, d.Drops, d.Overlimits, d.Requeues)
	if reset {
		dst = append(dst, " since it was replaced"...)
	}
	return append(dst, '\n')
}
