package judge

import (
	"fmt"
	"sort"

	"bondrepro/reproducer/result"
)

// metrics are the values of the metric table (scenarios.Metrics says what each means), and why those are absent that
// can't be had here.
type metrics struct {
	values map[string]float64
	absent map[string]string
}

func (m metrics) set(name string, v float64) { m.values[name] = v }

func (m metrics) lack(why string, names ...string) {
	for _, name := range names {
		m.absent[name] = why
	}
}

// Reasons that several metrics share.
const (
	noFlows       = "nothing of ours came out of a line, or the recording is too old to tell flows apart"
	noWire        = "nothing listens at the other end of the slaves"
	noGapsWithGSO = "with GSO a drop is many numbers"
)

// measured are the metrics of a run.
func measured(f *facts, l result.Ledger, b balance, o result.Oracle, s *result.Spread) metrics {
	m := metrics{absent: map[string]string{}, values: map[string]float64{
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
	}}
	f.rates(m)
	f.shares(m, s)
	f.queueMetrics(m)
	f.failover(m)
	f.wire(m)
	f.receiver(m, l)
	f.told(m)
	f.stuckMetric(m)
	if l.Available {
		m.set("ledger.remainder", float64(b.lost+b.doubled))
	} else {
		m.lack(l.Why, "ledger.remainder")
	}
	m.lack(o.Why, "uncharged.median", "uncharged.max", "in_flight.median", "orphaned")
	if o.Available && o.Samples > 0 {
		m.set("uncharged.median", o.Median)
		m.set("uncharged.max", o.Max)
		m.set("in_flight.median", o.InFlight)
	}
	if o.Available && o.Samples >= leastSamples {
		m.set("orphaned", number(o.Orphaned))
	}
	return m
}

// told is how many drops no send was told of.
func (f *facts) told(m metrics) {
	switch {
	case f.hidden > 0:
		m.lack(fmt.Sprintf("%d batches ended short, which hides what their sends were told", f.hidden), "drops.untold")
	case f.qdiscDropped() == 0:
		m.lack("nothing was dropped", "drops.untold")
	default:
		m.set("drops.untold", float64(f.qdiscDropped()-f.enobufs))
	}
}

// wire are the metrics of what came out.
func (f *facts) wire(m metrics) {
	if f.rec.Wire == nil {
		m.lack(noWire, "wire.frames", "wire.foreign", "wire.duplicates", "wire.reordered", "wire.overflow", "wire.lost", "wire.crossed")
		return
	}
	m.set("wire.frames", float64(f.sum(func(s *slaveFacts) int64 { return s.wireOurs })))
	m.set("wire.foreign", float64(f.foreign+f.stale))
	m.set("wire.duplicates", float64(f.duplicates))
	m.set("wire.reordered", float64(f.reordered))
	m.set("wire.overflow", float64(f.overflow()))
	switch how, changed := f.slaveChanged(); {
	case f.sc.Traffic.Socket.GSO > 0:
		m.lack(noGapsWithGSO, "wire.lost")
	case f.broadcast() && changed:
		m.lack("in broadcast mode the number of copies follows the slaves that are up: "+how, "wire.lost")
	default:
		m.set("wire.lost", float64(gapsHop(f).Remainder))
	}
	switch {
	case f.broadcast():
		m.lack("in broadcast mode every frame comes again on the next line", "wire.crossed")
	case !f.hasFlows():
		m.lack(noFlows, "wire.crossed")
	default:
		m.set("wire.crossed", float64(f.crossed))
	}
}

// rates are sums: achieved over all slaves, line over those that carry traffic, offered from the bond's counter.
func (f *facts) rates(m metrics) {
	const tooFew = "too few readings after warm-up"
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
	m.set("rate.line", full)
	m.lack(tooFew, "rate.achieved", "rate.offered")
	if measured {
		m.set("rate.achieved", achieved)
	}
	if r, ok := f.polled(f.rec.Series.Into, 8*f.frameBytes()); ok {
		m.set("rate.offered", r)
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
