package judge

import (
	"sort"

	"bondrepro/reproducer/result"
)

// metrics are the values of the metric table (scenarios.Metrics says what each means). What can't be had here is absent.
func metrics(f *facts, l result.Ledger, b balance, o result.Oracle, s *result.Spread) map[string]float64 {
	m := map[string]float64{
		"offered":                  float64(f.offered()),
		"ok":                       float64(f.ok),
		"eagain":                   float64(f.eagain),
		"enobufs":                  float64(f.enobufs),
		"errors":                   float64(f.other),
		"into":                     float64(f.into),
		"slaves.qdisc.sent":        float64(f.sum(func(s *slaveFacts) int64 { return int64(s.diff.Packets) })),
		"slaves.qdisc.dropped":     float64(f.qdiscDropped()),
		"slaves.qdisc.requeues":    float64(f.requeues()),
		"slaves.qdisc.overlimits":  float64(f.sum(func(s *slaveFacts) int64 { return int64(s.diff.Overlimits) })),
		"slaves.qdisc.max_qlen":    f.greatest(func(s *result.SlaveSeries) []uint32 { return s.Qlen }),
		"slaves.qdisc.max_backlog": f.greatest(func(s *result.SlaveSeries) []uint32 { return s.Backlog }),
		"slaves.tx_packets":        float64(f.tx()),
		"bond.tx_packets":          float64(f.rec.After.BondTx - f.rec.Before.BondTx),
		"outq.max":                 float64(f.greatestOutq()),
		"blocked.share":            f.blockedShare(),
		"drain.ms":                 f.rec.Drain.TookMS,
		"drain.quiet":              number(f.rec.Drain.Quiet),
	}
	f.rates(m)
	f.shares(m, s)
	f.queueMetrics(m)
	f.failover(m)
	if f.hidden == 0 { // else nobody knows how many were told
		m["drops.untold"] = float64(f.qdiscDropped() - f.enobufs)
	}
	if f.sc.Traffic.Burst.Packets > 0 {
		m["slaves.qdisc.stuck"] = float64(f.stalledPolls())
	}
	if f.hasFlows() {
		m["wire.crossed"] = float64(f.crossed)
	}
	if f.rec.Wire != nil {
		m["wire.frames"] = float64(f.sum(func(s *slaveFacts) int64 { return s.wireOurs }))
		m["wire.foreign"] = float64(f.foreign + f.stale)
		m["wire.duplicates"] = float64(f.duplicates)
		m["wire.reordered"] = float64(f.reordered)
		m["wire.overflow"] = float64(f.overflow())
		if f.sc.Traffic.Socket.GSO == 0 { // a drop then is many numbers
			m["wire.lost"] = float64(gapsHop(f).Remainder)
		}
	}
	if l.Available {
		m["ledger.remainder"] = float64(b.lost + b.doubled)
	}
	if o.Available && o.Samples > 0 {
		m["uncharged.median"], m["uncharged.max"], m["in_flight.median"] = o.Median, o.Max, o.InFlight
	}
	if o.Available && o.Samples >= leastSamples {
		m["orphaned"] = number(o.Orphaned)
	}
	return m
}

// rates are sums: achieved over all slaves, line over those that carry traffic, offered from the bond's counter.
func (f *facts) rates(m map[string]float64) {
	var achieved, full float64
	measured := false
	for i := range f.slaves {
		if r, ok := f.achieved(i); ok {
			achieved, measured = achieved+r, true
		}
	}
	for _, l := range f.lines() {
		full += l.rate
	}
	m["rate.line"] = full
	if measured {
		m["rate.achieved"] = achieved
	}
	if r, ok := f.polled(f.rec.Series.Into, 8*f.frameBytes()); ok {
		m["rate.offered"] = r
	}
}

// greatest is the greatest reading of any slave.
func (f *facts) greatest(column func(*result.SlaveSeries) []uint32) float64 {
	var m uint32
	for i := range f.rec.Series.Slaves {
		for _, v := range column(&f.rec.Series.Slaves[i]) {
			m = max(m, v)
		}
	}
	return float64(m)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

type namedCount struct {
	name  string
	count uint64
}

// sortedErrors are the other errors of all senders, by name.
func sortedErrors(senders []result.Sender) []namedCount {
	sum := map[string]uint64{}
	for _, s := range senders {
		for name, n := range s.Other {
			sum[name] += n
		}
	}
	return sorted(sum)
}

// sorted lists a map by name.
func sorted(sum map[string]uint64) []namedCount {
	out := make([]namedCount, 0, len(sum))
	for name, n := range sum {
		out = append(out, namedCount{name, n})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}
