package scenarios

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What can never be evaluated is refused, at the metric in the expression or at the assignment that took away what it
// rests on; with what it rests on, it is taken.
func TestExpectationsThatCanNeverHold(t *testing.T) {
	const (
		down  = "faults=[{at: 1s, slave_down: 0}]"
		upToo = "faults=[{at: 2s, slave_up: 0}, {at: 1s, slave_down: 0}]"
		xor   = "topology.bond.mode=balance-xor"
	)
	for _, c := range []struct {
		expect string
		sets   []string
		refuse string // part of the sentence; "" when it is taken
	}{
		{"failover.arp >= 1", nil, "there is no fault"},
		{"failover.igmp >= 1", nil, "there is no fault"},
		{"failover.lost < 1%", nil, "there is no fault"},
		{"failover.arp >= 1", []string{down}, ""},
		{"failover.lost < 1%", []string{down}, ""},
		{"failover.gap < 1s", nil, ""},
		{"failover.back > 1%", nil, "there is no fault"},
		{"failover.back > 1%", []string{down}, "a later slave_up of the same slave"},
		{"failover.back > 1%", []string{upToo}, ""},
		{"failover.back > 1%", []string{"faults=[{at: 1s, slave_up: 0}, {at: 2s, slave_down: 0}]"}, "a later slave_up"},
		{"failover.back > 1%", []string{"faults=[{at: 1s, slave_down: 0}, {at: 2s, slave_up: 1}]"}, "a later slave_up"},
		{"failover.back > 1%", []string{upToo, "traffic.duration=2500ms"}, "more than 500ms after"},
		{"failover.lost < 1%", []string{"faults=[{at: 1s, replace_qdisc: 0}]"}, "replace_qdisc"},
		{"failover.lost < 1%", []string{down, "topology.bond.mode=broadcast"}, "more than once"},
		{"failover.lost < 1%", []string{down, "traffic.socket.gso=2"}, "gso"},
		{"wire.lost == 0", []string{"traffic.socket.gso=2"}, "gso"},
		{"ledger.remainder == 0", []string{"traffic.socket.gso=2"}, "gso"},
		{"ledger.remainder == 0", []string{down}, "slave_down"},
		{"ledger.remainder == 0", []string{"faults=[{at: 1s, replace_qdisc: 0}]"}, "replace_qdisc"},
		{"slaves.qdisc.stuck == 0", nil, "set traffic.burst.packets"},
		{"slaves.qdisc.stuck == 0", []string{"traffic.burst.packets=1"}, ""},
		{"slaves.qdisc.stuck == 0", []string{"traffic.burst.packets=1", down}, "slave_down"},
		{"wire.crossed == 0", []string{"topology.bond.mode=broadcast"}, "more than once"},
		{"wire.crossed == 0", nil, ""},
		{"orphaned == false", []string{"topology.bond.mode=broadcast"}, ""},
		{"uncharged.median < 8", []string{"topology.bond.mode=broadcast"}, ""},
		{"flows.mispredicted == 0", nil, "mode active-backup does not spread"},
		{"flows.mispredicted == 0", []string{xor}, ""},
		{"flows.mispredicted == 0", []string{xor, down}, "slave_down"},
		{"flows.mispredicted == 0", []string{xor, "topology.bond.xmit_hash_policy=encap3+4"}, "encap3+4"},
		{"flows.mispredicted == 0", []string{xor, "topology.bond.xmit_hash_policy=null"}, ""},
		// "or" can hold without it, "and" can't.
		{"flows.mispredicted == 0 or ok > 1", nil, ""},
		{"ok > 1 or wire.lost == 0 and flows.mispredicted == 0", nil, ""},
		{"(flows.mispredicted == 0 or failover.arp == 1)", nil, "flows.mispredicted can never"},
		{"ok > 1 and flows.mispredicted == 0", nil, "flows.mispredicted can never"},
	} {
		s := Default()
		for _, set := range append(c.sets, "guards.slave_stable=false", "expect=['"+c.expect+"']") {
			if err := s.Set(set); err != nil {
				t.Fatal(err)
			}
		}
		switch err := s.Validate(); {
		case c.refuse == "" && err != nil:
			t.Errorf("%s with %s: %v", c.expect, c.sets, err)
		case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), "can never be evaluated here") || !strings.Contains(err.Error(), c.refuse)):
			t.Errorf("%s with %s: got %v, want %s", c.expect, c.sets, err, c.refuse)
		}
	}
}

// A preset whose fault is taken away says so at the assignment; a control that takes it away is its own business.
func TestExpectationsOfPresets(t *testing.T) {
	for set, want := range map[string]string{
		"faults=[]": "expect.1: failover.lost can never be evaluated here: there is no fault; " +
			"add one such as faults: [{at: 1s, slave_down: 0}] (or take the condition out of expect)\n    faults=[]\n           ^",
		"faults=[{at: 1s, slave_down: 0}]": "expect.4: failover.back can never be evaluated here",
		"control={faults: []}":             "",
		"expect=['failover.igmp >= 1']":    "",
	} {
		s, _, err := Load("bond-failover")
		if err == nil {
			err = s.Set(set)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(); want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: got %v, want %s", set, err, want)
		}
	}
}

// The table is of metrics and fields that exist.
func TestNeeds(t *testing.T) {
	all := paths("", reflect.TypeFor[Scenario]())
	for _, n := range needs {
		for _, name := range n.metrics {
			if _, ok := FindMetric(name); !ok {
				t.Errorf("there is no metric %s", name)
			}
		}
		for _, path := range n.fields {
			if !slices.Contains(all, path) {
				t.Errorf("there is no field %s", path)
			}
		}
	}
}
