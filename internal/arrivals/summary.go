package arrivals

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"bondrepro/reproducer/result"
)

// Summary puts the lines of a run together. Nothing may be counted meanwhile.
func (r *Run) Summary(lines []*Line) result.Wire {
	r.mu.Lock()
	defer r.mu.Unlock()
	var w result.Wire
	for _, l := range lines {
		w.Slaves = append(w.Slaves, l.slave())
	}
	if r.first != math.MinInt64 {
		w.Silences = r.longest()
		for _, s := range w.Silences {
			if s.MS > w.GapMS {
				w.GapMS, w.GapAtMS = s.MS, s.AtMS
			}
		}
	}
	known := len(r.crossed)
	for _, l := range lines {
		known = max(known, len(l.senders))
	}
	for s := range known {
		w.Senders = append(w.Senders, r.sender(s, lines))
	}
	return w
}

// longest are the silences kept, in order of time.
func (r *Run) longest() (out []result.Silence) {
	for _, s := range r.silences {
		if s.long > 0 {
			out = append(out, result.Silence{AtMS: milliseconds(s.from - r.first), MS: milliseconds(s.long)})
		}
	}
	slices.SortFunc(out, func(a, b result.Silence) int { return cmp.Compare(a.AtMS, b.AtMS) })
	return out
}

// sender is one sender's numbers over all lines.
func (r *Run) sender(s int, lines []*Line) result.WireSender {
	sum := result.WireSender{Index: s}
	if s < len(r.crossed) {
		sum.Crossed = r.crossed[s]
	}
	var all []uint64
	var perLine uint64
	for _, l := range lines {
		if s >= len(l.senders) {
			continue
		}
		n := &l.senders[s]
		sum.Duplicates += n.duplicates
		sum.Reordered += n.reordered
		sum.Beyond = max(sum.Beyond, n.beyond)
		perLine += n.unique
		all = union(all, n.seen)
	}
	for _, word := range all {
		sum.Unique += uint64(bits.OnesCount64(word))
	}
	sum.Copies = perLine - sum.Unique
	return sum
}

func union(all, more []uint64) []uint64 {
	if len(more) > len(all) {
		all = append(all, make([]uint64, len(more)-len(all))...)
	}
	for i, word := range more {
		all[i] |= word
	}
	return all
}

// slave is the line's account. The series ends with its last frame. run.mu is held.
func (l *Line) slave() result.WireSlave {
	s := result.WireSlave{Frames: l.frames, Bytes: l.bytes, Ours: l.ours, Stale: l.stale, Overflow: l.overflow}
	if len(l.foreign) > 0 {
		s.Foreign = make(map[string]uint64, len(l.foreign))
		for k, n := range l.foreign {
			s.Foreign[string(k)] = n
		}
	}
	for _, x := range l.seen {
		at := 0.0 // nothing of ours came at all
		if l.run.first != math.MinInt64 {
			at = milliseconds(x.at - l.run.first)
		}
		s.Sightings = append(s.Sightings, result.Sighting{AtMS: at, Kind: string(x.kind)})
	}
	for f, n := range l.flows {
		s.Flows = append(s.Flows, result.Flow{Sender: int(f.sender), Group: int(f.group), Frames: n})
	}
	slices.SortFunc(s.Flows, func(a, b result.Flow) int { return cmp.Or(a.Sender-b.Sender, a.Group-b.Group) })
	if l.ours > 0 {
		s.AtMS = append(slices.Clone(l.at), milliseconds(l.lastOurs-l.first))
		s.CumFrames = append(slices.Clone(l.cumFrames), l.ours)
		s.CumBytes = append(slices.Clone(l.cumBytes), l.oursLen)
	}
	return s
}

func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }
