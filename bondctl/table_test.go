package bondctl_test

import (
	"fmt"
	"strings"
	"testing"

	"bondrepro/bondctl"
)

// values are one value for each option that is not its default, as it reads back.
var values = map[string]string{
	"mode": "active-backup", "miimon": "50", "updelay": "100", "downdelay": "150", "peer_notify_delay": "200",
	"use_carrier": "0", "arp_interval": "700", "arp_validate": "all", "arp_all_targets": "all",
	"arp_ip_target": "192.0.2.7,192.0.2.8", "ns_ip6_target": "2001:db8::7,2001:db8::8", "arp_missed_max": "5",
	"primary": "eth1", "active_slave": "eth1", "primary_reselect": "failure", "fail_over_mac": "active",
	"xmit_hash_policy": "vlan+srcmac", "resend_igmp": "3", "num_grat_arp": "4", "all_slaves_active": "1",
	"min_links": "1", "lp_interval": "9", "packets_per_slave": "65535", "tlb_dynamic_lb": "0", "lacp_active": "off",
	"lacp_rate": "fast", "ad_select": "count", "ad_actor_sys_prio": "4660", "ad_user_port_key": "1023",
	"ad_actor_system": "02:00:00:00:00:0a", "coupled_control": "off", "broadcast_neighbor": "on", "lacp_strict": "on",
	"queue_id": "3", "prio": "-5", "actor_port_prio": "77",
}

// takenBy is what the kernel's bond_opts says: the modes that take an option, where not all do.
var takenBy = map[string]string{
	"active_slave": "active-backup, balance-tlb, balance-alb", "primary": "active-backup, balance-tlb, balance-alb",
	"prio":         "active-backup, balance-tlb, balance-alb",
	"arp_interval": "balance-rr, active-backup, balance-xor, broadcast", "arp_validate": "balance-rr, active-backup, balance-xor, broadcast",
	"arp_missed_max":    "balance-rr, active-backup, balance-xor, broadcast",
	"packets_per_slave": "balance-rr", "tlb_dynamic_lb": "balance-tlb, balance-alb",
	"lacp_active": "802.3ad", "lacp_rate": "802.3ad", "ad_actor_sys_prio": "802.3ad", "ad_user_port_key": "802.3ad", "ad_actor_system": "802.3ad",
	"coupled_control": "802.3ad", "broadcast_neighbor": "802.3ad", "lacp_strict": "802.3ad", "actor_port_prio": "802.3ad",
}

func TestEveryOptionKeepsItsValueAndKnowsItsModes(t *testing.T) {
	all := append(bondctl.BondTable[:len(bondctl.BondTable):len(bondctl.BondTable)], bondctl.SlaveTable...)
	if len(all) != len(values) {
		t.Errorf("the table has %d options, the test %d", len(all), len(values))
	}
	for _, o := range all {
		got, err := bondctl.RoundTrip(o.Name, values[o.Name])
		if err != nil || got != values[o.Name] {
			t.Errorf("%s %s reads as %q, %v", o.Name, values[o.Name], got, err)
		}
		want := takenBy[o.Name]
		if want == "" {
			want = strings.Join(bondctl.ModeNames, ", ")
		}
		if o.Modes.String() != want {
			t.Errorf("%s is taken by %s, want %s", o.Name, o.Modes, want)
		}
		if !strings.Contains(bondctl.OptionsHelp(), "\n  "+o.Name) {
			t.Errorf("the help does not name %s", o.Name)
		}
	}
}

func TestValuesThatAreNone(t *testing.T) {
	for option, bad := range map[string][]string{
		"miimon":            {"", "-1", "fast", "1.5", "2147483648", "0x10"},
		"resend_igmp":       {"256"},
		"lp_interval":       {"0"},
		"arp_missed_max":    {"0", "256"},
		"peer_notify_delay": {"300001"},
		"ad_user_port_key":  {"1024"},
		"ad_actor_sys_prio": {"0", "65536"},
		"prio":              {"2147483648"},
		"queue_id":          {"65536"},
		"arp_validate":      {"3", "ALL", ""},
		"lacp_active":       {"1"},
		"arp_ip_target":     {"", "2001:db8::1", "0.0.0.0", "255.255.255.255", "192.0.2.1,", "192.0.2.1,192.0.2.1", "::ffff:192.0.2.1", strings.TrimSuffix(manyTargets(17), ",")},
		"ns_ip6_target":     {"192.0.2.1", "::", "::1", "ff02::1", "fe80::1%eth0"},
		"ad_actor_system":   {"01:00:5e:00:00:01", "02:00", "00:11:22:33:44:55:66:77"},
		"primary":           {"eth2"},
	} {
		for _, value := range bad {
			if got, err := bondctl.RoundTrip(option, value); err == nil {
				t.Errorf("%s took %q as %q", option, value, got)
			}
		}
	}
	if got, err := bondctl.RoundTrip("arp_ip_target", strings.TrimSuffix(manyTargets(16), ",")); err != nil || strings.Count(got, ",") != 15 {
		t.Errorf("16 targets: %q, %v", got, err)
	}
}

// manyTargets are n addresses, each with a comma after it.
func manyTargets(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "192.0.2.%d,", i+1)
	}
	return b.String()
}
