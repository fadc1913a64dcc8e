package doctor

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bondrepro/internal/ifstate"
	"bondrepro/internal/ports"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

func eth1() ports.Facts {
	return ports.Facts{
		Name: "eth1", Driver: "ixgbe", Firmware: "0x800007c7", Bus: "0000:3b:00.0", Link: "ether", Up: true, Carrier: true, SpeedMbit: 10000, Duplex: "full",
		MTU: 9000, Rings: &result.PortRings{TX: 512}, Queues: make([]result.PortQueue, 8),
	}
}

func TestAPortThatIsTakenIsDescribed(t *testing.T) {
	p := Ports{Slaves: []string{"eth1"}, Scenario: scenarios.Default()}
	want := []Check{{Name: "eth1", OK: true, Needed: true, Found: "ixgbe, 10000 Mbit/s full duplex, 8 TX queues, TX ring 512, firmware 0x800007c7, 0000:3b:00.0"}}
	if got := p.judge(eth1(), 0); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	f := eth1()
	f.Queues = f.Queues[:1]
	if got := describe(f); !strings.Contains(got, " 1 TX queue,") {
		t.Errorf("a port with one queue: %s", got)
	}
}

// What the user allows, what the scenario wants and the port's number among the slaves have their say.
func TestARefusedPortIsUnhealthy(t *testing.T) {
	unequal := scenarios.Default()
	unequal.Topology.Slaves.LineRate = scenarios.LineRates{BitsPerSecond: []float64{10e9, 25e9}}
	jumbo := scenarios.Default()
	jumbo.Topology.MTU = 9000
	for _, c := range []struct {
		name  string
		p     Ports
		spoil func(f *ports.Facts)
		slave int
		want  []string
	}{
		{"addresses", Ports{}, func(f *ports.Facts) { f.Addresses = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")} }, 0, []string{"addresses"}},
		{"addresses allowed", Ports{TakeAddresses: true}, func(f *ports.Facts) { f.Addresses = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")} }, 0, nil},
		{"virtual", Ports{}, func(f *ports.Facts) { f.Virtual = true }, 0, []string{"virtual"}},
		{"virtual allowed", Ports{AllowVirtual: true}, func(f *ports.Facts) { f.Virtual = true }, 0, nil},
		{"the second's line rate", Ports{Scenario: unequal}, func(*ports.Facts) {}, 1, []string{"slower"}},
		{"the first's line rate", Ports{Scenario: unequal}, func(*ports.Facts) {}, 0, nil},
		{"MTU", Ports{Scenario: jumbo}, func(f *ports.Facts) { f.MaxMTU = 1500 }, 0, []string{"mtu"}},
		{"slave of the bond in use", Ports{Bond: "bond0"}, func(f *ports.Facts) { f.Master = "bond0" }, 0, nil},
		{"slave of another bond", Ports{}, func(f *ports.Facts) { f.Master = "bond0" }, 0, []string{"master"}},
	} {
		f := eth1()
		c.spoil(&f)
		checks := c.p.judge(f, c.slave)
		var got []string
		for _, check := range checks {
			if !check.OK {
				got = append(got, check.Code)
				if check.Found == "" || check.Remedy == "" || check.Name != "eth1" {
					t.Errorf("%s: %+v", c.name, check)
				}
			}
		}
		if !slices.Equal(got, c.want) || Healthy(checks) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A scenario's line rates are the slaves', in their order.
func TestNumberOfASlave(t *testing.T) {
	built, inUse := Ports{Slaves: []string{"eth1", "eth2"}}, Ports{Bond: "bond0"}
	if built.slave(0) != 0 || built.slave(1) != 1 || inUse.slave(0) != 0 || inUse.slave(1) != 0 || inUse.slave(2) != 1 {
		t.Error("a bond that is in use is no slave")
	}
}

func TestAWeaknessIsNotUnhealthy(t *testing.T) {
	if !Healthy([]Check{{Weak: true, Found: "irqbalance runs"}}) {
		t.Error("a weak verdict is one")
	}
}

func TestPortsOfThisMachine(t *testing.T) {
	checks, err := Examine(t.Context(), Options{Ports: Ports{Slaves: []string{"lo", "no-such-port"}, Scenario: scenarios.Default()}})
	if err != nil || Healthy(checks) {
		t.Fatalf("%+v, %v", checks, err)
	}
	for name, says := range map[string]string{"lo": "loopback", "no-such-port": "there is no interface no-such-port here: there are "} {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name && c.Needed && !c.OK && strings.Contains(c.Found, says) }) {
			t.Errorf("%s is not said to be %q: %+v", name, says, checks)
		}
	}
	for _, c := range checks {
		if c.Name == "QEMU" || c.Name == "netns testbed" {
			t.Errorf("real ports need none: %+v", c)
		}
	}
}

func TestUsageOfPorts(t *testing.T) {
	for says, p := range map[string]Ports{
		"name one of them": {Slaves: []string{"lo"}, Bond: "bond0"},
		"lo twice":         {Slaves: []string{"lo", "eth9", "lo"}},
	} {
		if _, err := Examine(t.Context(), Options{Ports: p}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestRights(t *testing.T) {
	for caps, want := range map[string]bool{"000001ffffffffff": true, "0000000000001000": true, "0000000000000fff": false, "0000000000000000": false} {
		root := t.TempDir()
		at := filepath.Join(root, "proc/thread-self")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "status"), []byte("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t"+caps+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if c := rights(root); c.OK != want || !c.Needed || (c.Remedy == "") != want {
			t.Errorf("%s: %+v", caps, c)
		}
	}
}

func TestBonding(t *testing.T) {
	if c := bonding(nil); !c.OK || !c.Needed || c.Remedy != "" {
		t.Errorf("%+v", c)
	}
	if c := bonding(errors.New("bonding is not loaded")); c.OK || !c.Needed || c.Found != "bonding is not loaded" || c.Remedy == "" {
		t.Errorf("%+v", c)
	}
}

// What can't be put back is asked of the ports that a run would change.
func TestWhatCantBePutBack(t *testing.T) {
	slave := eth1()
	slave.Master = "bond0"
	for _, c := range []struct {
		name  string
		p     Ports
		facts []ports.Facts
		asked []string
	}{
		{"ports", Ports{Slaves: []string{"eth1"}}, []ports.Facts{eth1()}, []string{"eth1"}},
		{"a bond in use", Ports{Bond: "bond0"}, []ports.Facts{{Name: "bond0", Kind: "bond"}, slave}, []string{"bond0"}},
	} {
		var asked []string
		c.p.exact = func(names []string) ([]ifstate.Problem, error) {
			asked = names
			return []ifstate.Problem{{Interface: names[0], What: "qdisc cake 8001:"}}, nil
		}
		got := c.p.unexact(c.facts)
		if !slices.Equal(asked, c.asked) || len(got) != 1 || got[0].OK || !got[0].Needed || !strings.Contains(got[0].Found, "cake") || got[0].Remedy == "" {
			t.Errorf("%s: asked of %v: %+v", c.name, asked, got)
		}
		c.p.exact = func([]string) ([]ifstate.Problem, error) { return nil, nil }
		if got := c.p.unexact(c.facts); got != nil {
			t.Errorf("%s: %+v", c.name, got)
		}
		c.p.exact = func([]string) ([]ifstate.Problem, error) { return nil, errors.New("no netlink") }
		if got := c.p.unexact(c.facts); len(got) != 1 || Healthy(got) || got[0].Found != "no netlink" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
