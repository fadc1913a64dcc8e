package ports

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// tenGig is a port that nothing is to be said against.
func tenGig() Facts {
	used := &result.PortBQL{Limit: 90000, LimitMax: 1879048192}
	return Facts{
		Name: "eth1", Ifindex: 3, Driver: "ixgbe", Firmware: "0x800007c7", Link: "ether", Up: true, Carrier: true, SpeedMbit: 10000, Duplex: "full",
		MTU: 9000, MaxMTU: 9710, MAC: "02:00:00:00:00:01", TxPackets: 1 << 20,
		Channels: &result.PortChannels{Combined: 2, TXMax: 63}, Pause: &result.PortPause{},
		Queues: []result.PortQueue{{XPS: "00000005", BQL: used}, {XPS: "0000000a", BQL: used}},
		IRQs:   []result.PortIRQ{{Number: 41, Name: "eth1-TxRx-0", Affinity: "0-3", Effective: "0"}, {Number: 42, Name: "eth1-TxRx-1", Affinity: "0-3", Effective: "1"}},
	}
}

// inBond0 makes the port a slave of a bond that is used as it is.
func inBond0(f *Facts, a *Ask) { f.Master, a.Bond = "bond0", true }

// aBond0 makes it that bond.
func aBond0(f *Facts, a *Ask) {
	*f = Facts{Name: "bond0", Link: "ether", Kind: "bond", Driver: "bonding", Virtual: true, Up: true, Carrier: true, SpeedMbit: 10000, MTU: 9000, MaxMTU: 65535, Queues: make([]result.PortQueue, 16)}
	a.Bond = true
}

var prefix = netip.MustParsePrefix("192.0.2.1/24")

