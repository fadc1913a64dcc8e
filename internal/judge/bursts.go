package judge

import (
	"fmt"
	"math"
	"slices"

	"bondrepro/reproducer/result"
)

// stall is a poll that found packets in a slave's queue, long after the last burst began, with nothing leaving it.
type stall struct {
	poll  int
	burst int // the number of the last burst, from 0
}

// late is the number of the last burst before a poll, from 0, when half of the time to the next one has passed.
func (f *facts) late(poll int) (burst int, ok bool) {
	every := milliseconds(f.sc.Traffic.Burst.Every)
	at := f.rec.Series.AtMS[poll]
	n := math.Floor(at / every)
	return int(n), at-n*every >= every/2
}

// stalls finds them in the polls of one slave.
func (f *facts) stalls(slave int) (out []stall) {
	at, s := f.rec.Series.AtMS, &f.rec.Series.Slaves[slave]
	for i := 1; i < min(len(at), len(s.Qlen), len(s.Completed)); i++ {
		if burst, ok := f.late(i); ok && s.Qlen[i] > 0 && s.Completed[i] == s.Completed[i-1] {
			out = append(out, stall{i, burst})
		}
	}
	return out
}

// stuckPolls are the polls that found a slave's queue stuck until the next burst: the second and further stalls in a
// row, for one poll may fall between two frames of a slow line; none where the line may still be busy with the burst,
// or the driver's ring be full.
func (f *facts) stuckPolls(slave int) (polls []int) {
	if f.slowForBursts(slave) {
		return nil
	}
	ss := f.stalls(slave)
	for k := 1; k < len(ss); k++ {
		poll := ss[k].poll
		if poll == ss[k-1].poll+1 && ss[k].burst == ss[k-1].burst && !f.ringBusy(slave, poll) {
			polls = append(polls, poll)
		}
	}
	return polls
}

// notWatched tells why polls can't find a queue stuck between bursts here; "" when they can.
func (f *facts) notWatched() string {
	if f.sc.Traffic.Burst.Packets == 0 || f.sc.Traffic.Burst.Every <= 0 {
		return "the senders do not stop between bursts"
	}
	if how, changed := f.slaveChanged(); changed {
		return "a slave changed: " + how
	}
	if len(f.rec.Series.Slaves) == 0 {
		return "there are no polls"
	}
	return ""
}

// unseen tells why polls that found nothing stuck are not enough to say that nothing was; "" when they are.
func (f *facts) unseen() string {
	for _, l := range f.lines() {
		if f.slowForBursts(l.slave) {
			return fmt.Sprintf("the line of %s may be busy with a burst for half of the time to the next", f.name(l.slave))
		}
	}
	if bursts, sent := f.watched(); bursts == 0 || 2*bursts < sent {
		return fmt.Sprintf("only %d of %d bursts have two polls in the second half of the time to the next", bursts, sent)
	}
	return ""
}

// watched is how many bursts have two polls in the second half of the time to the next, and how many were sent.
func (f *facts) watched() (bursts, sent int) {
	polls := map[int]int{}
	for i := range f.rec.Series.AtMS {
		if burst, ok := f.late(i); ok {
			polls[burst]++
		}
	}
	for _, n := range polls {
		if n >= 2 {
			bursts++
		}
	}
	each := int64(f.sc.Traffic.Burst.Packets) * int64(len(f.rec.Senders))
	return bursts, int((f.seqs + each - 1) / each)
}

// stuckMetric is slaves.qdisc.stuck. It takes polls to say that nothing was stuck, none to say that something was.
func (f *facts) stuckMetric(m metrics) {
	const name = "slaves.qdisc.stuck"
	if why := f.notWatched(); why != "" {
		m.lack(why, name)
		return
	}
	var all []int
	for i := range f.slaves {
		all = append(all, f.stuckPolls(i)...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n > 0 {
		m.set(name, float64(n))
	} else if why := f.unseen(); why != "" {
		m.lack(why, name)
	} else {
		m.set(name, 0)
	}
}

// stalled finds a queue that is stuck until the next burst: a lost wake-up, such as the lockless pfifo_fast had. The
// drain at the end of a run sees such a queue only when it is the last burst's.
func stalled(f *facts, _ result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	if f.notWatched() != "" {
		return result.Finding{}, "", false
	}
	for i := range f.slaves {
		polls := f.stuckPolls(i)
		if len(polls) == 0 {
			continue
		}
		s, first := &f.rec.Series, polls[0]
		return finding(result.StuckQueue, fmt.Sprintf("%d polls, each the second in a row or later, found packets in the queue of %s with nothing leaving it, first at %.0f ms: %d packets, and none left for %.0f ms",
			len(polls), f.name(i), s.AtMS[first], s.Slaves[i].Qlen[first], s.AtMS[first]-s.AtMS[first-2])), result.CauseKernel, true
	}
	return result.Finding{}, "", false
}

// slowForBursts tells whether a burst that goes to one slave may still be on its line after half of the time between
// two: then a queue that is not empty is no wonder.
func (f *facts) slowForBursts(slave int) bool {
	rate := f.lineRate(slave)
	if rate <= 0 {
		return true
	}
	bits := 8 * f.frameBytes() * float64(f.sc.Traffic.Burst.Packets) * float64(len(f.rec.Senders))
	return bits/rate*1000 > milliseconds(f.sc.Traffic.Burst.Every)/2
}

// ringBusy tells whether the driver held so many packets at a poll that it may have stopped its queue: then whoever
// takes them off the line is late, and the queue waits as it must.
func (f *facts) ringBusy(slave, poll int) bool {
	s, ring := &f.rec.Series.Slaves[slave], f.rec.Slaves[slave].Ring
	if ring == 0 || poll >= len(s.Sent) || s.Sent[poll] < s.Completed[poll] {
		return false
	}
	return s.Sent[poll]-s.Completed[poll] >= uint64(ring)/2
}
