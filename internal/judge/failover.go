package judge

import (
	"cmp"
	"fmt"
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
func (f *facts) failover(m metrics) {
	if !f.hasFlows() {
		why := noFlows // nothing came, or the recording is older than these facts
		if f.rec.Wire == nil {
			why = noWire
		}
		m.lack(why, "failover.gap", "failover.arp", "failover.igmp", "failover.lost", "failover.back")
		return
	}
	fault, faulted := f.firstFault()
	m.set("failover.gap", f.longestSilence(fault-clockSlackMS))
	if !faulted {
		m.lack("no fault was made", "failover.arp", "failover.igmp", "failover.lost", "failover.back")
		return
	}
	a := f.announcements()
	m.set("failover.arp", float64(f.sighted(a.address, fault)))
	m.set("failover.igmp", float64(f.sighted(a.membership, fault)))
	if why := f.noLostShare(); why != "" {
		m.lack(why, "failover.lost")
	} else {
		m.set("failover.lost", float64(gapsHop(f).Remainder)/float64(f.seqs))
	}
	if share, ok := f.cameBack(); ok {
		m.set("failover.back", share)
	} else {
		m.lack(fmt.Sprintf("no slave was set down, up again, and given %.0f ms before the senders ended", settleMS), "failover.back")
	}
}

// noLostShare tells why nobody can say what share of the packets was lost; "" when the gaps tell.
func (f *facts) noLostShare() string {
	if how, yes := f.qdiscReplaced(); yes {
		return "drops are not known where a qdisc was replaced: " + how
	}
	switch {
	case f.broadcast():
		return "in broadcast mode the number of copies follows the slaves that are up"
	case f.sc.Traffic.Socket.GSO > 0:
		return noGapsWithGSO
	case f.seqs == 0:
		return "no number was consumed"
	}
	return ""
}

// announced are the kinds of frames with which a bond announces itself behind a new line.
type announced struct{ address, membership string }

// announcements are those of the traffic's family: NETDEV_NOTIFY_PEERS and NETDEV_RESEND_IGMP make gratuitous ARP and
// IGMP reports of IPv4, unsolicited neighbour advertisements and MLD reports of IPv6 (net/ipv6/ndisc.c, net/ipv6/mcast.c).
func (f *facts) announcements() announced {
	if f.sc.Traffic.IPv6() {
		return announced{"nd", "mld"}
	}
	return announced{"arp", "igmp"}
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

// sighted counts the foreign frames of a kind from a fault on, on the lines that carried none of ours before it.
func (f *facts) sighted(kind string, fault float64) (n int) {
	for i, w := range f.rec.Wire.Slaves {
		for _, s := range w.Sightings {
			if s.Kind == kind && s.AtMS >= fault-clockSlackMS && f.silentBefore(i, fault) {
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

// cameBack is the share of the frames that the first slave that was set down and up again carried after it had settled:
// 0 when nothing came any more. False without such a slave, or when the senders ended before.
func (f *facts) cameBack() (float64, bool) {
	slave, up, ok := f.setUpAgain()
	if !ok || f.endMS() <= up+settleMS {
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
		return 0, true
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
