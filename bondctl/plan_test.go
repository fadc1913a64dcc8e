package bondctl_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"bondrepro/bondctl"
)

// nics are two NICs as they often are: one up, one with several queues.
func nics() bondctl.Interfaces {
	return bondctl.Interfaces{
		"eth0": {Index: 2, Up: true, MTU: 1500, TxQueueLen: 1000, Queues: 1, Qdisc: "fq_codel"},
		"eth1": {Index: 3, MTU: 1500, TxQueueLen: 500, Queues: 2, Qdisc: "fq"},
		"eth2": {Index: 4, Master: "br0"},
	}
}

// options are pairs of name and value.
func options(words ...string) []bondctl.Option {
	var all []bondctl.Option
	for pair := range slices.Chunk(words, 2) {
		all = append(all, bondctl.Option{Name: pair[0], Value: pair[1]})
	}
	return all
}

func lines(steps []bondctl.Step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(bondctl.CommandLine(s) + "\n")
	}
	return b.String()
}

func full() bondctl.Bond {
	return bondctl.Bond{
		Name: "bond0", MTU: 9000, TxQueueLen: 1000, Qdisc: "pfifo_fast",
		Options: options("primary", "eth1", "active_slave", "eth1", "missed_max", "3", "miimon", "0100", "mode", "active-backup"),
		Slaves:  []bondctl.Port{{Name: "eth0"}, {Name: "eth1", Options: options("prio", "10", "queue_id", "2")}},
		Addresses: []netip.Prefix{
			netip.MustParsePrefix("192.0.2.1/24"), netip.MustParsePrefix("2001:db8::1/64"), netip.MustParsePrefix("198.51.100.1/32"),
		},
	}
}

// The order is right whatever that of the options, and nothing is done that is so already.
func TestPlan(t *testing.T) {
	const want = `ip link add name bond0 type bond mode active-backup miimon 100 arp_missed_max 3
ip link set dev bond0 mtu 9000
ip link set dev eth0 down
ip link set dev eth0 master bond0
ip link set dev eth0 up
tc qdisc replace dev eth0 root pfifo_fast
ip link set dev eth1 txqueuelen 1000
ip link set dev eth1 master bond0
ip link set dev eth1 type bond_slave queue_id 2 prio 10
ip link set dev eth1 up
tc qdisc replace dev eth1 root handle 10: mq
tc qdisc replace dev eth1 parent 10:1 pfifo_fast
tc qdisc replace dev eth1 parent 10:2 pfifo_fast
ip link set dev bond0 up
ip link set dev bond0 type bond primary eth1
# wait until /sys/class/net/eth1/bonding_slave/mii_status is up
ip link set dev bond0 type bond active_slave eth1
ip addr add 192.0.2.1/24 brd + dev bond0
ip addr add 2001:db8::1/64 dev bond0
ip addr add 198.51.100.1/32 dev bond0
`
	bond := full()
	for range 2 {
		steps, err := bondctl.Plan(bond, nics())
		if err != nil || lines(steps) != want {
			t.Errorf("the plan, %v:\n%s", err, lines(steps))
		}
		slices.Reverse(bond.Options)
		slices.Reverse(bond.Slaves[1].Options)
	}
}

func TestPlanQuotesOddNames(t *testing.T) {
	bond := bondctl.Bond{Name: "b$(x)'", Options: options("mode", "balance-rr")}
	steps, err := bondctl.Plan(bond, nics())
	if want := `ip link set dev 'b$(x)'\''' up` + "\n"; err != nil || !strings.HasSuffix(lines(steps), want) {
		t.Errorf("%v:\n%s", err, lines(steps))
	}
}

