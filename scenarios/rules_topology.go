package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// bondModes as bond_mode_tbl of drivers/net/bonding/bond_options.c names them.
var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// hashPolicies as bond_xmit_hashtype_tbl names them; vlan+srcmac since Linux 5.12.
var hashPolicies = []string{"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"}

// bondOption is an option that goes with some modes only.
type bondOption struct {
	name  string
	set   func(*Bond) bool
	modes []string
	why   string
}

// bondOptions: all but the last are refused in other modes by the kernel itself (unsuppmodes in bond_opts,
// drivers/net/bonding/bond_options.c: EACCES); fail_over_mac is taken and does nothing there.
// xmit_hash_policy may stand beside any mode, as in the kernel.
var bondOptions = []bondOption{
	{"packets_per_slave", func(b *Bond) bool { return b.PacketsPerSlave != nil }, []string{"balance-rr"}, "the kernel refuses it in others"},
	{"lacp_rate", func(b *Bond) bool { return b.LACPRate != nil }, []string{"802.3ad"}, "the kernel refuses it in others"},
	{"tlb_dynamic_lb", func(b *Bond) bool { return b.TLBDynamicLB != nil }, []string{"balance-tlb"}, "the kernel refuses it in others"},
	{"primary", func(b *Bond) bool { return b.Primary != nil }, []string{"active-backup", "balance-tlb", "balance-alb"}, "the kernel refuses it in others"},
	{"fail_over_mac", func(b *Bond) bool { return b.FailOverMAC != nil }, []string{"active-backup"}, "it does nothing in others"},
}

// topologyRules are about the bond and its slaves.
var topologyRules = []rule{
	func(s *Scenario) *problem {
		for _, o := range bondOptions {
			if o.set(&s.Topology.Bond) && !slices.Contains(o.modes, s.Topology.Bond.Mode) {
				return bad("topology.bond."+o.name, "goes with mode %s only (%s), and topology.bond.mode is %s",
					strings.Join(o.modes, ", "), o.why, s.Topology.Bond.Mode).also("topology.bond.mode")
			}
		}
		return nil
	},
	func(s *Scenario) *problem {
		m := s.Topology.Bond.Miimon
		if m == nil || *m <= 0 || float64(*m) > maxMS {
			return bad("topology.bond.miimon", "must be above 0, such as 100ms; a bond that does not watch its links never notices a slave that is down")
		}
		return nil
	},
	func(s *Scenario) *problem {
		b := s.Topology.Bond
		for _, d := range []struct {
			name  string
			value *Duration
		}{{"miimon", b.Miimon}, {"updelay", b.Updelay}, {"downdelay", b.Downdelay}} {
			switch {
			case d.value == nil:
			case d.value.D()%time.Millisecond != 0:
				return bad("topology.bond."+d.name, "%s is no whole number of milliseconds, which is what the kernel counts in", d.value)
			case *d.value%*b.Miimon != 0:
				return bad("topology.bond."+d.name, "%s is no multiple of miimon (%s); the kernel would round it down; write %s or %s", d.value, b.Miimon,
					*d.value-*d.value%*b.Miimon, *d.value-*d.value%*b.Miimon+*b.Miimon).also("topology.bond.miimon")
			}
		}
		return nil
	},
	func(s *Scenario) *problem {
		if p := s.Topology.Bond.Primary; p != nil && *p >= s.Topology.Slaves.Count {
			return bad("topology.bond.primary", "there is no slave %d; slaves are counted from 0 to %d", *p, s.Topology.Slaves.Count-1).also("topology.slaves.count")
		}
		return nil
	},
	func(s *Scenario) *problem {
		if m := s.Topology.Bond.MinLinks; m != nil && *m > s.Topology.Slaves.Count {
			return bad("topology.bond.min_links", "%d links can't be up with %d slaves; the bond would never have carrier", *m, s.Topology.Slaves.Count).also("topology.slaves.count")
		}
		return nil
	},
	func(s *Scenario) *problem {
		const path, lowest, highest = "topology.slaves.line_rate", 1e6, 1e12
		l := s.Topology.Slaves.LineRate
		switch n := len(l.BitsPerSecond); {
		case l.Auto && n > 0:
			return bad(path, "is auto and has rates too; write one of them")
		case !l.Auto && n != 1 && n != s.Topology.Slaves.Count:
			return bad(path, "has %d rates for %d slaves; write one for all, or one a slave", n, s.Topology.Slaves.Count).also("topology.slaves.count")
		}
		for i, v := range l.BitsPerSecond {
			if !(v >= lowest && v <= highest) {
				elem := path
				if len(l.BitsPerSecond) > 1 {
					elem = fmt.Sprintf("%s.%d", path, i)
				}
				return bad(elem, "%s is not possible; allowed are 1mbit to 1tbit", formatUnit(math.Max(v, 0), bitUnits))
			}
		}
		return nil
	},
}
