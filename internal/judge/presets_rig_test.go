package judge

import (
	"fmt"
	"slices"
	"sort"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// like gives a plan the verdict rules and the faults of a scenario that comes with the program.
func (p *plan) like(name string) *plan {
	sc, _, err := scenarios.Load(name)
	if err != nil {
		panic(err)
	}
	p.sc.Guards, p.sc.Expect, p.sc.Accept, p.sc.Faults = sc.Guards, sc.Expect, sc.Accept, sc.Faults
	return p
}

// expecting gives a plan expectations of its own.
func (p *plan) expecting(lines ...string) *plan {
	p.sc.Expect = lines
	return p
}

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
	p := stock().like("bond-hash-spread")
	p.sc.Topology.Bond.Mode, p.sc.Topology.Bond.XmitHashPolicy = "balance-xor", &policy
	p.sc.Traffic.Groups = groups(16)
	p.share = []float64{1, 1}
	return p
}

// inVLAN is a balance-xor bond with vlan+srcmac and a VLAN; one slave has all.
func inVLAN(id, slave int) *plan {
	p := hashing("vlan+srcmac")
	p.sc.Topology.VLAN, p.share = id, []float64{0, 0}
	p.share[slave] = 1
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
	p := stock().like("bond-failover")
	slices.Reverse(p.sc.Faults) // any order will do
	p.sc.Traffic.Duration = scenarios.Duration(4e9)
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
	r.Wire.Silences = []result.Silence{{AtMS: 100, MS: 70}, {AtMS: 1000, MS: 40}}
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
	p := stock().like("bond-stuck-queue")
	p.sc.Traffic.Senders = 4
	p.sc.Traffic.Burst = scenarios.Burst{Packets: 8, Every: scenarios.Duration(50e6)}
	p.share[0] = 60 * 32 / 9277.0 // 60 bursts
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

// silent takes away all that came from a time on: its frames are lost and nobody counts them.
func silent(from float64) func(*result.Recording) {
	return func(r *result.Recording) {
		for i := range r.Wire.Slaves {
			w := &r.Wire.Slaves[i]
			n := 0
			for n < len(w.AtMS) && w.AtMS[n] < from {
				n++
			}
			if n == 0 {
				continue
			}
			w.AtMS, w.CumFrames, w.CumBytes = w.AtMS[:n], w.CumFrames[:n], w.CumBytes[:n]
			r.Wire.Senders[0].Unique -= w.Ours - w.CumFrames[n-1]
			w.Ours = w.CumFrames[n-1]
		}
	}
}

// paused makes paced senders silent in a time, as a machine does that stands still: no polls, and nothing into the bond.
func paused(from, to float64) func(*result.Recording) {
	return func(r *result.Recording) {
		unpolled(from+1, to-1)(r)
		s := &r.Series
		i := sort.SearchFloat64s(s.AtMS, to)
		missed := s.Into[i] - s.Into[i-1]
		for k := range s.AtMS {
			s.Outq[k] = 0
			if k >= i {
				s.Into[k] -= missed
			}
		}
		r.Wire.Silences = append(r.Wire.Silences, result.Silence{AtMS: from, MS: to - from})
	}
}

// full has the polls of a time find every send buffer full.
func full(from, to float64) func(*result.Recording) {
	return func(r *result.Recording) {
		for i, ms := range r.Series.AtMS {
			if ms >= from && ms <= to {
				r.Series.Outq[i] = int64(r.Senders[0].SndBuf * len(r.Senders))
			}
		}
	}
}

// unpolled takes away the polls of a time.
func unpolled(from, to float64) func(*result.Recording) {
	return func(r *result.Recording) {
		s := &r.Series
		i, k := sort.SearchFloat64s(s.AtMS, from), sort.SearchFloat64s(s.AtMS, to+1)
		s.AtMS, s.Outq, s.Into = slices.Delete(s.AtMS, i, k), slices.Delete(s.Outq, i, k), slices.Delete(s.Into, i, k)
		for n := range s.Slaves {
			x := &s.Slaves[n]
			x.Sent, x.Completed, x.Dropped, x.Qlen = slices.Delete(x.Sent, i, k), slices.Delete(x.Completed, i, k), slices.Delete(x.Dropped, i, k), slices.Delete(x.Qlen, i, k)
		}
	}
}

// manyQueues has 4 TX queues a slave and 8 senders.
func manyQueues() *plan {
	p := stock().like("bond-queue-mapping")
	p.queues = 4
	p.sc.Topology.Slaves.Queues = 4
	p.sc.Traffic.Senders = 8
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
	p := stock().like("bond-return-code")
	p.sc.Traffic.Senders = 64
	p.drops = []int{200, 0}
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