// built is what full() looks like when it is there.
func built() bondctl.Interfaces {
	all := nics()
	bond := map[string]string{"mode": "active-backup", "miimon": "100", "arp_missed_max": "3", "primary": "eth1", "active_slave": "eth1", "updelay": "0"}
	all["bond0"] = bondctl.Interface{Kind: "bond", Up: true, MTU: 9000, Bond: bond, Addresses: full().Addresses}
	for _, name := range []string{"eth0", "eth1"} {
		i := all[name]
		i.Master, i.Up, i.TxQueueLen, i.Qdisc = "bond0", true, 1000, "pfifo_fast"
		i.Slave = map[string]string{"prio": "10", "queue_id": "2"}
		all[name] = i
	}
	return all
}

func TestPlanOfABondThatIsThere(t *testing.T) {
	if steps, err := bondctl.Plan(full(), built()); err != nil || len(steps) > 0 {
		t.Errorf("as asked: %v\n%s", err, lines(steps))
	}
	for _, c := range []struct {
		change func(bondctl.Interfaces)
		want   string // "" where it is not asked for
	}{
		{func(all bondctl.Interfaces) { all["bond0"].Bond["updelay"] = "200" }, ""},
		{func(all bondctl.Interfaces) { all["bond0"].Bond["miimon"] = "50" }, "bond0 is there and differs: miimon of bond0 is 50, 100 is asked for; bondctl down removes the bond"},
		{func(all bondctl.Interfaces) { delete(all["bond0"].Bond, "primary") }, "primary of bond0 is none, eth1 is asked for"},
		{func(all bondctl.Interfaces) { all["eth1"].Slave["prio"] = "0" }, "prio of eth1 is 0, 10 is asked for"},
		{of("bond0", func(i *bondctl.Interface) { i.MTU = 1500 }), "mtu of bond0 is 1500, 9000 is asked for"},
		{of("bond0", func(i *bondctl.Interface) { i.Up = false }), "the state of bond0 is down, up is asked for"},
		{of("bond0", func(i *bondctl.Interface) { i.Addresses = i.Addresses[1:] }), "address 192.0.2.1/24 of bond0 is missing, there is asked for"},
		{of("eth0", func(i *bondctl.Interface) { i.Up = false }), "the state of eth0 is down, up is asked for"},
		{of("eth0", func(i *bondctl.Interface) { i.TxQueueLen = 1 }), "txqueuelen of eth0 is 1, 1000 is asked for"},
		{of("eth0", func(i *bondctl.Interface) { i.Qdisc = "fq" }), "the qdisc of eth0 is fq, pfifo_fast is asked for"},
		{of("eth0", func(i *bondctl.Interface) { i.Master = "" }), "the list of slaves of bond0 is eth1, eth0, eth1 is asked for"},
		{of("eth2", func(i *bondctl.Interface) { i.Master = "bond0" }), "the list of slaves of bond0 is eth0, eth1, eth2, eth0, eth1 is asked for"},
		{of("bond0", func(i *bondctl.Interface) { i.Kind = "bridge" }), "bond0 is no bond: it is left alone"},
	} {
		have := built()
		c.change(have)
		steps, err := bondctl.Plan(full(), have)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || len(steps) > 0 {
			t.Errorf("%v, want %q\n%s", err, c.want, lines(steps))
		}
	}
}

// of changes one interface.
func of(name string, change func(*bondctl.Interface)) func(bondctl.Interfaces) {
	return func(all bondctl.Interfaces) {
		i := all[name]
		change(&i)
		all[name] = i
	}
}

