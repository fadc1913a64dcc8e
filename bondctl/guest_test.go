package bondctl_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/vmtest"
	"bondrepro/qdiscstat/counters"

	"github.com/vishvananda/netlink"
)

func TestMain(m *testing.M) { vmtest.Main(m) }

// TestInGuest runs the tests below that begin with TestBond on a kernel that has bonding.
func TestInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	vmtest.Guest{
		Modules: []string{"bonding", "sch_ingress", "cls_matchall", "act_gact", "sch_netem"}, NICs: 2,
		Files: vmtest.Programs(t, "ip", "tc"), // of this machine, to compare with
	}.Run(t, "^TestBond")
}

func onlyInGuest(t *testing.T) (*bondctl.Client, context.Context) {
	t.Helper()
	if !vmtest.Inside() {
		t.Skip("needs a guest's interfaces: TestInGuest runs it there")
	}
	c, err := bondctl.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return c, ctx
}

func twoSlaves(options ...bondctl.Option) bondctl.Spec {
	return bondctl.Spec{
		Name: "bond0", MTU: 9000, Slaves: []string{"eth0", "eth1"}, TxQueueLen: 777, Qdisc: "pfifo_fast",
		Address: &net.IPNet{IP: net.IPv4(192, 0, 2, 1), Mask: net.CIDRMask(24, 32)}, Options: options,
	}
}

// Every option a scenario can set, in a mode that has it, with a value that is not the default.
func TestBondOptions(t *testing.T) {
	c, ctx := onlyInGuest(t)
	for _, options := range [][]bondctl.Option{
		{{Name: "mode", Value: "active-backup"}, {Name: "miimon", Value: "50"}, {Name: "fail_over_mac", Value: "active"}, {Name: "num_grat_arp", Value: "3"}},
		{{Name: "mode", Value: "balance-rr"}, {Name: "miimon", Value: "50"}, {Name: "packets_per_slave", Value: "7"}, {Name: "resend_igmp", Value: "2"}},
		{{Name: "mode", Value: "balance-xor"}, {Name: "miimon", Value: "50"}, {Name: "xmit_hash_policy", Value: "layer3+4"}, {Name: "updelay", Value: "100"}, {Name: "downdelay", Value: "50"}},
		{{Name: "mode", Value: "broadcast"}, {Name: "miimon", Value: "50"}, {Name: "all_slaves_active", Value: "1"}, {Name: "min_links", Value: "1"}},
		{{Name: "mode", Value: "balance-tlb"}, {Name: "miimon", Value: "50"}, {Name: "tlb_dynamic_lb", Value: "0"}},
	} {
		state, err := c.Up(ctx, twoSlaves(options...))
		if err != nil {
			t.Errorf("%v: %v", options, err)
			continue
		}
		for _, o := range options {
			if got := state.Options[o.Name]; got != o.Value {
				t.Errorf("%s reads back as %q, want %q", o.Name, got, o.Value)
			}
		}
		if err := c.Down("bond0"); err != nil {
			t.Error(err)
		}
	}
}

