package judge

import (
	"slices"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// inRing is how many of the packets in flight a real port's ring holds in a simulation.
const inRing = 20

// onPorts turns a simulated recording into one of real ports: nothing listens at the other end, the driver keeps byte
// queue limits, and its counter is brought up to date once a second.
func onPorts(rec result.Recording) result.Recording {
	rec.Wire = nil
	for i := range rec.Slaves {
		rec.Slaves[i].Driver, rec.Slaves[i].CountsCompletions, rec.Slaves[i].BQL = "ixgbe", false, true
		s := &rec.Series.Slaves[i]
		busy := rec.After.Slaves[i].TxPackets > rec.Before.Slaves[i].TxPackets
		var told uint64
		for k, at := range rec.Series.AtMS {
			inflight := int64(0)
			if busy {
				inflight = inRing * simFrame
				s.Sent[k] += inRing
			}
			s.Inflight = append(s.Inflight, inflight)
			if int(at)%1000 == 0 {
				told = s.Completed[k]
			}
			s.Completed[k] = told
		}
	}
	return rec
}

func TestRealPorts(t *testing.T) {
	// A sender whose packets are charged, but for some; nothing is dropped.
	quietly := stock()
	quietly.uncharged = 200
	for _, c := range []struct {
		name    string
		plan    *plan
		spoil   func(r *result.Recording)
		valid   bool
		verdict result.Verdict
		code    string // of the first finding
		note    string // in some hop
	}{
		{name: "good", plan: stock(), valid: true, verdict: result.Good},
		{name: "orphaned", plan: orphaning(), valid: true, verdict: result.Bad, code: result.BackPressureLost},
		{name: "orphaned without a drop", plan: quietly, valid: true, verdict: result.Bad, code: result.BackPressureLost},
		{name: "frames of others", plan: stock(), valid: true, verdict: result.Good, note: "3 foreign frames", spoil: func(r *result.Recording) {
			r.After.Into += 3
			r.After.Slaves[0].Qdiscs[0].Packets += 3
			r.After.Slaves[0].TxPackets += 3
		}},
		{name: "more of them than others send", plan: stock(), spoil: func(r *result.Recording) { r.After.Into += 900 }},
		{name: "a counter that lags by what is in the ring", plan: stock(), valid: true, verdict: result.Good, note: "may lag",
			spoil: func(r *result.Recording) { r.After.Slaves[0].TxPackets -= simRing }},
		{name: "a counter that lags by more", plan: stock(), spoil: func(r *result.Recording) { r.After.Slaves[0].TxPackets -= simRing + 100 }},
		{name: "the firmware sends of itself", plan: stock(), valid: true, verdict: result.Good, note: "may send of itself",
			spoil: func(r *result.Recording) { r.After.Slaves[0].TxPackets += 5 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := onPorts(c.plan.simulate())
			if c.spoil != nil {
				c.spoil(&rec)
			}
			j := Run(c.plan.sc, c.plan.preflight(), rec)
			if j.Valid != c.valid || c.valid && j.Verdict != c.verdict {
				t.Fatalf("valid %v, %s; guards %+v", j.Valid, j.Verdict, j.Guards)
			}
			if !j.Oracle.Available {
				t.Errorf("no oracle: %s", j.Oracle.Why)
			}
			if c.code != "" && (len(j.Diagnosis) == 0 || j.Diagnosis[0].Code != c.code) {
				t.Errorf("diagnosis %+v, want %s", j.Diagnosis, c.code)
			}
			if c.note != "" && !noted(j.Ledger, c.note) {
				t.Errorf("no hop says %q: %+v", c.note, j.Ledger.Hops)
			}
		})
	}
}

func noted(l result.Ledger, text string) bool {
	for _, h := range l.Hops {
		if strings.Contains(h.Note, text) || strings.Contains(h.Right, text) {
			return true
		}
	}
	return false
}

// Without byte queue limits, and with a counter that lags, nothing tells who is charged; drops still do.
func TestRealPortsWithoutByteQueueLimits(t *testing.T) {
	for verdict, p := range map[result.Verdict]*plan{result.Good: stock(), result.Bad: orphaning()} {
		rec := onPorts(p.simulate())
		for i := range rec.Slaves {
			rec.Slaves[i].BQL, rec.Series.Slaves[i].Inflight = false, nil
		}
		j := Run(p.sc, p.preflight(), rec)
		if !j.Valid || j.Verdict != verdict || j.Oracle.Available || !strings.Contains(j.Oracle.Why, "byte queue limits") {
			t.Errorf("valid %v, %s, want %s; oracle %+v", j.Valid, j.Verdict, verdict, j.Oracle)
		}
	}
}

// What only the wire could tell can't be had, and why is said of the ports, not of the recording.
func TestRealPortsHaveNoWire(t *testing.T) {
	for _, c := range []struct {
		plan  *plan
		lacks string // a metric of the scenario's expectations
	}{
		{failing(), "failover.gap"},
		{hashing("layer2"), "flows.mispredicted"},
	} {
		j := Run(c.plan.sc, c.plan.preflight(), onPorts(c.plan.simulate()))
		if !slices.ContainsFunc(j.Expect, func(e result.Expectation) bool {
			return !e.Evaluated && strings.Contains(e.Expr, c.lacks) && strings.Contains(e.Note, noWire)
		}) {
			t.Errorf("%s: %+v", c.lacks, j.Expect)
		}
	}
}
