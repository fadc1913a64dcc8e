package xmithash

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

var (
	ourMAC = MAC{0x52, 0x54, 0x00, 0xb0, 0x4d, 0x01}
	ours4  = netip.MustParseAddrPort("192.0.2.1:40000")
	ours6  = netip.MustParseAddrPort("[2001:db8::1]:40000")
)

// spread counts how a policy spreads the 16 groups over the slaves.
func spread(t *testing.T, m Formula, policy, format string, from netip.AddrPort, slaves int) []int {
	t.Helper()
	n := make([]int, slaves)
	for i := 1; i <= 16; i++ {
		g := netip.AddrPortFrom(netip.MustParseAddr(fmt.Sprintf(format, i)), 6000)
		s, err := m.Slave(policy, Flow{MAC: ourMAC, From: from, Group: g}, slaves)
		if err != nil {
			t.Fatal(err)
		}
		n[s]++
	}
	return n
}

// TestMeasured holds what was seen on 6.1: layer2+3 puts 239.1.1.1 to 16 on one slave, layer2 and layer3+4 spread them.
func TestMeasured(t *testing.T) {
	for policy, even := range map[string]bool{"layer2": true, "layer2+3": false, "encap2+3": false, "layer3+4": true, "vlan+srcmac": false} {
		n := spread(t, Linux518, policy, "239.1.1.%d", ours4, 2)
		slices.Sort(n)
		want := []int{0, 16}
		if even {
			want = []int{8, 8}
		}
		if !slices.Equal(n, want) {
			t.Errorf("%s: %v, want %v", policy, n, want)
		}
	}
	if n := spread(t, Linux518, "layer2", "ff02::42:%x", ours6, 2); !slices.Equal(n, []int{8, 8}) {
		t.Errorf("layer2 with IPv6: %v", n)
	}
}

// TestByHand holds hashes worked out on paper from the kernel's source.
func TestByHand(t *testing.T) {
	four := Flow{MAC: ourMAC, From: ours4, Group: netip.MustParseAddrPort("239.66.1.7:6000")}
	tagged := four
	tagged.VLAN = 100
	six := Flow{MAC: ourMAC, From: ours6, Group: netip.MustParseAddrPort("[ff02::42:7]:6000")}
	for _, c := range []struct {
		formula Formula
		policy  string
		flow    Flow
		want    uint32
	}{
		{Linux518, "layer2", four, 0x07 ^ 0x01 ^ 0x0800},
		{Linux415, "layer2", four, 0x07 ^ 0x01 ^ 0x0008},
		{Linux518, "layer2", six, 0x07 ^ 0x01 ^ 0x86dd},
		{Linux415, "layer2", six, 0x07 ^ 0x01 ^ 0xdd86},
		// 0x0806 ^ 0x070142ef ^ 0x010200c0 = 0x06034a29; ^ >>16: 0x06034c2a; ^ >>8: 0x06054f66.
		{Linux518, "layer2+3", four, 0x06054f66},
		{Linux515, "layer2+3", four, 0x06054f66 >> 1},
		// 40000 is 9c40 and 6000 is 1770 in the header, 0x7017409c as a number; ^ 0x0603422f of the addresses = 0x761402b3; ^ >>16: 0x761474a7; ^ >>8: 0x766260d3.
		{Linux518, "layer3+4", four, 0x766260d3 >> 1},
		{Linux415, "layer3+4", four, 0x766260d3 >> 1},
		{Linux518, "vlan+srcmac", four, 0x525400 ^ 0xb04d01},
		{Linux518, "vlan+srcmac", tagged, 0x525400 ^ 0xb04d01 ^ 100},
		{Linux518, "layer2", tagged, 0x07 ^ 0x01 ^ 0x0800}, // the EtherType is not the tag's
		{Linux518, "layer3+4", tagged, 0x766260d3 >> 1},
		// ff02::42:7 folds to 0x02ff ^ 0x07004200 = 0x070040ff, 2001:db8::1 to 0xb80d0120 ^ 0x01000000 = 0xb90d0120; with
		// 0x7017409c: 0xce1a0143; ^ >>16: 0xce1acf59; ^ >>8: 0xced4d596.
		{Linux518, "layer3+4", six, 0xced4d596 >> 1},
	} {
		got, err := hashes[c.policy](c.formula, c.flow)
		if err != nil || got != c.want {
			t.Errorf("%s %s of %v: %#x, %v, want %#x", c.formula.Kernels, c.policy, c.flow.Group, got, err, c.want)
		}
	}
}

func TestThreeSlaves(t *testing.T) {
	n := spread(t, Linux518, "layer2", "239.1.1.%d", ours4, 3)
	if n[0]+n[1]+n[2] != 16 || slices.Min(n) < 4 {
		t.Errorf("%v", n)
	}
}

