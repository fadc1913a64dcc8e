package counters

import "fmt"

// The order, the blanks and the omissions below are those of the print_qopt functions of iproute2 6.1
// (tc/q_prio.c, tc/q_tbf.c, tc/q_netem.c).

func (o *PfifoFast) appendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, " bands %d priomap", o.Bands)
	for _, band := range o.Priomap {
		dst = fmt.Appendf(dst, " %d", band)
	}
	if o.Multiqueue {
		dst = append(dst, " multiqueue: on"...)
	}
	return dst
}

func (o *TBF) appendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, " rate %s burst %s", rate(o.Rate), size(o.Burst))
	if o.Peakrate != 0 {
		dst = fmt.Appendf(dst, " peakrate %s", rate(o.Peakrate))
	}
	if o.Minburst != 0 {
		dst = fmt.Appendf(dst, " minburst %s", size(o.Minburst))
	}
	if o.Latency != nil {
		dst = append(dst, " lat "+microseconds(*o.Latency)...)
	} else {
		dst = append(dst, " limit "+size(o.Limit)...)
	}
	if o.Overhead != 0 {
		dst = fmt.Appendf(dst, " overhead %d", o.Overhead)
	}
	if o.Linklayer != "" {
		dst = append(dst, " linklayer "+o.Linklayer...)
	}
	return dst
}

func (o *Netem) appendText(dst []byte) []byte {
	dst = fmt.Appendf(dst, " limit %d", o.Limit)
	if d := o.Delay; d != nil {
		dst = append(dst, " delay "+seconds(d.Delay)...)
		if d.Jitter != 0 {
			dst = append(dst, "  "+seconds(d.Jitter)...)
			dst = appendCorrelation(dst, d.Correlation)
		}
	}
	if l := o.Loss; l != nil {
		dst = append(dst, " loss "+percent(l.Loss)...)
		dst = appendCorrelation(dst, l.Correlation)
	}
	if s := o.LossState; s != nil {
		dst = fmt.Appendf(dst, " loss state p13 %s p31 %s p32 %s p23 %s p14 %s",
			percent(s.P13), percent(s.P31), percent(s.P32), percent(s.P23), percent(s.P14))
	}
	if g := o.LossGEmodel; g != nil {
		dst = fmt.Appendf(dst, " loss gemodel p %s r %s 1-h %s 1-k %s",
			percent(g.P), percent(g.R), percent(g.OneMinusH), percent(g.OneMinusK))
	}
	if d := o.Duplicate; d != nil {
		dst = append(dst, " duplicate "+percent(d.Duplicate)...)
		dst = appendCorrelation(dst, d.Correlation)
	}
	if r := o.Reorder; r != nil {
		dst = append(dst, " reorder "+percent(r.Reorder)...)
		dst = appendCorrelation(dst, r.Correlation)
	}
	if c := o.Corrupt; c != nil {
		dst = append(dst, " corrupt "+percent(c.Corrupt)...)
		dst = appendCorrelation(dst, c.Correlation)
	}
	if r := o.Rate; r != nil {
		dst = append(dst, " rate "+rate(r.Rate)...)
		dst = appendNonZero(dst, "packetoverhead", int64(r.PacketOverhead))
		dst = appendNonZero(dst, "cellsize", int64(r.CellSize))
		dst = appendNonZero(dst, "celloverhead", int64(r.CellOverhead))
	}
	if s := o.Slot; s != nil {
		if s.Distribution != nil {
			dst = fmt.Appendf(dst, " slot distribution %s %s", nanoseconds(*s.Distribution), nanoseconds(*s.Jitter))
		} else {
			dst = fmt.Appendf(dst, " slot %s %s", nanoseconds(*s.MinDelay), nanoseconds(*s.MaxDelay))
		}
		dst = appendNonZero(dst, "packets", int64(s.Packets))
		dst = appendNonZero(dst, "bytes", int64(s.Bytes))
	}
	if o.ECN {
		dst = append(dst, " ecn"...)
		if o.Gap != 0 {
			dst = append(dst, ' ')
		}
	}
	return appendNonZero(dst, "gap", int64(o.Gap))
}

func appendCorrelation(dst []byte, c float64) []byte {
	if c == 0 {
		return dst
	}
	return append(dst, " "+percent(c)...)
}

func appendNonZero(dst []byte, label string, v int64) []byte {
	if v == 0 {
		return dst
	}
	return fmt.Appendf(dst, " %s %d", label, v)
}
