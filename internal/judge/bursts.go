package judge

import (
	"fmt"
	"math"

	"bondrepro/reproducer/result"
)

// stall is a poll that found packets in a slave's queue, long after the last burst began, with nothing leaving it.
type stall struct {
	slave int
	poll  int
	burst int // the number of the last burst, from 0
}

// stalls finds them in the polls of one slave; none without bursts.
func (f *facts) stalls(slave int) (out []stall) {
	every := milliseconds(f.sc.Traffic.Burst.Every)
	if f.sc.Traffic.Burst.Packets == 0 || every <= 0 || slave >= len(f.rec.Series.Slaves) {
		return nil
	}
	at, s := f.rec.Series.AtMS, &f.rec.Series.Slaves[slave]
	for i := 1; i < min(len(at), len(s.Qlen), len(s.Completed)); i++ {
		burst := math.Floor(at[i] / every)
		if at[i]-burst*every >= every/2 && s.Qlen[i] > 0 && s.Completed[i] == s.Completed[i-1] {
			out = append(out, stall{slave, i, int(burst)})
		}
	}
	return out
}

// stalledPolls is how many polls found a stall on any slave.
func (f *facts) stalledPolls() int {
	polls := map[int]bool{}
	for i := range f.slaves {
		for _, s := range f.stalls(i) {
			polls[s.poll] = true
		}
	}
	return len(polls)
}

// stalled finds a queue that is stuck until the next burst: a lost wake-up, such as the lockless pfifo_fast had. The
// drain at the end of a run sees such a queue only when it is the last burst's.
func stalled(f *facts, _ result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	if _, changed := f.slaveChanged(); changed {
		return result.Finding{}, "", false
	}
	for i := range f.slaves {
		ss := f.stalls(i)
		if len(ss) == 0 || f.slowForBursts(i) {
			continue
		}
		for k := 1; k < len(ss); k++ { // one poll may fall between two frames of a slow line
			poll := ss[k].poll
			if poll != ss[k-1].poll+1 || ss[k].burst != ss[k-1].burst || f.ringBusy(i, poll) {
				continue
			}
			s := &f.rec.Series
			return finding(result.StuckQueue, fmt.Sprintf("%d polls found packets in the queue of %s with nothing leaving it, first two in a row at %.0f ms: %d packets, and none left for %.0f ms",
				len(ss), f.name(i), s.AtMS[poll], s.Slaves[i].Qlen[poll], s.AtMS[poll]-s.AtMS[poll-2])), result.CauseKernel, true
		}
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
