package judge

import (
	"cmp"
	"slices"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

const (
	// clockSlackMS is how far the clock of events (from the first send) and that of the wire (from the first frame) may
	// be apart.
	clockSlackMS = 10.0
	// settleMS is what a slave that was set up again is given before its share counts.
	settleMS = 500.0
)

// failover is the metrics of what a failover looks like at the wire.
func (f *facts) failover(m map[string]float64) {
	if !f.hasFlows() {
		return // nothing came, or the recording is older than these facts
	}
	m["failover.gap"] = f.rec.Wire.GapMS
	if fault, ok := f.firstFault(); ok {
		m["failover.arp"] = float64(f.sighted("arp", fault, func(int) bool { return true }))
		m["failover.igmp"] = float64(f.sighted("igmp", fault, func(line int) bool { return f.silentBefore(line, fault) }))
	}
	if share, ok := f.cameBack(); ok {
		m["failover.back"] = share
	}
}

// hasFlows tells whether the wire told flows apart: older recordings have neither those nor gaps and sightings.
func (f *facts) hasFlows() bool {
	return f.rec.Wire != nil && slices.ContainsFunc(f.rec.Wire.Slaves, func(w result.WireSlave) bool { return len(w.Flows) > 0 })
}

// firstFault is when the first fault was made, else when the first slave went down; ms.
func (f *facts) firstFault() (float64, bool) {
	for _, kind := range []string{result.EventFault, result.EventLinkDown} {
		at, found := 0.0, false
		for _, e := range f.rec.Events {
			if e.Kind == kind && (!found || e.AtMS < at) {
				at, found = e.AtMS, true
			}
		}
		if found {
			return at, true
		}
	}
	return 0, false
}

// sighted counts the foreign frames of a kind from a time on, on the lines asked for.
func (f *facts) sighted(kind string, from float64, on func(line int) bool) (n int) {
	for i, w := range f.rec.Wire.Slaves {
		for _, s := range w.Sightings {
			if s.Kind == kind && s.AtMS >= from-clockSlackMS && on(i) {
				n++
			}
		}
	}
	return n
}

// silentBefore tells whether a line carried nothing of ours before a time.
func (f *facts) silentBefore(line int, ms float64) bool {
	w := f.rec.Wire.Slaves[line]
	return min(len(w.AtMS), len(w.CumFrames)) == 0 || reading(w.AtMS, w.CumFrames, ms-clockSlackMS) == 0
}

// cameBack is the share of the frames that the first slave that was set down and up again carried after it had settled.
func (f *facts) cameBack() (float64, bool) {
	slave, up, ok := f.setUpAgain()
	if !ok {
		return 0, false
	}
	var its, all float64
	for i, w := range f.rec.Wire.Slaves {
		n := min(len(w.AtMS), len(w.CumFrames))
		if n == 0 {
			continue
		}
		carried := float64(w.CumFrames[n-1]) - reading(w.AtMS, w.CumFrames, up+settleMS)
		all += carried
		if i == slave {
			its = carried
		}
	}
	if all <= 0 {
		return 0, false
	}
	return its / all, true
}

// setUpAgain is the slave of the first slave_down that a slave_up follows, and when that was made. Faults on a slave
// and the events of them come in the same order.
func (f *facts) setUpAgain() (slave int, atMS float64, ok bool) {
	faults := slices.Clone(f.sc.Faults)
	slices.SortStableFunc(faults, func(a, b scenarios.Fault) int { return cmp.Compare(a.At, b.At) })
	for i, down := range faults {
		if down.SlaveDown == nil || *down.SlaveDown >= len(f.slaves) {
			continue
		}
		slave := *down.SlaveDown
		for k := i + 1; k < len(faults); k++ {
			if up := faults[k].SlaveUp; up != nil && *up == slave {
				at, made := f.faultEvent(slave, countOn(faults[:k], slave))
				return slave, at, made
			}
		}
	}
	return 0, 0, false
}

// countOn is how many of the faults are done to a slave.
func countOn(faults []scenarios.Fault, slave int) (n int) {
	for _, x := range faults {
		for _, s := range []*int{x.SlaveDown, x.SlaveUp, x.ReplaceQdisc, x.BypassBond} {
			if s != nil && *s == slave {
				n++
			}
		}
	}
	return n
}

// faultEvent is when the n-th fault (from 0) on a slave was made.
func (f *facts) faultEvent(slave, n int) (float64, bool) {
	for _, e := range f.rec.Events {
		if e.Kind == result.EventFault && e.Slave == slave {
			if n == 0 {
				return e.AtMS, true
			}
			n--
		}
	}
	return 0, false
}
