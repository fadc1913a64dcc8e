package judge

import (
	"fmt"
	"slices"

	"bondrepro/reproducer/result"
)

// queuesUsed is how many of a slave's TX queues carried at least 1 % of its packets.
func (s *slaveFacts) queuesUsed() (n int) {
	all := sumOf(s.queues)
	for _, q := range s.queues {
		if q > 0 && float64(q) >= carries*float64(all) {
			n++
		}
	}
	return n
}

// queueShare is the largest share of a slave's packets on one of its TX queues; 0 when it sent none.
func (s *slaveFacts) queueShare() float64 {
	all := sumOf(s.queues)
	if all == 0 {
		return 0
	}
	return float64(slices.Max(s.queues)) / float64(all)
}

func sumOf(ns []int64) (sum int64) {
	for _, n := range ns {
		sum += n
	}
	return sum
}

// lineRate is what a slave's line can take, bits/s. Where each TX queue has a line of its own, only those of the
// queues in use count: what a hash keeps off a queue cannot fill its line. And a sender whose groups lie on several
// queues is held back by the fullest of them and cannot fill the others: the largest share sets the pace.
func (f *facts) lineRate(slave int) float64 {
	rate, lines := f.rec.LineRate[slave], f.rec.Slaves[slave].Lines
	if lines <= 1 {
		return rate
	}
	s := &f.slaves[slave]
	used := min(lines, max(1, s.queuesUsed()))
	able := rate * float64(used) / float64(lines)
	if share := s.queueShare(); share > 0 {
		able = min(able, rate/float64(lines)/share)
	}
	return able
}

// queueMetrics are those of the TX queues of slaves that carry traffic.
func (f *facts) queueMetrics(m metrics) {
	lines := f.lines()
	if len(lines) == 0 {
		m.lack(nothingCame, "slaves.queues.used", "slaves.queues.share.max")
		return
	}
	used, share := 0, 0.0
	for _, l := range lines {
		s := &f.slaves[l.slave]
		used, share = max(used, s.queuesUsed()), max(share, s.queueShare())
	}
	m.set("slaves.queues.used", float64(used))
	m.set("slaves.queues.share.max", share)
}

// oneQueue finds a slave with several TX queues that sent every packet of several flows through one of them.
func (f *facts) oneQueue() (result.Finding, bool) {
	for _, l := range f.lines() {
		s := &f.slaves[l.slave]
		if n := len(s.queues); n > 1 && f.flows() > 1 && s.queueShare() == 1 {
			return finding(result.OneQueue, fmt.Sprintf("all %d packets of %s went through queue %d of %d",
				sumOf(s.queues), f.name(l.slave), slices.IndexFunc(s.queues, func(q int64) bool { return q > 0 })+1, n)), true
		}
	}
	return result.Finding{}, false
}
