package judge

import (
	"fmt"
	"math"

	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
)

// The oracle's bounds.
const (
	leastSamples  = 20  // fewer do not bear GOOD
	leastOrphaned = 8.0 // packets: the noise of reading counters one after the other
	orphanedShare = 0.1 // of what is in flight
)

// frameLACP is the kind of LACPDUs at the wire (internal/stamp).
const frameLACP = "lacp"

// oracle compares what is in flight with what the sockets are charged for, at each poll after warm-up:
//
//	in flight = into the bond - drops of slaves and netem - completed
//	charged   = sum of outq / truesize
//	uncharged = in flight - charged
//
// What waits in netem on the bond is in flight too. Where a device counts, and tells now and then, what it has completed is
// what its qdisc handed to the driver less what byte queue limits say is in its rings.
func oracle(f *facts) result.Oracle {
	if why := noOracle(f); why != "" {
		return result.Oracle{Why: why}
	}
	inflight, uncharged := f.uncharged()
	o := result.Oracle{
		Available: true,
		Samples:   len(uncharged),
		Median:    stats.Median(uncharged),
		InFlight:  stats.Median(inflight),
	}
	for i, u := range uncharged {
		if i == 0 || u > o.Max {
			o.Max = u
		}
	}
	o.Threshold = math.Max(leastOrphaned, orphanedShare*o.InFlight)
	if o.Samples < leastSamples {
		o.Why = fmt.Sprintf("%d samples after warm-up, it takes %d", o.Samples, leastSamples)
		return o
	}
	// Packets lost uncounted never complete and look like packets in flight: they are not held against the charge.
	o.Vanished = f.vanished()
	o.Orphaned = o.Median > o.Threshold+o.Vanished
	return o
}

// noOracle tells why there is no oracle here; "" when there is.
func noOracle(f *facts) string {
	switch {
	case f.broadcast():
		return "in broadcast mode clones carry no charge"
	case f.sc.Traffic.Socket.GSO > 0:
		return "with GSO one charge covers many packets"
	case f.truesize() <= 0:
		return "the truesize of a packet is not known"
	}
	for _, s := range f.rec.Slaves {
		if !s.CountsCompletions && !s.BQL {
			return fmt.Sprintf("the driver of %s (%s) neither counts at completion nor keeps byte queue limits", s.Name, s.Driver)
		}
	}
	return ""
}

// truesize is the one measured in the run, else the one the preflight went by; bytes.
func (f *facts) truesize() int {
	if f.rec.Truesize > 0 {
		return f.rec.Truesize
	}
	return f.pf.Truesize
}

// uncharged returns the packets in flight, and those of them no socket is charged for, at each poll after warm-up.
func (f *facts) uncharged() (inflight, uncharged []float64) {
	s := &f.rec.Series
	n := min(len(s.AtMS), len(s.Outq), len(s.Into))
	for _, sl := range s.Slaves {
		n = min(n, len(sl.Dropped), len(sl.Completed), len(sl.Sent))
		if len(sl.Inflight) > 0 {
			n = min(n, len(sl.Inflight))
		}
	}
	for i := range n {
		if s.AtMS[i] < f.warmupMS() {
			continue
		}
		fl := float64(s.Into[i]) + f.ownBy(s.AtMS[i])
		for k, sl := range s.Slaves {
			fl -= float64(sl.Dropped[i]) + f.completed(k, i)
		}
		if i < len(s.NetemDropped) {
			fl -= float64(s.NetemDropped[i])
		}
		inflight = append(inflight, fl)
		uncharged = append(uncharged, fl-float64(s.Outq[i])/float64(f.truesize()))
	}
	return inflight, uncharged
}

// completed is how many packets a slave's driver is done with at a poll.
func (f *facts) completed(slave, poll int) float64 {
	s := &f.rec.Series.Slaves[slave]
	frame := f.frameBytes()
	if len(s.Inflight) == 0 || frame == 0 {
		return float64(s.Completed[poll])
	}
	return float64(s.Sent[poll]) - float64(s.Inflight[poll])/frame
}

// ownBy is how many frames slaves sent of themselves until atMS: they complete, but never entered the bond. LACPDUs are
// seen at the wire with their times; what else is known is taken as if it came evenly.
func (f *facts) ownBy(atMS float64) float64 {
	if f.own() == 0 {
		return f.lacpBy(atMS)
	}
	all := f.elapsedMS() + f.rec.Drain.TookMS
	if all <= 0 {
		return 0
	}
	return float64(f.own()) * math.Min(1, atMS/all)
}

// lacpBy counts the LACPDUs that the wire saw from the first of our frames until atMS.
func (f *facts) lacpBy(atMS float64) (n float64) {
	if f.rec.Wire == nil {
		return 0
	}
	for _, w := range f.rec.Wire.Slaves {
		for _, s := range w.Sightings {
			if s.Kind == frameLACP && s.AtMS >= 0 && s.AtMS <= atMS {
				n++
			}
		}
	}
	return n
}

// vanished is how many packets were lost uncounted; 0 when the drain found no quiet, for then they may come.
func (f *facts) vanished() float64 {
	if !f.rec.Drain.Quiet {
		return 0
	}
	return float64(max(0, f.pending()))
}
