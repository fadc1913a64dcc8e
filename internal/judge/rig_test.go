package judge

import (
	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// The figures of a simulated run: 4000-byte payloads on two 100 Mbit/s virtio lines, as in FACTS.
const (
	simFrame    = 4042 // bytes
	simTruesize = 8448 // bytes
	simRing     = 256
	simInflight = 26 // packets of one sender
	simPollMS   = 10
)

// plan is what a simulated run is to be; simulate makes a recording of it in which everything balances.
// Cases then break one thing, in the plan, the scenario or the recording.
type plan struct {
	sc        scenarios.Scenario
	rates     []float64 // bits/s, one a line
	share     []float64 // of each line's rate that it took
	drops     []int     // by each slave's qdisc
	uncharged int       // packets in flight beyond what is charged
	blocked   float64   // share of the time
	netem     bool
	queues    int     // more than one: children of mq
	poll      float64 // ms
}

func stock() *plan {
	sc := scenarios.Default()
	return &plan{sc: sc, rates: []float64{100e6, 100e6}, share: []float64{1, 0}, drops: []int{0, 0}, blocked: 0.85, queues: 1, poll: simPollMS}
}

// orphaning is a module that orphans every packet.
func orphaning() *plan {
	p := stock()
	p.drops = []int{5000, 0}
	p.uncharged = 1230
	p.blocked = 0
	return p
}

// asked is the control arm: netem on the bond.
func asked() *plan {
	p := orphaning()
	p.sc.Orphan = "netem"
	p.sc.Control = map[string]any{}
	p.netem = true
	return p
}

func broadcast(p *plan) *plan {
	p.sc.Topology.Bond.Mode = "broadcast"
	p.share = []float64{1, 1}
	return p
}

func (p *plan) preflight() result.Preflight { return Preflight(p.sc, simTruesize, simRing) }

func (p *plan) simulate() result.Recording {
	n := len(p.rates)
	ms := float64(p.sc.Traffic.Duration.D().Milliseconds())
	frames := make([]int, n)
	for i := range frames {
		frames[i] = int(p.rates[i] * p.share[i] * ms / 1000 / 8 / simFrame)
	}
	isBroadcast := p.sc.Topology.Bond.Mode == "broadcast"
	into, seen := 0, 0
	for i := range frames {
		if isBroadcast {
			into = max(into, frames[i]+p.drops[i])
		} else {
			into += frames[i] + p.drops[i]
		}
	}
	if isBroadcast {
		for i := range frames { // a broadcast bond gives each slave as many
			frames[i] = into - p.drops[i]
			seen = max(seen, frames[i])
		}
	}
	total := 0
	for _, f := range frames {
		total += f
	}
	rec := result.Recording{
		Arm:      "test",
		Run:      1,
		Bond:     result.BondState{Name: "bond0", MTU: 9000, Options: map[string]string{"mode": p.sc.Topology.Bond.Mode}},
		Truesize: simTruesize,
		LineRate: p.rates,
		Drain:    result.Drain{Quiet: true, TookMS: 105},
		Wire:     &result.Wire{},
	}
	p.senders(&rec, into)
	p.wireSenders(&rec, into, total, seen)
	rec.Before = result.Snapshot{Into: 7, BondTx: 7}
	rec.After = result.Snapshot{Into: uint64(7 + into), BondTx: uint64(7 + total)}
	if p.netem {
		rec.Before.Orphaner = &counters.Qdisc{Ifindex: 9, Kind: "netem", Handle: 0x80010000, Parent: counters.HandleRoot}
		rec.After.Orphaner = &counters.Qdisc{Ifindex: 9, Kind: "netem", Handle: 0x80010000, Parent: counters.HandleRoot, Bytes: uint64(into * simFrame), Packets: uint64(into)}
	}
	for i := range p.rates {
		p.slave(&rec, i, frames[i])
	}
	p.series(&rec, into, frames, ms)
	return rec
}

func (p *plan) senders(rec *result.Recording, into int) {
	ms := float64(p.sc.Traffic.Duration.D().Milliseconds())
	for i := range int(p.sc.Traffic.Senders) {
		ok := uint64(into / int(p.sc.Traffic.Senders))
		if i == 0 {
			ok += uint64(into % int(p.sc.Traffic.Senders))
		}
		s := result.Sender{Index: i, OK: ok, Seqs: ok, Calls: ok, ElapsedMS: ms, BlockedMS: p.blocked * ms, SndBuf: 212992, MaxOutq: 219648}
		if p.blocked == 0 {
			s.MaxOutq = 0
		}
		rec.Senders = append(rec.Senders, s)
	}
}

// wireSenders gives the first sender all gaps.
func (p *plan) wireSenders(rec *result.Recording, into, total, seen int) {
	if p.sc.Topology.Bond.Mode != "broadcast" {
		seen = total
	}
	for i, s := range rec.Senders {
		w := result.WireSender{Index: i, Unique: s.Seqs, Beyond: s.Seqs}
		if i == 0 {
			w.Unique -= uint64(into - seen)
			w.Copies = uint64(total - seen)
		}
		rec.Wire.Senders = append(rec.Wire.Senders, w)
	}
}

func (p *plan) slave(rec *result.Recording, i, frames int) {
	rec.Slaves = append(rec.Slaves, result.SlaveState{
		Name: []string{"eth0", "eth1", "eth2"}[i], Ifindex: 2 + i, Driver: "virtio_net", Ring: simRing, Queues: p.queues,
		TxQueueLen: p.sc.Topology.Slaves.TxQueueLen, Qdisc: "pfifo_fast", CountsCompletions: true,
	})
	var before, after result.SlaveCounters
	for q := range p.queues {
		c := counters.Qdisc{Ifindex: 2 + i, Dev: rec.Slaves[i].Name, Kind: "pfifo_fast", Parent: counters.HandleRoot, Handle: 0x80020000, Refcnt: 2}
		if p.queues > 1 {
			c.Parent, c.Handle = uint32(q+1), 0
		}
		before.Qdiscs = append(before.Qdiscs, c)
		share := func(n int) int {
			if q == 0 {
				return n/p.queues + n%p.queues
			}
			return n / p.queues
		}
		c.Packets, c.Bytes, c.Drops = uint64(share(frames)), uint64(share(frames)*simFrame), uint32(share(p.drops[i]))
		after.Qdiscs = append(after.Qdiscs, c)
	}
	before.TxPackets, after.TxPackets = 5, uint64(5+frames)
	before.TxBytes, after.TxBytes = 500, uint64(500+frames*simFrame)
	rec.Before.Slaves = append(rec.Before.Slaves, before)
	rec.After.Slaves = append(rec.After.Slaves, after)
	rec.Wire.Slaves = append(rec.Wire.Slaves, result.WireSlave{Frames: uint64(frames), Bytes: uint64(frames * simFrame), Ours: uint64(frames)})
}

func (p *plan) series(rec *result.Recording, into int, frames []int, ms float64) {
	charged := simInflight * len(rec.Senders)
	if p.blocked == 0 {
		charged = 0
	}
	s := &rec.Series
	s.Slaves = make([]result.SlaveSeries, len(frames))
	for at := 0.0; at <= ms; at += p.poll {
		x := at / ms
		s.AtMS = append(s.AtMS, at)
		s.Outq = append(s.Outq, int64(charged*simTruesize))
		done := uint64(0)
		for i := range frames {
			sl := &s.Slaves[i]
			dropped, completed := uint64(float64(p.drops[i])*x), uint64(float64(frames[i])*x)
			done += dropped + completed
			sl.Sent = append(sl.Sent, completed)
			sl.Dropped = append(sl.Dropped, dropped)
			sl.Completed = append(sl.Completed, completed)
			sl.Requeues = append(sl.Requeues, 0)
			sl.Qlen = append(sl.Qlen, uint32(p.uncharged))
			sl.Backlog = append(sl.Backlog, uint32(p.uncharged*simFrame))
			w := &rec.Wire.Slaves[i]
			w.AtMS = append(w.AtMS, at)
			w.CumFrames = append(w.CumFrames, completed)
			w.CumBytes = append(w.CumBytes, completed*simFrame)
		}
		s.Into = append(s.Into, done+uint64(charged+p.uncharged))
		if p.netem {
			s.NetemDropped = append(s.NetemDropped, 0)
			s.NetemBacklog = append(s.NetemBacklog, 0)
		}
	}
}
