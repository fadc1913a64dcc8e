package ports_test

import (
	"slices"
	"testing"

	"bondrepro/internal/ports"
	"bondrepro/internal/vmtest"
)

func TestMain(m *testing.M) { vmtest.Main(m) }

// TestInGuest runs the tests below that begin with TestReal on four NICs with four queues each.
func TestInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	files, err := vmtest.Program(t.Context(), "ip")
	if err != nil {
		t.Fatal(err)
	}
	vmtest.Guest{Modules: []string{"bonding", "8021q"}, NICs: 4, Queues: 4, CPUs: 4, Files: files}.Run(t, "^TestReal")
}

func onlyInGuest(t *testing.T) {
	t.Helper()
	if !vmtest.Inside() {
		t.Skip("needs a guest's interfaces: TestInGuest runs it there")
	}
}

// named is a line rate for ports that tell no speed, as those of a guest.
var named = ports.Ask{LineRate: 1e9}

func TestRealPorts(t *testing.T) {
	onlyInGuest(t)
	ip(t, `link set eth0 up
		link set eth1 up`)
	f := look(t, "eth0")
	if got := codes(f, ports.Ask{LineRate: 1e9, Queues: 4, MTU: 9000}); got != nil {
		t.Errorf("a fresh port is refused for %v", got)
	}
	if f.Virtual || f.Kind != "" || f.Driver != "virtio_net" || f.Bus == "" || len(f.Queues) != 4 || f.Queues[0].XPS == "" || f.Queues[0].BQL == nil ||
		f.Rings == nil || f.Rings.TX == 0 || f.Channels == nil || f.Channels.Combined != 4 || f.MaxMTU == 0 || len(f.Offloads) == 0 {
		t.Errorf("%+v", f)
	}
	ip(t, `link add bond0 type bond mode active-backup miimon 100
		link set eth2 master bond0
		link set eth3 master bond0
		link set bond0 up`)
	asItIs := ports.Ask{Bond: true, LineRate: 1e9}
	for _, c := range []change{
		{"nothing asked", "", "", "eth0", []string{"no_speed"}, ports.Ask{}},
		{"down", "link set eth0 down", "link set eth0 up", "eth0", []string{"down"}, named},
		{"address", "address add 192.0.2.1/24 dev eth0", "address flush dev eth0 scope global", "eth0", []string{"addresses"}, named},
		{"default route", "route add default dev eth0", "route del default", "eth0", []string{"default_route"}, named},
		{"VLAN", "link add eth0.5 link eth0 type vlan id 5", "link del eth0.5", "eth0", []string{"uppers"}, named},
		{"VLAN with the default route", "link add eth0.5 link eth0 type vlan id 5\nlink set eth0.5 up\n-6 route add default dev eth0.5", "link del eth0.5", "eth0", []string{"default_route", "uppers"}, named},
		{"queues", "", "", "eth0", []string{"queues"}, ports.Ask{LineRate: 1e9, Queues: 3}},
		{"MTU", "", "", "eth0", []string{"mtu"}, ports.Ask{LineRate: 1e9, MTU: 1 << 17}},
		{"in a bond", "", "", "eth2", []string{"master"}, named},
		{"in the bond in use", "", "", "eth2", nil, asItIs},
		{"the bond as a port", "", "", "bond0", []string{"virtual"}, named},
		{"the bond in use", "", "", "bond0", nil, asItIs},
		{"the bond in use with a VLAN with the default route", "link add bond0.5 link bond0 type vlan id 5\nlink set bond0.5 up\nroute add default dev bond0.5", "link del bond0.5", "bond0", []string{"default_route"}, asItIs},
		{"no bond", "", "", "eth1", []string{"no_bond"}, asItIs},
	} {
		c.check(t)
	}
	// The default route of a VLAN on a bond goes out of the bond's slaves.
	ip(t, "link add bond0.5 link bond0 type vlan id 5\nlink set bond0.5 up\nroute add default dev bond0.5")
	if f := look(t, "eth3"); !f.DefaultRoute || f.DefaultBy != "bond0.5" || f.Master != "bond0" || f.Uppers != nil {
		t.Errorf("%+v", f)
	}
	if f := look(t, "bond0"); f.Driver != "bonding" || f.Firmware != "" {
		t.Errorf("a bond has no firmware: %+v", f)
	}
	if got, err := ports.Slaves("bond0"); err != nil || !slices.Equal(got, []string{"eth2", "eth3"}) {
		t.Errorf("the slaves of bond0: %v, %v", got, err)
	}
	if c, err := ports.Counters("eth0"); err != nil || len(c) == 0 {
		t.Errorf("ethtool -S eth0: %v, %v", c, err)
	}
	if m := ports.ReadMachine(); m.CPUs != 4 || m.Irqbalance {
		t.Errorf("%+v", m)
	}
}
