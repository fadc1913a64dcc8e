package qdisctree_test

import "testing"

// tree is a tree that an operator may have.
type tree struct {
	name    string
	dflt    string   // net.core.default_qdisc, pfifo_fast if empty
	lines   []string // on a port that was never up
	queues  int      // 0: for any number
	neverUp bool
}

const up = "ip link set DEV up"

// trees are those that are put back.
func trees(t *testing.T) []tree {
	return []tree{
		{name: "never up", neverUp: true},
		{name: "default", lines: []string{up}},
		{name: "default with 500 packets", lines: []string{"ip link set DEV txqueuelen 500", up}},
		{name: "default, once up", lines: []string{up, "ip link set DEV down"}},
		{name: "default fq_codel", dflt: "fq_codel", lines: []string{up}},
		{name: "default fq_codel with jumbo frames", dflt: "fq_codel", lines: []string{"-ip link set DEV mtu 9000", up}},
		{name: "default fq_codel of another MTU", dflt: "fq_codel", lines: []string{up, "ip link set DEV mtu 4000"}},
		{name: "default fq of another MTU, once up", dflt: "fq", lines: []string{up, "ip link set DEV mtu 4000", "ip link set DEV down"}},
		{name: "default fq, once up", dflt: "fq", lines: []string{up, "ip link set DEV down"}},
		{name: "default pfifo", dflt: "pfifo", lines: []string{"ip link set DEV txqueuelen 321", up}},
		{name: "pfifo_fast", lines: []string{up, "tc qdisc replace dev DEV root handle 1: pfifo_fast"}},
		{name: "pfifo", lines: []string{up, "tc qdisc replace dev DEV root pfifo limit 77"}},
		{name: "pfifo on a port that is down", lines: []string{"tc qdisc replace dev DEV root handle 7: pfifo limit 77"}},
		{name: "bfifo", lines: []string{up, "tc qdisc replace dev DEV root handle abc: bfifo limit 123456"}},
		{name: "noqueue", lines: []string{up, "tc qdisc replace dev DEV root handle 5: noqueue"}},
		{name: "fq", lines: []string{up, "tc qdisc replace dev DEV root handle 2: fq"}},
		{name: "fq with options", lines: []string{up, "tc qdisc replace dev DEV root handle 2: fq limit 5000 flow_limit 50 buckets 2048 orphan_mask 511 " +
			"nopacing maxrate 200mbit refill_delay 80ms low_rate_threshold 100kbit ce_threshold 3ms quantum 5000 initial_quantum 20000 timer_slack 20us horizon 5s horizon_cap"}},
		{name: "fq_codel", lines: []string{up, "tc qdisc replace dev DEV root fq_codel"}},
		{name: "fq_codel with options", lines: []string{up, "tc qdisc replace dev DEV root handle 3: fq_codel limit 2000 flows 333 target 7ms interval 123ms " +
			"quantum 777 noecn ce_threshold 1234us memory_limit 5mb drop_batch 9"}},
		{name: "fq_codel, changed", lines: []string{up, "tc qdisc replace dev DEV root fq_codel", "tc qdisc change dev DEV root fq_codel limit 99 target 1ms"}},
		{name: "tbf", lines: []string{up, "tc qdisc replace dev DEV root handle 1: tbf rate 3mbit burst 1514 limit 30000"}},
		{name: "tbf with a peak", lines: []string{up, "tc qdisc replace dev DEV root handle 1: tbf rate 12345kbit burst 20001 latency 33ms peakrate 20mbit mtu 1601 overhead 24"}},
		{name: "tbf of 64 bits", lines: []string{up, "tc qdisc replace dev DEV root handle 1: tbf rate 80gbit burst 2mb limit 3mb"}},
		{name: "tbf for ATM", lines: []string{up, "tc qdisc replace dev DEV root handle 1: tbf rate 7mbit burst 3000 limit 30000 linklayer atm overhead 10"}},
		{name: "tbf with a pfifo", lines: []string{up, "tc qdisc replace dev DEV root handle 1: tbf rate 100mbit burst 15000 limit 30000",
			"tc qdisc replace dev DEV parent 1:1 handle 2: pfifo limit 44"}},
		{name: "tbf with a pfifo_fast", lines: []string{up, "tc qdisc replace dev DEV root handle 1: tbf rate 100mbit burst 15000 limit 30000",
			"tc qdisc replace dev DEV parent 1:1 pfifo_fast"}},
		{name: "htb without classes", lines: []string{up, "tc qdisc replace dev DEV root handle 1: htb"}},
		{name: "htb", lines: []string{up, "tc qdisc replace dev DEV root handle 1: htb default 30 r2q 5 direct_qlen 77",
			"tc class add dev DEV parent 1: classid 1:1 htb rate 100mbit ceil 200mbit burst 15001 cburst 16002",
			"tc class add dev DEV parent 1:1 classid 1:10 htb rate 30mbit ceil 100mbit prio 3 quantum 3000",
			"tc class add dev DEV parent 1:1 classid 1:20 htb rate 1234567bit overhead 18 mpu 64",
			"tc class add dev DEV parent 1:1 classid 1:30 htb rate 8kbit ceil 1gbit prio 7",
			"tc qdisc add dev DEV parent 1:10 handle 10: fq_codel flows 64", "tc qdisc add dev DEV parent 1:20 pfifo limit 55"}},
		{name: "htb of 64 bits, nested", lines: []string{up, "tc qdisc replace dev DEV root handle 1: htb default 2",
			"tc class add dev DEV parent 1: classid 1:1 htb rate 80gbit burst 10mb",
			"tc class add dev DEV parent 1:1 classid 1:2 htb rate 50gbit ceil 70gbit quantum 60000",
			"tc class add dev DEV parent 1:1 classid 1:3 htb rate 10gbit ceil 70gbit",
			"tc class add dev DEV parent 1:3 classid 1:4 htb rate 5gbit", "tc class add dev DEV parent 1:4 classid 1:5 htb rate 1gbit linklayer atm",
			"tc class add dev DEV parent 1: classid 1:ff htb rate 1mbit",
			"tc qdisc add dev DEV parent 1:5 handle 5: htb", "tc class add dev DEV parent 5: classid 5:1 htb rate 1mbit",
			"tc qdisc add dev DEV parent 5:1 handle 6: tbf rate 1mbit burst 3000 limit 9999", "tc qdisc add dev DEV parent 6:1 handle 7: bfifo limit 8888",
			"tc qdisc add dev DEV parent 1:2 handle 9: pfifo_fast"}},
		{name: "mq", queues: 4, lines: []string{up, "tc qdisc replace dev DEV root handle 10: mq"}},
		{name: "mq with fq_codel by default", dflt: "fq_codel", queues: 4, lines: []string{up, "tc qdisc replace dev DEV root handle 10: mq"}},
		{name: "mq with fq_codel of another MTU", dflt: "fq_codel", queues: 4, lines: []string{up, "tc qdisc replace dev DEV root handle 10: mq", "ip link set DEV mtu 4000"}},
		{name: "mq, mixed", dflt: "fq_codel", queues: 4, lines: []string{up, "tc qdisc replace dev DEV root handle 10: mq",
			"tc qdisc replace dev DEV parent 10:1 fq", "tc qdisc replace dev DEV parent 10:2 handle 77: pfifo limit 77",
			"tc qdisc replace dev DEV parent 10:4 handle 78: htb default 1", "tc class add dev DEV parent 78: classid 78:1 htb rate 10mbit",
			"tc qdisc add dev DEV parent 78:1 handle 79: bfifo limit 9000"}},
		{name: "mq with tbf, down", queues: 4, lines: append(append([]string{up, "tc qdisc replace dev DEV root handle 10: mq"},
			eachQueue(t, "tc qdisc replace dev DEV parent 10:N handle 2N: tbf rate 100mbit burst 15000 limit 30000", "tc qdisc replace dev DEV parent 2N:1 pfifo_fast")...),
			"ip link set DEV down")},
	}
}

