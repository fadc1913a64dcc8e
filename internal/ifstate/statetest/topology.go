package statetest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/osrun"
)

// Patience is how long the tests of all topologies may take in a slow guest.
const Patience = 20 * time.Minute

// EveryPoint, in the environment, has tests end a process at each of its changes and not at some: it takes many minutes.
const EveryPoint = "BONDREPRO_EVERY_POINT"

// Stride is n, or 1 where each point is to be tried.
func Stride(n int) int {
	if os.Getenv(EveryPoint) != "" {
		return 1
	}
	return n
}

// Env hands EveryPoint on to a guest.
func Env() []string { return []string{EveryPoint + "=" + os.Getenv(EveryPoint)} }

// Topology is a machine whose ports are to be put back.
type Topology struct {
	Setup   []string // command lines; "a=b" without a space writes a file below /proc/sys/net
	Ports   []string // that a bond is built of
	Cleanup []string
}

// topologies are machines by name.
var topologies = map[string]Topology{
	"fresh": {
		Ports: []string{"eth0", "eth1"},
	},
	"addressed": {
		Setup: []string{
			"ip link set dev eth1 down", "ip link set dev eth1 name wan.1",
			"ip link set dev eth0 mtu 9000 txqueuelen 555", "ip link set dev wan.1 promisc on",
			"ip link set dev eth0 up", "ip link set dev wan.1 up", "ip link set dev eth3 up",
			"ip addr add 192.0.2.1/24 brd + dev eth0 label eth0:a", "ip addr add 192.0.2.5/24 dev eth0", "ip addr add 192.0.2.6/24 dev eth0",
			"ip addr add 192.0.2.130/25 dev eth0 scope link valid_lft 90000 preferred_lft 80000",
			"ip addr add 198.51.100.1 peer 198.51.100.2/32 dev wan.1", "ip addr add 10.9.0.1/24 dev wan.1 noprefixroute metric 77",
			"ip addr add 172.16.0.1/24 dev eth3",
			"ip addr add 2001:db8:1::1/64 dev eth0", "ip addr add 2001:db8:1::2/64 dev eth0 nodad",
			"ip addr add 2001:db8:1::3/64 dev eth0 valid_lft 90000 preferred_lft 80000",
			"ip addr add fe80::55/64 dev wan.1 nodad",
			"ip route add 203.0.113.0/24 via 192.0.2.9 dev eth0 table 100 mtu 1400 advmss 1300",
			"ip route add default via 192.0.2.254 dev eth0 metric 500 onlink",
			"ip route add 10.50.0.0/16 nexthop via 192.0.2.9 dev eth0 weight 2 nexthop via 198.51.100.2 dev wan.1",
			"ip route add 10.51.0.0/16 nexthop via 192.0.2.9 dev eth0 nexthop via 172.16.0.9 dev eth3",
			"ip route add 10.60.0.0/16 via 172.16.0.9 dev eth3 src 192.0.2.5",
			"ip route add 10.70.0.0/16 via inet6 2001:db8:1::9 dev eth0",
			"ip route add unreachable 10.80.0.0/16",
			"ip -6 route add 2001:db8:50::/48 via 2001:db8:1::9 dev eth0 metric 33 hoplimit 9",
			"ip -6 route add 2001:db8:51::/48 nexthop via 2001:db8:1::9 dev eth0 nexthop via fe80::9 dev wan.1",
			"ip -6 route add 2001:db8:52::/48 dev eth0 table 100 expires 9000",
			"ip neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 nud permanent dev eth0",
			"ip neigh add 2001:db8:1::77 lladdr 02:00:00:00:00:78 nud permanent router dev eth0",
			"ip neigh add proxy 192.0.2.88 dev eth0",
			"ip maddr add 01:00:5e:00:00:77 dev eth0",
			"ipv4/conf/eth0/rp_filter=2", "ipv6/conf/eth0/accept_dad=2", "ipv4/neigh/wan.1/base_reachable_time_ms=30500", "ipv4/conf/wan.1/forwarding=1",
			"tc qdisc replace dev eth0 root handle 1: htb default 20",
			"tc class add dev eth0 parent 1: classid 1:1 htb rate 1gbit",
			"tc class add dev eth0 parent 1:1 classid 1:10 htb rate 300mbit ceil 1gbit prio 1",
			"tc class add dev eth0 parent 1:1 classid 1:20 htb rate 700mbit ceil 1gbit",
			"tc qdisc add dev eth0 parent 1:20 handle 20: fq_codel",
		},
		Ports: []string{"eth0", "wan.1"},
		Cleanup: []string{
			"tc qdisc del dev eth0 root", "ip addr flush dev eth0", "ip addr flush dev wan.1", "ip addr flush dev eth3", "ip link set dev wan.1 promisc off",
			"ip link set dev eth0 down mtu 1500 txqueuelen 1000", "ip link set dev wan.1 down", "ip link set dev eth3 down", "ip link set dev wan.1 name eth1",
			"ip maddr del 01:00:5e:00:00:77 dev eth0",
		},
	},
	"enslaved": {
		Setup: []string{
			"ip link add bondA type bond mode active-backup miimon 50",
			"ip link add bondX type bond mode balance-xor xmit_hash_policy layer3+4 miimon 50",
			"ip link set dev eth0 down", "ip link set dev eth1 down", "ip link set dev eth2 down", "ip link set dev eth3 down",
			"ip link set dev bondA mtu 2000",
			"ip link set dev eth0 master bondA", "ip link set dev eth1 master bondA", "ip link set dev eth2 master bondX", "ip link set dev eth3 master bondX",
			"ip link set dev bondA type bond primary eth1", "ip link set dev eth0 type bond_slave queue_id 3", "ip link set dev eth2 type bond_slave queue_id 2",
			"ip link set dev bondX address 02:00:00:00:0a:0a",
			"ip link set dev bondA up", "ip link set dev bondX up",
			"ip addr add 192.0.2.1/24 dev bondA", "ip route add 203.0.113.0/24 via 192.0.2.9", "ip addr add 2001:db8:1::1/64 dev bondA",
			"ip link add link bondX name bondX.5 type vlan id 5", "ip link set dev bondX.5 up", "ip addr add 198.51.100.1/24 dev bondX.5",
		},
		Ports:   []string{"eth0", "eth1", "eth2"},
		Cleanup: []string{"ip link del dev bondX.5", "ip link del dev bondX", "ip link del dev bondA"},
	},
}