// refused are causes, each with what takes it away again.
var refused = []struct {
	name, code   string
	cause, mends func(f *Facts, a *Ask)
	says         string // must be in the sentence or in what to do
}{
	{"loopback", "loopback", func(f *Facts, _ *Ask) { f.Link, f.Virtual = "loopback", true }, func(f *Facts, _ *Ask) { f.Link, f.Virtual = "ether", false }, "loopback"},
	{"InfiniBand", "not_ethernet", func(f *Facts, _ *Ask) { f.Link = "infiniband" }, func(f *Facts, _ *Ask) { f.Link = "ether" }, "infiniband"},
	{"no bond", "no_bond", func(_ *Facts, a *Ask) { a.Bond = true }, func(_ *Facts, a *Ask) { a.Bond = false }, "--slaves"},
	{"no bond: a slave is none, but has one", "no_bond", func(_ *Facts, a *Ask) { a.Bond = true }, func(f *Facts, _ *Ask) { f.Master = "bond0" }, "--slaves"},
	{"veth", "virtual", func(f *Facts, _ *Ask) { f.Virtual, f.Kind = true, "veth" }, func(_ *Facts, a *Ask) { a.AllowVirtual = true }, "veth"},
	{"tun, which has no kind", "virtual", func(f *Facts, _ *Ask) { f.Virtual, f.Driver = true, "tun" }, func(f *Facts, _ *Ask) { f.Virtual = false }, "tun"},
	{"a bond as a port", "virtual", func(f *Facts, a *Ask) { aBond0(f, a); a.Bond = false }, func(_ *Facts, a *Ask) { a.Bond = true }, "--bond bond0"},
	{"default route", "default_route", func(f *Facts, _ *Ask) { f.DefaultRoute, f.DefaultBy = true, "eth1" }, func(f *Facts, _ *Ask) { f.DefaultRoute = false }, "default route:"},
	{"default route by a VLAN", "default_route", func(f *Facts, _ *Ask) { f.DefaultRoute, f.DefaultBy = true, "eth1.5" }, func(f *Facts, _ *Ask) { f.DefaultRoute = false }, "(dev eth1.5)"},
	{"default route by a bond in use", "default_route", func(f *Facts, a *Ask) { aBond0(f, a); f.DefaultRoute = true }, func(f *Facts, a *Ask) { *f = tenGig(); f.DefaultRoute = true; inBond0(f, a) }, "bond0"},
	{"SSH", "ssh", func(f *Facts, _ *Ask) { f.SSH = []string{"192.0.2.9:50000"} }, func(f *Facts, _ *Ask) { f.SSH = nil }, "192.0.2.9:50000"},
	{"master", "master", func(f *Facts, _ *Ask) { f.Master = "br0" }, func(f *Facts, _ *Ask) { f.Master = "" }, "ip link set eth1 nomaster"},
	{"master: the bond in use", "master", func(f *Facts, _ *Ask) { f.Master = "bond0" }, func(_ *Facts, a *Ask) { a.Bond = true }, "--bond bond0"},
	{"VLAN on it", "uppers", func(f *Facts, _ *Ask) { f.Uppers = []string{"eth1.5", "mv0"} }, func(f *Facts, _ *Ask) { f.Uppers = nil }, "ip link delete eth1.5; ip link delete mv0"},
	{"addresses", "addresses", func(f *Facts, _ *Ask) { f.Addresses = []netip.Prefix{prefix} }, func(_ *Facts, a *Ask) { a.TakeAddresses = true }, "192.0.2.1/24"},
	{"addresses that go", "addresses", func(f *Facts, _ *Ask) { f.Addresses = []netip.Prefix{prefix} }, func(f *Facts, _ *Ask) { f.Addresses = nil }, "--take-addresses"},
	{"addresses of the bond in use", "addresses", func(f *Facts, a *Ask) { aBond0(f, a); f.Addresses = []netip.Prefix{prefix} }, func(_ *Facts, a *Ask) { a.TakeAddresses = true }, "they stay"},
	{"down", "down", func(f *Facts, _ *Ask) { f.Up, f.Carrier, f.SpeedMbit, f.Duplex = false, false, 0, "" }, func(f *Facts, _ *Ask) { f.Up, f.Carrier, f.SpeedMbit = true, true, 10000 }, "ip link set eth1 up"},
	{"no carrier", "no_carrier", func(f *Facts, _ *Ask) { f.Carrier, f.SpeedMbit, f.Duplex = false, 0, "" }, func(f *Facts, _ *Ask) { f.Carrier, f.SpeedMbit = true, 10000 }, "cable"},
	{"no carrier: a slave of the bond in use", "no_carrier", func(f *Facts, _ *Ask) { f.Carrier = false }, inBond0, "cable"},
	{"no carrier: the bond in use", "no_carrier", func(f *Facts, a *Ask) { aBond0(f, a); f.Carrier = false }, func(f *Facts, _ *Ask) { f.Carrier = true }, "bond0"},
	{"no speed", "no_speed", func(f *Facts, _ *Ask) { f.SpeedMbit = 0 }, func(_ *Facts, a *Ask) { a.LineRate = 1e9 }, "line_rate="},
	{"half duplex", "half_duplex", func(f *Facts, _ *Ask) { f.Duplex = "half" }, func(f *Facts, _ *Ask) { f.Duplex = "full" }, "autoneg on"},
	{"slower", "slower", func(f *Facts, a *Ask) { f.SpeedMbit, a.LineRate = 1000, 10e9 }, func(_ *Facts, a *Ask) { a.LineRate = 0 }, "1000 Mbit/s, slower than the scenario's line_rate (10000 Mbit/s)"},
	{"slower: the port's speed as line rate is let pass", "slower", func(_ *Facts, a *Ask) { a.LineRate = 10.001e9 }, func(_ *Facts, a *Ask) { a.LineRate = 10e9 }, "auto"},
	{"faster", "faster", func(_ *Facts, a *Ask) { a.LineRate = 1e9 }, func(f *Facts, _ *Ask) { f.SpeedMbit = 1000 }, "faster than the scenario's line_rate (1000 Mbit/s), and a real line can't be made slower"},
	{"faster: what the line carries of such frames is its rate", "faster", func(_ *Facts, a *Ask) { a.LineRate = 7.15e9 }, func(_ *Facts, a *Ask) { a.FrameBytes = 60 }, "auto"},
	{"MTU", "mtu", func(f *Facts, a *Ask) { f.MaxMTU, a.MTU = 1500, 9000 }, func(f *Facts, _ *Ask) { f.MaxMTU = 9710 }, "topology.mtu=1500"},
	{"MTU of the bond in use", "mtu", func(f *Facts, a *Ask) { aBond0(f, a); f.MTU, a.FrameBytes = 1500, 4042 }, func(f *Facts, _ *Ask) { f.MTU = 9000 }, "--set traffic.payload=1452"},
	{"queues", "queues", func(_ *Facts, a *Ask) { a.Queues = 8 }, func(_ *Facts, a *Ask) { a.Queues = 2 }, "ethtool -L eth1 combined 8"},
	{"queues of a driver with channels for TX alone", "queues", func(f *Facts, a *Ask) { f.Channels, a.Queues = &result.PortChannels{TX: 2, TXMax: 8}, 8 }, func(_ *Facts, a *Ask) { a.Queues = 1 }, "ethtool -L eth1 tx 8"},
	{"one queue", "queues", func(f *Facts, a *Ask) { f.Queues, a.Queues = f.Queues[:1], 8 }, func(_ *Facts, a *Ask) { a.Queues = 1 }, "has 1 TX queue, and"},
	{"queues of a driver without channels", "queues", func(f *Facts, a *Ask) { f.Channels, a.Queues = nil, 8 }, func(f *Facts, _ *Ask) { f.Queues = make([]result.PortQueue, 8) }, "leave"},
}

