package judge

import (
	"bondrepro/reproducer/result"
)

// silences are the times without a frame of ours on any line, the last one from the last frame to the end of sending.
func (f *facts) silences() []result.Silence {
	w := f.rec.Wire
	out := append([]result.Silence{}, w.Silences...)
	if len(out) == 0 && w.GapMS > 0 { // an older recording
		out = append(out, result.Silence{AtMS: w.GapAtMS, MS: w.GapMS})
	}
	if last := f.lastFrameMS(); last < f.elapsedMS() {
		out = append(out, result.Silence{AtMS: last, MS: f.elapsedMS() - last})
	}
	return out
}

// lastFrameMS is when the last frame of ours came, on whatever line.
func (f *facts) lastFrameMS() (last float64) {
	for _, w := range f.rec.Wire.Slaves {
		if n := len(w.AtMS); n > 0 {
			last = max(last, w.AtMS[n-1])
		}
	}
	return last
}

// longestSilence is the longest silence from a time to the end of sending, less what the senders themselves were silent of it; ms.
func (f *facts) longestSilence(from float64) (longest float64) {
	for _, s := range f.silences() {
		begin, end := max(s.AtMS, from), min(s.AtMS+s.MS, f.elapsedMS())
		if begin < end {
			longest = max(longest, f.sending(begin, end))
		}
	}
	return longest
}

// sending is for how much of a time the senders were sending: as long as what went into the bond meanwhile takes at
// their mean rate. A machine that stands still sends nothing, and then nothing can come. Senders that are held back by
// their send buffers are not silent of themselves: that time counts in full.
func (f *facts) sending(from, to float64) float64 {
	s := &f.rec.Series
	if min(len(s.AtMS), len(s.Into)) == 0 || f.into == 0 || f.elapsedMS() == 0 || f.heldDuring(from, to) {
		return to - from
	}
	perMS := float64(f.into) / f.elapsedMS()
	sent := reading(s.AtMS, s.Into, to+clockSlackMS) - reading(s.AtMS, s.Into, from-clockSlackMS)
	return min(to-from, sent/perMS)
}

// heldDuring tells whether a poll found half of all send buffers full.
func (f *facts) heldDuring(from, to float64) bool {
	s := &f.rec.Series
	room := 0
	for _, x := range f.rec.Senders {
		room += x.SndBuf
	}
	for i := range min(len(s.AtMS), len(s.Outq)) {
		if s.AtMS[i] >= from && s.AtMS[i] <= to && 2*s.Outq[i] >= int64(room) {
			return true
		}
	}
	return false
}
