package judge

import (
	"sort"
)

// carries is the least share of all frames a line must have taken to count as one that carries traffic.
const carries = 0.01

// line is what one slave's line took after warm-up.
type line struct {
	slave    int
	rate     float64 // bits/s of the line
	achieved float64 // bits/s of ours; meaningless unless measured
	measured bool
	frames   int64
}

// lines are those that carry traffic, first the one that was fullest.
func (f *facts) lines() []line {
	var all []line
	var frames int64
	for i := range f.slaves {
		l := line{slave: i, rate: f.lineRate(i), frames: f.frames(i)}
		l.achieved, l.measured = f.achieved(i)
		frames += l.frames
		all = append(all, l)
	}
	carrying := all[:0]
	for _, l := range all {
		if l.frames > 0 && float64(l.frames) >= carries*float64(frames) {
			carrying = append(carrying, l)
		}
	}
	sort.SliceStable(carrying, func(a, b int) bool { return carrying[a].share() > carrying[b].share() })
	return carrying
}

func (l line) share() float64 {
	if l.rate <= 0 {
		return 0
	}
	return l.achieved / l.rate
}

// achieved is the rate of a line between the end of warm-up and the end of the senders, from what arrived at
// its other end; where nothing listens there, or could not take all, from what the slave's driver completed or, where that
// is counted by a device that tells now and then, from what its qdisc handed to the driver.
func (f *facts) achieved(slave int) (bitsPerSecond float64, ok bool) {
	if f.rec.Wire != nil && f.slaves[slave].overflow == 0 {
		w := f.rec.Wire.Slaves[slave]
		return growth(w.AtMS, w.CumBytes, f.warmupMS(), f.endMS(), 8)
	}
	s := f.slaves[slave]
	if s.tx == 0 || len(f.rec.Series.Slaves) == 0 {
		return 0, false
	}
	column := f.rec.Series.Slaves[slave].Completed
	if !f.rec.Slaves[slave].CountsCompletions {
		column = f.rec.Series.Slaves[slave].Sent
	}
	return f.polled(column, 8*float64(s.txBytes)/float64(s.tx))
}

// polled is the growth of a column of the polls, which end a little before the senders do.
func (f *facts) polled(column []uint64, unit float64) (float64, bool) {
	at := f.rec.Series.AtMS
	if len(at) == 0 {
		return 0, false
	}
	return growth(at, column, f.warmupMS(), min(f.endMS(), at[len(at)-1]), unit)
}

// endMS is when the senders ended, from the first send.
func (f *facts) endMS() float64 {
	if e := f.elapsedMS(); e > 0 && e < f.durationMS() {
		return e
	}
	return f.durationMS()
}

// growth is how much cum grew a second between from and to ms, times unit. After its last point cum stood
// still: a line that fell silent is not taken for a full one.
func growth(at []float64, cum []uint64, from, to, unit float64) (float64, bool) {
	if n := min(len(at), len(cum)); n < 2 || to <= from {
		return 0, false
	}
	return (reading(at, cum, to) - reading(at, cum, from)) * unit / (to - from) * 1000, true
}

// reading is cum at a time, on the straight line between the two points around it.
func reading(at []float64, cum []uint64, ms float64) float64 {
	n := min(len(at), len(cum))
	i := sort.SearchFloat64s(at[:n], ms)
	switch {
	case i == 0:
		return float64(cum[0])
	case i == n:
		return float64(cum[n-1])
	}
	share := (ms - at[i-1]) / (at[i] - at[i-1])
	return float64(cum[i-1]) + share*(float64(cum[i])-float64(cum[i-1]))
}

// deciding is the line that must be full for the run to count; false when no line carried anything.
//
// In broadcast mode it is the slowest, of several as slow the least full: every packet goes out of each, so the senders
// are held to its pace at most. In all others it is the fullest of those that carry traffic: active-backup has one; where a mode
// spreads packets a socket is held back by the fullest and cannot fill the rest.
func (f *facts) deciding(lines []line) (line, bool) {
	if len(lines) == 0 {
		return line{}, false
	}
	d := lines[0]
	if f.broadcast() {
		for _, l := range lines {
			if l.rate < d.rate || l.rate == d.rate && l.share() < d.share() {
				d = l
			}
		}
	}
	return d, true
}
