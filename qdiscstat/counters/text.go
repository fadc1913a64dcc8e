package counters

import (
	"fmt"
	"math"
	"strconv"
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
	if q.Options != nil {
		dst = q.Options.appendText(dst)
	}
	return append(dst, '\n')
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

// size writes bytes as print_size of iproute2 does: in Kb or Mb (of 1024) where that loses next to nothing.
func size(n uint32) string {
	const kilo, mega = 1024, 1024 * 1024
	f := float64(n)
	if m := math.RoundToEven(f / mega); n >= mega && math.Abs(mega*m-f) < kilo {
		return general(m) + "Mb"
	}
	if k := math.RoundToEven(f / kilo); n >= kilo && math.Abs(kilo*k-f) < 16 {
		return general(k) + "Kb"
	}
	return strconv.FormatUint(uint64(n), 10) + "b"
}

// rate writes bytes a second as print_rate of iproute2 does, in bits of powers of 1000.
func rate(bytesPerSecond uint64) string {
	const kilo = 1000
	bits := bytesPerSecond * 8
	units := []string{"", "K", "M", "G", "T"}
	i := 0
	for ; i < len(units)-1; i++ {
		if bits < kilo || bits%kilo != 0 && bits < 1000*kilo {
			break
		}
		bits /= kilo
	}
	return strconv.FormatUint(bits, 10) + units[i] + "bit"
}

// duration writes microseconds as sprint_time of iproute2 does.
func duration(us float64) string {
	switch {
	case us >= 1e6:
		return general3(us/1e6) + "s"
	case us >= 1e3:
		return general3(us/1e3) + "ms"
	}
	return general3(us) + "us"
}

// general is C's %g.
func general(f float64) string { return fmt.Sprintf("%.6g", f) }

// general3 is C's %.3g.
func general3(f float64) string { return fmt.Sprintf("%.3g", f) }