func codes(f Facts, a Ask) []string {
	var all []string
	for _, r := range Refuse(f, a) {
		all = append(all, r.Code)
	}
	return all
}

func TestRefusalsComeAndGoWithTheirCause(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			f, a := tenGig(), Ask{}
			if got := codes(f, a); got != nil {
				t.Fatalf("refused before: %v", got)
			}
			c.cause(&f, &a)
			got := Refuse(f, a)
			if len(got) != 1 || got[0].Code != c.code || got[0].Interface != f.Name {
				t.Fatalf("refused for %+v, want %s", got, c.code)
			}
			if text := got[0].String(); !strings.Contains(text, c.says) || !strings.HasPrefix(text, f.Name+" ") || got[0].Remedy == "" {
				t.Errorf("it says %q, want %q in it", text, c.says)
			}
			c.mends(&f, &a)
			if got := codes(f, a); got != nil {
				t.Errorf("still refused: %v", got)
			}
		})
		covered[c.code] = true
	}
	for _, r := range refusals {
		if !covered[r.code] {
			t.Errorf("no case has %s", r.code)
		}
	}
}

// What is no reason.
func TestNotRefused(t *testing.T) {
	for name, set := range map[string]func(f *Facts, a *Ask){
		"a bond in use is asked of its slaves' queues": func(f *Facts, a *Ask) { aBond0(f, a); a.Queues = 8 },
		"a bond in use tells no speed":                 func(f *Facts, a *Ask) { aBond0(f, a); f.SpeedMbit = 0 },
		"a virtual port's speed is no line's":          func(f *Facts, a *Ask) { f.Virtual, a.AllowVirtual, a.LineRate = true, true, 1e9 },
		"a driver that names no largest MTU":           func(f *Facts, a *Ask) { f.MaxMTU, a.MTU = 0, 65000 },
		"a slave has the MTU of the bond in use":       func(f *Facts, a *Ask) { inBond0(f, a); f.MTU, a.FrameBytes = 1500, 4042 },
		"a VLAN on the bond in use":                    func(f *Facts, a *Ask) { aBond0(f, a); f.Uppers = []string{"bond0.5"} },
		"one queue is as many as there are":            func(_ *Facts, a *Ask) { a.Queues = 1 },
	} {
		f, a := tenGig(), Ask{}
		set(&f, &a)
		if got := Refuse(f, a); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// All that is against a port is told at once, so that a user does not mend one thing a try.
func TestEveryRefusalAtOnce(t *testing.T) {
	f := tenGig()
	f.DefaultRoute, f.SSH, f.Master, f.Addresses, f.Carrier = true, []string{"192.0.2.9:50000"}, "bond0", []netip.Prefix{prefix}, false
	want := []string{"default_route", "ssh", "master", "addresses", "no_carrier"}
	if got := codes(f, Ask{}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	f.Link = "loopback" // nothing else matters then
	if got := codes(f, Ask{}); !slices.Equal(got, []string{"loopback"}) {
		t.Errorf("%v", got)
	}
}

func TestLineRate(t *testing.T) {
	for _, c := range []struct {
		mbit, frame int
		want        float64
	}{
		{0, 1000, 0},
		{10000, 0, 10e9},
		{10000, 4042, 10e9 * 4042 / 4066},
		{1000, 60, 1e9 * 60 / 84}, // 1.488 million frames a second
		{1000, 42, 1e9 * 42 / 84}, // padded to 60
	} {
		if got := LineRate(Facts{SpeedMbit: c.mbit}, c.frame); got < c.want-1 || got > c.want+1 {
			t.Errorf("%d Mbit/s, frames of %d: %.0f, want %.0f", c.mbit, c.frame, got, c.want)
		}
	}
}
