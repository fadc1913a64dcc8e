package bondctl

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// twoPorts is a bond of eth1 and eth0, enslaved in that order.
func twoPorts(mode, policy string) ShownBond {
	slave := ShownSlave{Up: true, Carrier: true, MIIStatus: "UP", State: "ACTIVE"}
	b := ShownBond{
		Name: "bond0", MAC: "52:54:00:b0:4d:01", Mode: mode, Options: map[string]string{"xmit_hash_policy": policy}, InOrder: true,
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24"), netip.MustParsePrefix("2001:db8::1/64"), netip.MustParsePrefix("fe80::1/64")},
		Slaves:    []ShownSlave{slave, slave},
	}
	b.Slaves[0].Name, b.Slaves[1].Name = "eth1", "eth0"
	return b
}

func shown(b ShownBond) Show { return Show{Kernel: "6.1.0-57-cloud-amd64", Bonds: []ShownBond{b}} }

func to(group string) []Flow {
	return []Flow{{Destination: netip.MustParseAddr(group), Port: 6000, SourcePort: 40000}}
}

// Every mode, and what takes slaves out of the choice. 239.1.1.1 and 2 take the second and the first in layer2: the
// last bytes of both MAC addresses are 1 and 1 or 2, and 0x0800 is even.
func TestPredict(t *testing.T) {
	for _, c := range []struct {
		name         string
		mode, policy string
		change       func(*ShownBond)
		first, next  string // what 239.1.1.1 and 239.1.1.2 take
	}{
		{name: "layer2", mode: "balance-xor", policy: "layer2", first: "eth1", next: "eth0"},
		{name: "other MAC", mode: "balance-xor", policy: "layer2", change: func(b *ShownBond) { b.MAC = "52:54:00:b0:4d:02" }, first: "eth0", next: "eth1"},
		{name: "no carrier", mode: "balance-xor", policy: "layer2", change: func(b *ShownBond) { b.Slaves[0].Carrier = false }, first: "eth0", next: "eth0"},
		{name: "MII down", mode: "balance-xor", policy: "layer2", change: func(b *ShownBond) { b.Slaves[0].MIIStatus = "GOING_DOWN" }, first: "eth0", next: "eth0"},
		{name: "set down", mode: "balance-xor", policy: "layer2", change: func(b *ShownBond) { b.Slaves[1].Up = false }, first: "eth1", next: "eth1"},
		{name: "LACP", mode: "802.3ad", policy: "layer2", change: func(b *ShownBond) {
			b.LACP = &ShownLACP{Aggregator: 2}
			b.Slaves[0].Aggregator, b.Slaves[1].Aggregator = 2, 2
		}, first: "eth1", next: "eth0"},
		{name: "another aggregator", mode: "802.3ad", policy: "layer2", change: func(b *ShownBond) {
			b.LACP = &ShownLACP{Aggregator: 2}
			b.Slaves[0].Aggregator, b.Slaves[1].Aggregator = 1, 2
		}, first: "eth0", next: "eth0"},
		{name: "not distributing", mode: "802.3ad", policy: "layer2", change: func(b *ShownBond) {
			b.LACP = &ShownLACP{Aggregator: 2}
			b.Slaves[0].Aggregator, b.Slaves[1].Aggregator = 2, 2
			b.Slaves[1].State = "BACKUP"
		}, first: "eth1", next: "eth1"},
		{name: "active slave", mode: "active-backup", change: func(b *ShownBond) { b.ActiveSlave, b.Slaves[0].State = "eth0", "BACKUP" }, first: "eth0", next: "eth0"},
		{name: "broadcast", mode: "broadcast", first: "eth1 eth0", next: "eth1 eth0"},
		{name: "in turn", mode: "balance-rr", first: "eth1 eth0", next: "eth1 eth0"},
		{name: "no order needed", mode: "broadcast", change: func(b *ShownBond) { b.InOrder = false }, first: "eth1 eth0", next: "eth1 eth0"},
	} {
		b := twoPorts(c.mode, c.policy)
		if c.change != nil {
			c.change(&b)
		}
		p, err := Predict(shown(b), "bond0", slices.Concat(to("239.1.1.1"), to("239.1.1.2")))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if first, next := strings.Join(p.Flows[0].Slaves, " "), strings.Join(p.Flows[1].Slaves, " "); first != c.first || next != c.next {
			t.Errorf("%s: %s and %s, want %s and %s", c.name, first, next, c.first, c.next)
		}
		if (p.Formula != "") != (c.policy != "") {
			t.Errorf("%s: formula %q", c.name, p.Formula)
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	none := func(*Show) {}
	for _, c := range []struct {
		mode, policy, to string
		change           func(*Show)
		want             string
	}{
		{"balance-tlb", "layer2", "239.1.1.1", none, "bond0: balance-tlb takes the load into account, and sends multicast out of its active slave: this can't be predicted"},
		{"balance-alb", "layer2", "239.1.1.1", none, "load into account"},
		{"balance-xor", "encap3+4", "239.1.1.1", none, "nobody outside the kernel can tell"},
		{"balance-xor", "layer2", "192.0.2.7", none, "192.0.2.7 is no multicast group: the MAC address that its frames go to is needed"},
		{"balance-xor", "layer2", "239.1.1.1", func(s *Show) { s.Bonds[0].InOrder = false }, "in which order"},
		{"balance-xor", "layer2", "239.1.1.1", func(s *Show) { s.Bonds[0].Slaves = nil }, "no slave can send"},
		{"balance-xor", "layer2", "239.1.1.1", func(s *Show) { s.Bonds[0].MAC = "" }, "is not an Ethernet address"},
		{"balance-xor", "layer2", "239.1.1.1", func(s *Show) { s.Kernel = "4.4.0" }, "Linux 4.4.0"},
		{"balance-xor", "layer2+3", "239.1.1.1", func(s *Show) { s.Bonds[0].Addresses = nil }, "looks at what the flow to 239.1.1.1 lacks: the senders' own address is not known"},
		{"802.3ad", "layer2", "239.1.1.1", none, "no slave can send"}, // no active aggregator
		{"active-backup", "layer2", "239.1.1.1", func(s *Show) { s.Bonds[0].Slaves[0].Up, s.Bonds[0].Slaves[1].Up = false, false }, "no slave can send"},
		{"balance-xor", "layer2", "239.1.1.1", func(s *Show) { s.Bonds[0].Name = "bond1" }, "there is no bond named bond0"},
	} {
		s := shown(twoPorts(c.mode, c.policy))
		c.change(&s)
		if _, err := Predict(s, "bond0", to(c.to)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s to %s: %v, want %q", c.mode, c.policy, c.to, err, c.want)
		}
	}
	flow := to("192.0.2.7")
	flow[0].DestinationMAC = "52:54"
	if _, err := Predict(shown(twoPorts("balance-xor", "layer3+4")), "bond0", flow); err == nil || !strings.Contains(err.Error(), "not an Ethernet address") {
		t.Errorf("a MAC that is none: %v", err)
	}
}

// The source is the bond's own where the destination leaves no choice.
func TestPredictSource(t *testing.T) {
	for dest, want := range map[string]string{
		"239.1.1.1": "192.0.2.1", "ff0e::1": "2001:db8::1", "ff02::1": "fe80::1",
	} {
		p, err := Predict(shown(twoPorts("balance-xor", "layer3+4")), "bond0", to(dest))
		if err != nil || p.Flows[0].Source.String() != want {
			t.Errorf("%s: %+v, %v, want %s", dest, p.Flows, err, want)
		}
	}
}

func TestPredictText(t *testing.T) {
	flows := to("239.1.1.1")
	for _, g := range []string{"239.1.1.2", "239.1.1.3", "ff0e::42"} {
		flows = append(flows, to(g)...)
	}
	p, err := Predict(shown(twoPorts("balance-xor", "layer2")), "bond0", flows)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/show/predict-layer2.txt", text.String())
	asJSON, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/show/predict-layer2.shown", string(asJSON)+"\n")
	p, err = Predict(shown(twoPorts("balance-rr", "layer2")), "bond0", []Flow{{Destination: netip.MustParseAddr("ff0e::1"), Port: 7}})
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/show/predict-balance-rr.txt", text.String())
}

func TestParseDestinations(t *testing.T) {
	for text, want := range map[string]string{
		"239.1.1.1":           "239.1.1.1",
		"239.1.1.1,ff0e::1":   "239.1.1.1 ff0e::1",
		"239.1.1.254+3":       "239.1.1.254 239.1.1.255 239.1.2.0",
		"ff02::ffff+2":        "ff02::ffff ff02::1:0",
		"239.1.1.1+0":         "",
		"239.1.1.1+65537":     "",
		"239.1.1.1+two":       "",
		"group+2":             "",
		"239.1.1.1,":          "",
		"255.255.255.255+2":   "",
		"239.1.1.1 239.1.1.2": "",
		"":                    "",
	} {
		got, err := ParseDestinations(text)
		if joined(got, netip.Addr.String) != strings.ReplaceAll(want, " ", ", ") || (err == nil) != (want != "") {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}
