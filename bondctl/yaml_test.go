package bondctl_test

import (
	"reflect"
	"strings"
	"testing"

	"bondrepro/bondctl"
)

func TestParseYAML(t *testing.T) {
	got, err := bondctl.ParseYAML("bond.yaml", []byte(`# two NICs
name: bond0
mode: active-backup
options:
  primary: eth1
  active_slave: eth1
  missed_max: 3
  miimon: 100
slaves: [eth0, {name: eth1, prio: 10, queue_id: 2}]
mtu: 9000
txqueuelen: 1000
qdisc: pfifo_fast
addresses: [192.0.2.1/24, "2001:db8::1/64", 198.51.100.1/32]
`))
	want, wantErr := full().Check()
	if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v, %v", got, err, want, wantErr)
	}
	got, err = bondctl.ParseYAML("bond.yaml", []byte("name: b\nmode: 802.3ad\noptions: {arp_ip_target: [192.0.2.1, 192.0.2.2], lacp_active: off, ad_actor_system: 02:00:00:00:00:01}"))
	if want := options("mode", "802.3ad", "arp_ip_target", "192.0.2.1,192.0.2.2", "lacp_active", "off", "ad_actor_system", "02:00:00:00:00:01"); err != nil || !reflect.DeepEqual(got.Options, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Each error has the line, the column and a caret under the place.
func TestYAMLErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "bond.yaml: holds no bond"},
		{"- a", "bond.yaml:1:1: fields with values are wanted here\n    - a\n    ^"},
		{"mode: balance-rr", "bond.yaml: the bond has no name"},
		{"name: bond0\nmod: balance-rr", "bond.yaml:2:1: there is no field \"mod\": name, mode, options, slaves, mtu, txqueuelen, qdisc and addresses are known\n    mod: balance-rr\n    ^"},
		{"name: bond0\nname: bond1", "bond.yaml:2:1: name is given twice\n    name: bond1\n    ^"},
		{"name: bond0\nmode: balance-rr\noptions:\n  miimon: 100\n  lacp_rate: fast", "bond.yaml:5:14: option lacp_rate does not apply to mode balance-rr: only 802.3ad takes it\n      lacp_rate: fast\n                 ^"},
		{"name: bond0\nmode: balance-rr\noptions: {mode: balance-rr}", "bond.yaml:3:11: the mode is a field of its own\n    options: {mode: balance-rr}\n              ^"},
		{"name: bond0", "bond.yaml: name a mode: one of balance-rr, active-backup, balance-xor, broadcast, 802.3ad, balance-tlb, balance-alb"},
		{"name: bond0\nmode: balance-rr\noptions: {arp_ip_target: [2001:db8::1]}", "bond.yaml:3:31: options.arp_ip_target.0: a value is wanted, in quotes where it has colons\n    options: {arp_ip_target: [2001:db8::1]}\n                                  ^"},
		{"name: bond0\nmode: balance-rr\noptions: {arp_ip_target: [192.0.2.1, '2001:db8::1']}", "bond.yaml:3:26: option arp_ip_target can't be \"192.0.2.1,2001:db8::1\": it takes IPv4 addresses with commas between them, 16 at most, and \"2001:db8::1\" is none\n    options: {arp_ip_target: [192.0.2.1, '2001:db8::1']}\n                             ^"},
		{"name: bond0\nmode: balance-rr\nslaves: eth0", "bond.yaml:3:9: slaves: a list is wanted\n    slaves: eth0\n            ^"},
		{"name: bond0\nmode: balance-rr\nslaves: [eth0, {name: eth1, prio: 1}]", "bond.yaml:3:35: option prio does not apply to mode balance-rr: only active-backup, balance-tlb, balance-alb takes it\n    slaves: [eth0, {name: eth1, prio: 1}]\n                                      ^"},
		{"name: bond0\nmode: balance-rr\nslaves: [eth0, {queue_id: 1}]", "bond.yaml:3:16: \"\" can't be the name of a slave: 1 to 15 characters, no / or : or blank among them\n    slaves: [eth0, {queue_id: 1}]\n                   ^"},
		{"name: bond0\nmode: balance-rr\nmtu: 0", "bond.yaml:3:6: mtu: a whole number above 0 is wanted, not \"0\"\n    mtu: 0\n         ^"},
		{"name: bond0\nmode: balance-rr\nmtu: 9k", "bond.yaml:3:6: mtu: a whole number above 0 is wanted, not \"9k\"\n    mtu: 9k\n         ^"},
		{"name: bond0\nmode: balance-rr\naddresses: [192.0.2.1]", "bond.yaml:3:13: an address with its prefix such as 192.0.2.1/24 is wanted, not \"192.0.2.1\"\n    addresses: [192.0.2.1]\n                ^"},
		{"name: bond0\nmode: &m balance-rr", "bond.yaml:2:7: mode: a value is wanted, in quotes where it has colons\n    mode: &m balance-rr\n          ^"},
		{"name: bond0\nmode: {", "bond.yaml:2:7: is not YAML: "},
		{"name: bond0\n---\nname: bond1", "bond.yaml:2:1: a file holds one bond; here a second begins\n    ---\n    ^"},
		{strings.Repeat("#\n", 9000), "bond.yaml: is longer than 16384 bytes, which no bond is"},
	} {
		_, err := bondctl.ParseYAML("bond.yaml", []byte(c.src))
		if err == nil || err.Error() != c.want && !(strings.HasSuffix(c.want, ": ") && strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%q:\n%v\nwant\n%s", c.src, err, c.want)
		}
	}
}