func TestBondReadsBackSlaves(t *testing.T) {
	c, ctx := onlyInGuest(t)
	state, err := c.Up(ctx, twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"}, bondctl.Option{Name: "miimon", Value: "50"}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Down("bond0")
	if len(state.Slaves) != 2 || state.MTU != 9000 {
		t.Fatalf("state = %+v", state)
	}
	for _, s := range state.Slaves {
		if s.Driver != "virtio_net" || !s.CountsCompletions || s.TxRing == 0 || s.TxQueueLen != 777 {
			t.Errorf("slave = %+v", s)
		}
		qdiscs, err := netlink.QdiscList(link(t, s.Name))
		if err != nil || len(qdiscs) != 1 || qdiscs[0].Type() != "pfifo_fast" {
			t.Errorf("qdiscs of %s: %v, %v", s.Name, qdiscs, err)
		}
	}
	filters, err := netlink.FilterList(link(t, "bond0"), counters.ClsactEgress)
	if err != nil || len(filters) == 0 || filters[0].Type() != "matchall" {
		t.Errorf("egress filters of the bond: %v, %v", filters, err)
	}
}

func link(t *testing.T, name string) netlink.Link {
	t.Helper()
	l, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A bond that was there before is never measured, and never removed.
func TestBondThatExistsIsRefused(t *testing.T) {
	c, ctx := onlyInGuest(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "bond0"
	if err := netlink.LinkAdd(netlink.NewLinkBond(attrs)); err != nil {
		t.Fatal(err)
	}
	defer netlink.LinkDel(link(t, "bond0"))
	if _, err := c.Up(ctx, twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"})); err == nil {
		t.Error("Up took a bond that it did not make")
	}
	link(t, "bond0")
}

// Nothing is left of a bond that could not be built to its end.
func TestBondLeavesNothingBehind(t *testing.T) {
	c, ctx := onlyInGuest(t)
	spec := twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"}, bondctl.Option{Name: "miimon", Value: "50"})
	spec.Slaves = []string{"eth0", "eth9"}
	_, err := c.Up(ctx, spec)
	var refused *bondctl.Error
	if !errors.As(err, &refused) || refused.Object != "eth9" {
		t.Errorf("err = %v, want one about eth9", err)
	}
	if _, err := netlink.LinkByName("bond0"); err == nil {
		t.Error("the bond is still there")
	}
	if master := link(t, "eth0").Attrs().MasterIndex; master != 0 {
		t.Errorf("eth0 still has master %d", master)
	}
}

func TestBondOptionOfAnotherModeNamesTheKernelsReason(t *testing.T) {
	c, ctx := onlyInGuest(t)
	_, err := c.Up(ctx, twoSlaves(bondctl.Option{Name: "mode", Value: "balance-rr"}, bondctl.Option{Name: "tlb_dynamic_lb", Value: "0"}, bondctl.Option{Name: "lacp_rate", Value: "fast"}))
	var refused *bondctl.Error
	if !errors.As(err, &refused) || refused.Op != "ip link add type bond" {
		t.Errorf("err = %v, want the kernel's refusal of the bond", err)
	}
}

func TestBondOrphanerIsNetem(t *testing.T) {
	c, ctx := onlyInGuest(t)
	spec := twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"}, bondctl.Option{Name: "miimon", Value: "50"})
	spec.Orphan = true
	if _, err := c.Up(ctx, spec); err != nil {
		t.Fatal(err)
	}
	defer c.Down("bond0")
	qdiscs, err := netlink.QdiscList(link(t, "bond0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range qdiscs {
		if netem, ok := q.(*netlink.Netem); ok {
			if netem.Limit != 100000 || netem.Latency == 0 {
				t.Errorf("netem = %+v, want limit 100000 and a delay", netem)
			}
			return
		}
	}
	t.Errorf("no netem among the bond's qdiscs: %v", qdiscs)
}

// A fresh qdisc has fresh counters, also where one of the same kind was there.
func TestBondQdiscIsReplaced(t *testing.T) {
	c, ctx := onlyInGuest(t)
	if _, err := c.Up(ctx, twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"}, bondctl.Option{Name: "miimon", Value: "50"})); err != nil {
		t.Fatal(err)
	}
	defer c.Down("bond0")
	eth0 := link(t, "eth0")
	before, err := netlink.QdiscList(eth0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ReplaceQdisc(eth0.Attrs().Index, 1, bondctl.Leaf{Kind: "pfifo_fast"}); err != nil {
		t.Fatal(err)
	}
	after, err := netlink.QdiscList(eth0)
	if err != nil {
		t.Fatal(err)
	}
	if before[0].Attrs().Handle == after[0].Attrs().Handle {
		t.Errorf("the qdisc is the same as before: handle %x", after[0].Attrs().Handle)
	}
}

func TestBondMissingQdiscIsUnsupported(t *testing.T) {
	c, ctx := onlyInGuest(t)
	spec := twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"}, bondctl.Option{Name: "miimon", Value: "50"})
	spec.Qdisc = "no_such_qdisc"
	_, err := c.Up(ctx, spec)
	var unsupported *bondctl.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Errorf("err = %v, want an UnsupportedError", err)
	}
}

// GRO can be switched on these NICs; GSO can't, as they have no scatter-gather, and the kernel does not say so.
func TestBondOffload(t *testing.T) {
	onlyInGuest(t)
	for _, on := range []bool{false, true} {
		if err := bondctl.SetOffload("eth0", map[string]bool{"gro": on}); err != nil {
			t.Errorf("gro %v: %v", on, err)
		}
	}
	if err := bondctl.SetOffload("eth0", map[string]bool{"rx-gro": false}); err != nil {
		t.Errorf("by its long name: %v", err)
	}
	for _, feature := range []string{"gso", "no-such"} {
		var refused *bondctl.OffloadError
		if err := bondctl.SetOffload("eth0", map[string]bool{feature: true}); !errors.As(err, &refused) || refused.Feature != feature {
			t.Errorf("%s on: %v, want an OffloadError", feature, err)
		}
	}
}

// With an IPv6 address IPv6 is on for the bond and, with an address of its own, for each slave: packets can be sent out
// of either. A second time works as the first.
func TestBondIPv6(t *testing.T) {
	c, ctx := onlyInGuest(t)
	spec := twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"}, bondctl.Option{Name: "miimon", Value: "50"})
	spec.Address = &net.IPNet{IP: net.ParseIP("2001:db8::1"), Mask: net.CIDRMask(64, 128)}
	for range 2 {
		if _, err := c.Up(ctx, spec); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"bond0", "eth0", "eth1"} {
			addrs, err := netlink.AddrList(link(t, name), netlink.FAMILY_V6)
			if err != nil || len(addrs) != 1 || addrs[0].IP.String() != fmt.Sprintf("2001:db8::%d", i+1) {
				t.Errorf("addresses of %s: %v, %v", name, addrs, err)
			}
		}
		if err := c.Down("bond0"); err != nil {
			t.Fatal(err)
		}
	}
}

// The primary is preferred also when another slave was active before, and is read back.
func TestBondPrimary(t *testing.T) {
	c, ctx := onlyInGuest(t)
	spec := twoSlaves(bondctl.Option{Name: "mode", Value: "active-backup"}, bondctl.Option{Name: "miimon", Value: "50"})
	spec.Primary = "eth1"
	state, err := c.Up(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Down("bond0")
	active, err := c.ActiveSlave("bond0")
	if err != nil || active != state.Slaves[1].Ifindex || state.Options["primary"] != "eth1" {
		t.Errorf("active slave %d (%v), primary %q, want eth1", active, err, state.Options["primary"])
	}
}