// Set makes a guest with four ports, eth0 to eth3, the machine of that name, with IPv6 on. It ends with the test.
func Set(t *testing.T, name string) Topology {
	t.Helper()
	top := topologies[name]
	Do(t, "ipv6/conf/all/disable_ipv6=0", "ipv6/conf/default/disable_ipv6=0")
	for n := range 4 { // as if they never had been up
		eth := fmt.Sprintf("eth%d", n)
		Do(t, "ipv6/conf/"+eth+"/disable_ipv6=0", "ip link set dev "+eth+" down", "tc qdisc replace dev "+eth+" root handle 9: pfifo", "tc qdisc del dev "+eth+" root")
	}
	Do(t, top.Setup...)
	t.Cleanup(func() { Do(t, top.Cleanup...) })
	Settle(t)
	return top
}

// Do runs command lines, and writes settings. One that begins with "-" may fail.
func Do(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if words := strings.Fields(strings.TrimPrefix(line, "-")); len(words) > 0 && strings.HasPrefix(line, "-") {
			_, _ = osrun.Run(context.Background(), osrun.Cmd{Path: words[0], Args: words[1:], Timeout: toolLimit})
			continue
		}
		if path, value, ok := strings.Cut(line, "="); ok && !strings.Contains(line, " ") {
			if err := os.WriteFile("/proc/sys/net/"+path, []byte(value), 0); err != nil {
				t.Fatal(err)
			}
			continue
		}
		words := strings.Fields(line)
		run(t, words[0], words[1:]...)
	}
}

// Settle waits until no address is tentative, and until a bond's monitor has looked.
func Settle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out := run(t, "ip", "-o", "addr", "show", "tentative")
		if len(out) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("addresses stay tentative: %s", out)
		}
	}
	time.Sleep(300 * time.Millisecond)
}
