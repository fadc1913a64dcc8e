package judge

import (
	"slices"
	"testing"

	"bondrepro/reproducer/result"
)

// TestOutOfOrder: more than 1 % is remarked where it is to be expected, and never makes a run BAD.
func TestOutOfOrder(t *testing.T) {
	robin := func() *plan { p := stock(); p.sc.Topology.Bond.Mode = "balance-rr"; return p }
	expecting := func() *plan { p := robin(); p.sc.Expect = []string{"wire.crossed <= 5000"}; return p }
	for _, c := range []struct {
		name    string
		plan    func() *plan
		crossed uint64
		want    bool
	}{
		{"several queues", manyQueues, 268, true},
		{"balance-rr", robin, 268, true},
		{"1 %", robin, 92, false},
		{"just more", robin, 93, true},
		{"in order", robin, 0, false},
		{"one queue, one slave", stock, 268, false},
		{"the scenario expects something of it", expecting, 268, false},
	} {
		p := c.plan()
		rec := p.simulate()
		placed(p.sc, allOn(0))(&rec)
		rec.Wire.Senders[0].Crossed = c.crossed
		j := Run(p.sc, p.preflight(), rec)
		got := slices.ContainsFunc(j.Diagnosis, func(d result.Finding) bool { return d.Code == result.OutOfOrder })
		if got != c.want || j.Verdict != result.Good || j.Diagnosis[0].Code == result.OutOfOrder {
			t.Errorf("%s: %t, %s, %v", c.name, got, j.Verdict, j.Diagnosis)
		}
	}
}
