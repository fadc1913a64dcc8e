package judge

import (
	"strings"
	"testing"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// rich is a recording in which every term of the ledger is there: 9000 ok, 300 ENOBUFS, 20 EAGAIN, 10 short batches
// of which 4 hid an ENOBUFS, and 2 foreign frames enter the bond; of these 9306 the first slave drops 304, netem 6
// and has 1; the driver drops 5; the slave sends 7 frames of its own and 1 foreign one past the bond.
func rich() (*plan, result.Recording) {
	p := stock()
	p.netem = true
	rec := p.simulate()
	rec.Senders[0].OK, rec.Senders[0].ENOBUFS, rec.Senders[0].EAGAIN, rec.Senders[0].Hidden, rec.Senders[0].Seqs = 9000, 300, 20, 10, 9310
	rec.Senders[0].Other = map[string]uint64{"EPERM": 3, "ENETUNREACH": 4}
	rec.Before.Into, rec.After.Into = 7, 7+9306
	rec.After.Orphaner.Drops, rec.After.Orphaner.Qlen = 6, 1
	q := &rec.After.Slaves[0].Qdiscs[0]
	q.Drops, q.Packets = 304, 9306-304-6-1+7+1
	s := &rec.After.Slaves[0]
	s.Own, s.TxDropped, s.TxPackets = 7, 5, 5+q.Packets-5
	w := &rec.Wire.Slaves[0]
	w.Foreign = map[string]uint64{"lacp": 7, "arp": 2, "igmp": 1}
	w.Ours = q.Packets - 5 - 10
	rec.Wire.Senders[0].Unique = w.Ours
	return p, rec
}

func TestHops(t *testing.T) {
	p, rec := rich()
	l := Run(p.sc, p.preflight(), rec).Ledger
	want := []struct {
		name        string
		left, right int64
		in          string // in its words or its note
	}{
		{hopOffered, 9337, 9327, "the difference of 10: up to 10 numbers used up by batches that ended short"},
		{hopInto, 9300, 9306, "the difference of 6: up to 10 hidden ENOBUFS"},
		{hopThrough, 9306, 9307, "netem's dropped 6 + backlog 1 - slaves' own 7"},
		{hopDriver + " eth0", 9003, 9003, "dropped by the driver 5"},
		{hopDriver + " eth1", 0, 0, ""},
		{hopWire + " eth0", 8998, 8998, "8988 ours + 10 foreign"},
		{hopWire + " eth1", 0, 0, ""},
		{hopGaps, 9310 - 8988, 304 + 6 + 1 + 5, "the difference of 6: up to 10 numbers consumed by sends that were refused"},
		{hopDuplicates, 0, 0, ""},
	}
	if len(l.Hops) != len(want) {
		t.Fatalf("got %d hops: %+v", len(l.Hops), l)
	}
	for i, w := range want {
		h := l.Hops[i]
		if h.Name != w.name || h.LeftSum != w.left || h.RightSum != w.right || h.Remainder != 0 || !strings.Contains(h.Right+h.Note, w.in) {
			t.Errorf("got %+v\nwant %+v and remainder 0", h, w)
		}
	}
}

// TestRemainders: what exceeds a hop's tolerance is its remainder, and no more.
func TestRemainders(t *testing.T) {
	for _, c := range []struct {
		hop       string
		remainder int64
		spoil     func(*result.Recording)
	}{
		{hopInto, 9, func(r *result.Recording) { r.After.Into -= 15 }},
		{hopInto, -2, func(r *result.Recording) { r.After.Into += 9 }}, // 10 hidden, 3 foreign, 6 used
		{hopThrough, 9, func(r *result.Recording) { r.After.Slaves[0].Qdiscs[0].Packets -= 10 }},
		{hopThrough, -7, func(r *result.Recording) { r.After.Slaves[0].Qdiscs[0].Packets += 9 }}, // 3 foreign, 1 used
		{hopDriver + " eth0", 4, func(r *result.Recording) { r.After.Slaves[0].TxDropped--; r.After.Slaves[0].TxPackets -= 3 }},
		{hopWire + " eth0", 4, func(r *result.Recording) { r.Wire.Slaves[0].Ours -= 4 }},
		{hopGaps, 4, func(r *result.Recording) { r.Wire.Senders[0].Unique -= 8 }}, // 10 spare, 6 used
	} {
		p, rec := rich()
		c.spoil(&rec)
		found := false
		l := Run(p.sc, p.preflight(), rec).Ledger
		for _, h := range l.Hops {
			if h.Name == c.hop {
				found = true
				if h.Remainder != c.remainder {
					t.Errorf("%s: got %+v, want remainder %d", c.hop, h, c.remainder)
				}
			}
		}
		if !found {
			t.Errorf("no hop %s in %+v", c.hop, l)
		}
	}
}

func TestBroadcastHops(t *testing.T) {
	p := broadcast(stock())
	l := Run(p.sc, p.preflight(), p.simulate()).Ledger
	through := l.Hops[2]
	if through.LeftSum != 2*9277 || through.Remainder != 0 || !strings.Contains(through.Left, "9277 × 2 slaves") {
		t.Errorf("got %+v", through)
	}
	if l := Run(stock().sc, stock().preflight(), stock().simulate()).Ledger; strings.Contains(l.Hops[2].Left, "×") {
		t.Errorf("got %+v", l.Hops[2])
	}
}

func TestNoLedger(t *testing.T) {
	for _, c := range []struct {
		name  string
		why   string // "" for a ledger
		plan  func(*plan)
		spoil func(*result.Recording)
	}{
		{"GSO", "GSO", func(p *plan) { p.sc.Traffic.Socket.GSO = 16 }, func(*result.Recording) {}},
		{"just fits", "", func(*plan) {}, func(r *result.Recording) { r.Bond.MTU = 4028 }},
		{"does not fit", "beyond the MTU", func(*plan) {}, func(r *result.Recording) { r.Bond.MTU = 4027 }},
		{"the scenario's MTU", "beyond the MTU", func(p *plan) { p.sc.Topology.MTU = 4027 }, func(r *result.Recording) { r.Bond.MTU = 0 }},
		{"IPv6 just fits", "", func(p *plan) { p.sc.Traffic.Groups = scenarios.Groups{"ff02::4242"} }, func(r *result.Recording) { r.Bond.MTU = 4048 }},
		{"IPv6 does not fit", "beyond the MTU", func(p *plan) { p.sc.Traffic.Groups = scenarios.Groups{"ff02::4242"} }, func(r *result.Recording) { r.Bond.MTU = 4047 }},
		{"a slave changed", "change of state", func(*plan) {}, func(r *result.Recording) { r.After.Slaves[1].CarrierChanges++ }},
		{"a qdisc was replaced", "replaced qdisc", func(*plan) {}, func(r *result.Recording) { r.After.Slaves[0].Qdiscs[0].Handle++ }},
	} {
		p := stock()
		c.plan(p)
		rec := p.simulate()
		c.spoil(&rec)
		l := Run(p.sc, p.preflight(), rec).Ledger
		if l.Available != (c.why == "") || !strings.Contains(l.Why, c.why) {
			t.Errorf("%s: %t, %s", c.name, l.Available, l.Why)
		}
	}
}

// TestHopsAddUp: a foreign frame that explains a difference is a term of the equation; a bound that nothing needs is not told.
func TestHopsAddUp(t *testing.T) {
	p, rec := rich()
	rec.Senders[0].Hidden = 0
	rec.Senders[0].Seqs, rec.Senders[0].ENOBUFS = 9305, 305
	l := Run(p.sc, p.preflight(), rec).Ledger
	if h := l.Hops[1]; h.Right != "into the bond 9306 - 1 foreign frame" || h.RightSum != 9305 || h.Remainder != 0 || h.Note != "" {
		t.Errorf("got %+v", h)
	}
	rec.After.Into++
	if h := Run(p.sc, p.preflight(), rec).Ledger.Hops[1]; h.Right != "into the bond 9307 - 2 foreign frames" || h.Remainder != 0 {
		t.Errorf("got %+v", h)
	}
	if h := l.Hops[len(l.Hops)-2]; h.LeftSum != h.RightSum+1 || h.Note != "" || h.Remainder != 1 {
		t.Errorf("got %+v", h)
	}
	p, rec = rich()
	rec.Wire.Senders[0].Unique -= 8
	if h := Run(p.sc, p.preflight(), rec).Ledger.Hops[7]; h.Note != "10 of the difference of 14: up to 10 numbers consumed by sends that were refused" {
		t.Errorf("got %+v", h)
	}
}