func TestWhy(t *testing.T) {
	for _, c := range []struct{ mode, policy, want string }{
		{"balance-xor", "layer2", ""},
		{"802.3ad", "layer3+4", ""},
		{"802.3ad", "encap3+4", "own hash"},
		{"balance-rr", "layer2", "in turn"},
		{"balance-tlb", "layer2", "load"},
		{"balance-alb", "layer2", "also for multicast"},
		{"active-backup", "layer2", "active slave"},
		{"balance-xor", "layer5", "no xmit_hash_policy"},
		{"xor", "layer2", "no bonding mode"},
	} {
		if why := Why(c.mode, c.policy); (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s %s: %q, want %q", c.mode, c.policy, why, c.want)
		}
	}
}

// A host's own MAC address is in the hash, not one made of its IP address.
func TestUnicast(t *testing.T) {
	host := Flow{MAC: ourMAC, From: ours4, Group: netip.MustParseAddrPort("192.0.2.7:6000"), To: MAC{0x52, 0x54, 0, 0, 0, 0x99}}
	if got, err := layer2(Linux518, host); err != nil || got != 0x99^0x01^0x0800 {
		t.Errorf("%#x, %v", got, err)
	}
}

// The patch level decides where the change was carried back; a release of a distribution often has none.
func TestOfRelease(t *testing.T) {
	for release, want := range map[string]Formula{
		"6.1.0-57-cloud-amd64": Linux518, "5.18.0": Linux518, "5.18-rc1": Linux518, "7.2": Linux518,
		"5.17.6": Linux518, "5.17.5": Linux515, "5.16.20": Linux515, "5.15.38": Linux518, "5.15.37": Linux515, "5.15.0-91-generic": Linux515,
		"5.14.0-427.el9.x86_64": Linux415, "5.10.0-30-amd64": Linux415, "4.15.0": Linux415,
	} {
		if got, err := OfRelease(release); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", release, got.Kernels, err, want.Kernels)
		}
	}
	for _, release := range []string{"4.14.300", "3.10.0", "", "six", "6"} {
		if got, err := OfRelease(release); err == nil {
			t.Errorf("%q: %q", release, got.Kernels)
		}
	}
}

// TestLacking: a flow that lacks what a policy looks at is no prediction.
func TestLacking(t *testing.T) {
	whole := Flow{MAC: ourMAC, From: ours4, Group: netip.MustParseAddrPort("239.1.1.1:6000")}
	for _, c := range []struct {
		policy string
		spoil  func(*Flow)
		ok     bool
	}{
		{"layer2", func(f *Flow) { f.From = netip.AddrPort{} }, true},
		{"layer2", func(f *Flow) { f.MAC = MAC{} }, false},
		{"layer2", func(f *Flow) { f.Group = netip.MustParseAddrPort("192.0.2.7:6000") }, false},
		{"layer2+3", func(f *Flow) { f.From = netip.AddrPort{} }, false},
		{"layer2+3", func(f *Flow) { f.From = ours6 }, false},
		{"layer3+4", func(f *Flow) { f.MAC = MAC{} }, true},
		{"layer3+4", func(f *Flow) { f.From = netip.AddrPortFrom(ours4.Addr(), 0) }, false},
		{"vlan+srcmac", func(f *Flow) { f.MAC = MAC{} }, false},
		{"encap3+4", func(*Flow) {}, false},
	} {
		f := whole
		c.spoil(&f)
		if _, err := Linux518.Slave(c.policy, f, 2); (err == nil) != c.ok {
			t.Errorf("%s of %+v: %v", c.policy, f, err)
		}
	}
	if _, err := Linux518.Slave("layer2", whole, 0); err == nil {
		t.Error("a slave of none")
	}
}

func TestMACs(t *testing.T) {
	for group, want := range map[string]MAC{
		"239.129.1.2":  {0x01, 0x00, 0x5e, 0x01, 1, 2}, // the 24th bit is not in it
		"ff02::1:2345": {0x33, 0x33, 0, 1, 0x23, 0x45},
	} {
		if got, err := GroupMAC(netip.MustParseAddr(group)); err != nil || got != want {
			t.Errorf("%s: %v %v", group, got, err)
		}
	}
	if m, err := ParseMAC("52:54:00:B0:4d:01"); err != nil || m != ourMAC {
		t.Errorf("%v %v", m, err)
	}
	for _, s := range []string{"", "52:54:00:b0:4d", "52:54:00:b0:4d:1", "52:54:00:b0:4d:0g", "52:54:00:b0:4d:01:02"} {
		if _, err := ParseMAC(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}