func TestPlanRefuses(t *testing.T) {
	ofMode := func(mode string, words ...string) bondctl.Bond {
		return bondctl.Bond{Name: "bond0", Options: append(options("mode", mode), options(words...)...), Slaves: []bondctl.Port{{Name: "eth0"}}}
	}
	slave := func(names ...string) bondctl.Bond {
		b := ofMode("802.3ad")
		b.Slaves = nil
		for _, n := range names {
			b.Slaves = append(b.Slaves, bondctl.Port{Name: n, Options: options("queue_id", "1")})
		}
		return b
	}
	twoActive := func(words ...string) bondctl.Bond {
		b := ofMode("active-backup", words...)
		b.Slaves = []bondctl.Port{{Name: "eth0"}, {Name: "eth1"}}
		return b
	}
	if _, err := bondctl.Plan(twoActive("primary", "eth1", "active_slave", "eth0", "primary_reselect", "failure"), nics()); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		bond  bondctl.Bond
		field string // "" where it is not in the bond
		want  string
	}{
		{ofMode("5"), "mode", `there is no mode "5": it is one of balance-rr, active-backup`},
		{bondctl.Bond{Name: "bond0"}, "mode", "name a mode: one of balance-rr"},
		{bondctl.Bond{Name: "a/b"}, "name", "can't be the name of a bond"},
		{ofMode("balance-rr", "miimoon", "1"), "options.miimoon", `there is no option "miimoon": it is one of mode, miimon`},
		{ofMode("balance-rr", "lacp_rate", "fast"), "options.lacp_rate", "option lacp_rate does not apply to mode balance-rr: only 802.3ad takes it"},
		{ofMode("balance-rr", "miimon", "x"), "options.miimon", `option miimon can't be "x": it takes 0 to 2147483647`},
		{ofMode("balance-rr", "num_grat_arp", "1", "num_unsol_na", "1"), "options.num_unsol_na", "option num_grat_arp is given twice"},
		{ofMode("balance-rr", "mode", "balance-rr"), "options.mode", "option mode is given twice"},
		{ofMode("balance-rr", "arp_ip_target", "2001:db8::1"), "options.arp_ip_target", `option arp_ip_target can't be "2001:db8::1": it takes IPv4 addresses`},
		{ofMode("balance-rr", "updelay", "100"), "options.updelay", "option updelay needs miimon"},
		{ofMode("balance-rr", "miimon", "100", "updelay", "150"), "options.updelay", "150 ms, which is no multiple of miimon (100 ms)"},
		{ofMode("802.3ad", "peer_notify_delay", "150"), "options.peer_notify_delay", "no multiple of miimon (100 ms)"},
		{ofMode("balance-rr", "miimon", "100", "arp_interval", "100"), "options.arp_interval", "can't be used with miimon"},
		{ofMode("balance-rr", "miimon", "100", "arp_validate", "all"), "options.arp_validate", "can't be used with miimon"},
		{ofMode("active-backup", "primary", "eth1"), "options.primary", "option primary is eth1, which is no slave of bond0"},
		{twoActive("primary", "eth1", "active_slave", "eth0"), "options.active_slave", "the bond would go back to its primary eth1 at once"},
		{slave("eth0", "eth0"), "slaves.1", "eth0 is named twice"},
		{slave("bond0"), "slaves.0", "bond0 is named twice"},
		{slave("eth0", "eth1"), "slaves.1.queue_id", "slaves eth0 and eth1 can't both have queue_id 1"},
		{slave("eth9"), "", "there is no interface eth9"},
		{slave("eth2"), "", "eth2 has a master already: br0"},
		{bondctl.Bond{Name: "bond0", Options: options("mode", "802.3ad"), MTU: 60}, "mtu", "an MTU of 60 bytes is not possible"},
		{bondctl.Bond{Name: "bond0", Options: options("mode", "802.3ad"), TxQueueLen: -1}, "txqueuelen", "is not possible"},
		{bondctl.Bond{Name: "bond0", Options: options("mode", "802.3ad"), Qdisc: "no way"}, "qdisc", "can't be the name of a qdisc"},
		{bondctl.Bond{Name: "bond0", Options: options("mode", "802.3ad"), Addresses: []netip.Prefix{netip.MustParsePrefix("224.0.0.1/4")}}, "addresses.0", "can't be the address"},
	} {
		_, err := bondctl.Plan(c.bond, nics())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		var field *bondctl.FieldError
		if errors.As(err, &field) != (c.field != "") || field != nil && field.Field != c.field {
			t.Errorf("%v is about %+v, want %q", err, field, c.field)
		}
	}
}