// wreck is what others do to a port.
type wreck struct {
	name  string
	lines func(t *testing.T) []string
}

func lines(list ...string) func(*testing.T) []string {
	return func(*testing.T) []string { return list }
}

// leaves is the root of a port of any number of queues with the lines at each queue: P stands for the place, N for the queue.
func leaves(list ...string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		all := []string{"-tc qdisc del dev DEV root"}
		if queues(t) == 1 {
			return append(all, replaceAll(list, "P", "root", "N", "1")...)
		}
		all = append(all, "tc qdisc replace dev DEV root handle 10: mq")
		return append(all, eachQueue(t, replaceAll(list, "P", "parent 10:N")...)...)
	}
}

// Places in wrecks.
const (
	deleted = 0
	netem   = 2
)

var wrecks = []wreck{
	{"deleted", lines("-tc qdisc del dev DEV root")},
	{"deleted while down", lines("ip link set DEV down", "-tc qdisc del dev DEV root")},
	{"netem", lines("tc qdisc replace dev DEV root netem delay 1ms")},
	{"clsact", lines("tc qdisc add dev DEV clsact", "tc filter add dev DEV egress matchall action continue")},
	{"another qdisc of the same kind", lines("-tc qdisc del dev DEV root", "tc qdisc add dev DEV root handle 1: fq_codel limit 5", "ip link set DEV down", "ip link set DEV up")},
	{"pfifo_fast", leaves("tc qdisc replace dev DEV P pfifo_fast")},
	{"pfifo_fast after down and up", func(t *testing.T) []string {
		return append([]string{"ip link set DEV down", "ip link set DEV up"}, leaves("tc qdisc replace dev DEV P pfifo_fast")(t)...)
	}},
	{"tbf", leaves("tc qdisc replace dev DEV P handle 2N: tbf rate 1mbit burst 3000 limit 9000", "tc qdisc replace dev DEV parent 2N:1 pfifo_fast")},
}
