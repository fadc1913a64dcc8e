package measure

import (
	"time"

	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
)

// sampler turns readings into the columns of a Series, each starting at 0 with the run.
type sampler struct {
	series result.Series
	first  reading
	last   reading
	sums   []counters.Diff // per slave, since first; survives wraps and replaced qdiscs
	netem  counters.Diff
}

// newSampler starts from the reading taken before the first packet, with room for as many polls as are
// expected, so that a poll grows nothing.
func newSampler(first reading, polls int) *sampler {
	s := &sampler{first: first, last: copyReading(first), sums: make([]counters.Diff, len(first.slaves))}
	s.series = result.Series{
		AtMS: make([]float64, 0, polls), Outq: make([]int64, 0, polls), Into: make([]uint64, 0, polls),
		Slaves: make([]result.SlaveSeries, len(first.slaves)),
	}
	for i := range s.series.Slaves {
		s.series.Slaves[i] = result.SlaveSeries{
			Sent: make([]uint64, 0, polls), Dropped: make([]uint64, 0, polls), Qlen: make([]uint32, 0, polls),
			Backlog: make([]uint32, 0, polls), Requeues: make([]uint64, 0, polls), Completed: make([]uint64, 0, polls),
		}
	}
	return s
}

func copyReading(r reading) reading {
	c := r
	c.slaves = make([]slaveReading, len(r.slaves))
	for i, s := range r.slaves {
		c.slaves[i] = s
		c.slaves[i].leaves = append([]counters.Qdisc(nil), s.leaves...)
	}
	return c
}

// done is what the driver is done with: sent, or dropped by itself. Neither is in flight any more.
func done(l counters.Link) uint64 { return l.TxPackets + l.TxDropped }

// add appends one poll.
func (s *sampler) add(at time.Duration, outq int64, r *reading, orphan bool) {
	s.series.AtMS = append(s.series.AtMS, milliseconds(at))
	s.series.Outq = append(s.series.Outq, outq)
	s.series.Into = append(s.series.Into, r.into-s.first.into)
	for i := range r.slaves {
		now, last := &r.slaves[i], &s.last.slaves[i]
		s.sums[i].Add(diffs(last.leaves, now.leaves))
		var qlen, backlog uint32
		for _, q := range now.leaves {
			qlen += q.Qlen
			backlog += q.Backlog
		}
		c := &s.series.Slaves[i]
		c.Sent = append(c.Sent, s.sums[i].Packets)
		c.Dropped = append(c.Dropped, s.sums[i].Drops)
		c.Requeues = append(c.Requeues, s.sums[i].Requeues)
		c.Qlen = append(c.Qlen, qlen)
		c.Backlog = append(c.Backlog, backlog)
		c.Completed = append(c.Completed, done(now.link)-done(s.first.slaves[i].link))
		if now.ring {
			c.Inflight = append(c.Inflight, now.inflight)
		}
		last.leaves = append(last.leaves[:0], now.leaves...)
		last.link = now.link
	}
	if orphan {
		d, _ := counters.Delta(s.last.netem, r.netem)
		s.netem.Add(d)
		s.last.netem = r.netem
		s.series.NetemDropped = append(s.series.NetemDropped, s.netem.Drops)
		s.series.NetemBacklog = append(s.series.NetemBacklog, r.netem.Qlen)
	}
}
