package judge

import (
	"fmt"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// groups are 239.66.1.1 and so on.
func groups(n int) scenarios.Groups {
	var g scenarios.Groups
	for i := range n {
		g = append(g, fmt.Sprintf("239.66.1.%d", i+1))
	}
	return g
}

// hashing is a balance-xor bond with 16 groups; its policy spreads them 8 and 8.
func hashing(policy string) *plan {
	p := stock()
	p.sc.Topology.Bond.Mode, p.sc.Topology.Bond.XmitHashPolicy = "balance-xor", &policy
	p.sc.Traffic.Groups = groups(16)
	p.sc.Expect = []string{"slaves.used == 2", "flows.mispredicted == 0"}
	p.share = []float64{1, 1}
	return p
}

// placed adds to a recording what tells flows apart: the flow of a sender to a group (from 0) went out of the slave.
func placed(sc scenarios.Scenario, place func(sender, group int) int) func(*result.Recording) {
	return func(r *result.Recording) {
		r.Bond.MAC, r.Bond.Address = "52:54:00:b0:4d:00", "192.0.2.1"
		for i := range r.Senders {
			r.Senders[i].Port = 40000 + i
		}
		for s := range r.Senders {
			for g := range sc.Traffic.Groups {
				w := &r.Wire.Slaves[place(s, g)]
				w.Flows = append(w.Flows, result.Flow{Sender: s, Group: g, Frames: 100})
			}
		}
	}
}

// byLast is where layer2 puts a group of groups(n) on 6.1 with two slaves: the last bytes of both addresses and 0x0800.
func byLast(_, group int) int { return (group + 1) % 2 }

// allOn puts every flow on one slave.
func allOn(slave int) func(int, int) int { return func(int, int) int { return slave } }

// failing is an active-backup bond whose first slave goes down at 1 s and comes back at 2 s.
func failing() *plan {
	p := stock()
	down, up := 0, 0
	p.sc.Faults = []scenarios.Fault{
		{At: scenarios.Duration(2e9), SlaveUp: &up},
		{At: scenarios.Duration(1e9), SlaveDown: &down},
	}
	p.sc.Traffic.Duration = scenarios.Duration(4e9)
	p.sc.Guards.SlaveStable, p.sc.Guards.LineFull = false, false
	p.sc.Accept = []string{result.LostUncounted}
	p.sc.Expect = []string{"failover.gap < 500", "failover.arp >= 1", "failover.igmp >= 1", "failover.back == 100%"}
	return p
}

// failedOver is what a good failover records: 1 to 2 s on the second slave, 12 packets lost with the first one's queue,
// 40 ms of silence.
func failedOver(r *result.Recording) {
	placed(failing().sc, allOn(0))(r)
	r.Events = []result.Event{
		{AtMS: 1000, Kind: result.EventFault, Slave: 0, Text: "set down"},
		{AtMS: 1001, Kind: result.EventLinkDown, Slave: 0, Text: "eth0 lost its carrier"},
		{AtMS: 1040, Kind: result.EventActiveSlave, Slave: -1, Text: "eth1"},
		{AtMS: 2000, Kind: result.EventFault, Slave: 0, Text: "set up"},
	}
	r.Wire.GapMS, r.Wire.GapAtMS = 40, 1000
	a, b := &r.Wire.Slaves[0], &r.Wire.Slaves[1]
	var moved uint64 // to the second line
	for i, at := range a.AtMS {
		if at > 1040 && at <= 2000 {
			moved += a.CumFrames[i] - a.CumFrames[i-1]
		}
		b.CumFrames[i], b.CumBytes[i] = moved, moved*simFrame
	}
	for i, at := range a.AtMS {
		if at > 1040 {
			a.CumFrames[i] -= b.CumFrames[i]
		}
	}
	a.Ours, b.Ours = a.Ours-moved, moved
	b.Flows = []result.Flow{{Sender: 0, Group: 0, Frames: moved}}
	b.Sightings = []result.Sighting{{AtMS: 300, Kind: "igmp"}, {AtMS: 1041, Kind: "arp"}, {AtMS: 1042, Kind: "igmp"}}
	a.Sightings = []result.Sighting{{AtMS: 500, Kind: "arp"}, {AtMS: 1990, Kind: "igmp"}} // not a new line
	b.Foreign, a.Foreign = map[string]uint64{"igmp": 2, "arp": 1}, map[string]uint64{"arp": 1, "igmp": 1}
	r.Wire.Senders[0].Unique -= 12
}

// bursting has 4 senders that send 8 packets each 20 times a second.
func bursting() *plan {
	p := stock()
	p.sc.Traffic.Senders = 4
	p.sc.Traffic.Burst = scenarios.Burst{Packets: 8, Every: scenarios.Duration(50e6)}
	p.sc.Guards.LineFull = false
	p.sc.Expect = []string{"slaves.qdisc.stuck == 0"}
	return p
}

// wedge leaves 7 packets in the first slave's queue from poll i to poll k, with nothing leaving.
func wedge(i, k int) func(*result.Recording) {
	return func(r *result.Recording) {
		s := &r.Series.Slaves[0]
		for n := i; n <= k; n++ {
			s.Qlen[n], s.Completed[n], s.Sent[n] = 7, s.Completed[i-1], s.Sent[i-1]
		}
	}
}

// manyQueues has 4 TX queues a slave and 8 senders.
func manyQueues() *plan {
	p := stock()
	p.queues = 4
	p.sc.Topology.Slaves.Queues = 4
	p.sc.Traffic.Senders = 8
	p.sc.Expect = []string{"slaves.queues.used > 1"}
	return p
}

// onQueue moves all packets of every slave to one of its queues.
func onQueue(queue int) func(*result.Recording) {
	return func(r *result.Recording) {
		for i := range r.After.Slaves {
			var packets, bytes uint64
			qs := r.After.Slaves[i].Qdiscs
			for k := range qs {
				packets, bytes = packets+qs[k].Packets, bytes+qs[k].Bytes
				qs[k].Packets, qs[k].Bytes = 0, 0
			}
			qs[queue].Packets, qs[queue].Bytes = packets, bytes
		}
	}
}

// told makes every drop one that a send was told of.
func told(r *result.Recording) {
	var n uint64
	for _, s := range r.After.Slaves {
		for _, q := range s.Qdiscs {
			n += uint64(q.Drops)
		}
	}
	r.Senders[0].ENOBUFS, r.Senders[0].OK = n, r.Senders[0].OK-n
}

// overflowing has 64 senders, more than the queue holds, and that is what the scenario is about.
func overflowing() *plan {
	p := stock()
	p.sc.Traffic.Senders = 64
	p.drops = []int{200, 0}
	p.sc.Accept = []string{result.SndbufExceedsQueue}
	p.sc.Expect = []string{"slaves.qdisc.dropped > 0", "drops.untold == 0"}
	return p
}

// both does one thing after the other.
func both(spoils ...func(*result.Recording)) func(*result.Recording) {
	return func(r *result.Recording) {
		for _, s := range spoils {
			s(r)
		}
	}
}
