package qdiscstat

// A kindCase is one arrangement of qdiscs on a veth device.
type kindCase struct {
	name  string   // begins with the kind, in the words of requireEnv
	setup []string // arguments of tc, "@" being the device
	// drops tells that the case must lose packets under traffic, so that the comparison of drops has substance.
	drops bool
	// idle tells that no qdisc of the case counts what is sent.
	idle bool
}

// kindCases are every kind that tc (iproute2 6.1) can make without more set-up than this. plug never
// sends; etf, cbs and taprio need clocks or offloads.
var kindCases = []kindCase{
	{name: "noqueue", idle: true},
	{name: "pfifo_fast", setup: []string{"qdisc add dev @ root handle 1: pfifo_fast"}},
	{name: "pfifo_fast child", setup: []string{"qdisc add dev @ root handle 1: tbf rate 20mbit burst 10kb latency 20ms", "qdisc add dev @ parent 1:1 pfifo_fast"}, drops: true},
	{name: "pfifo", setup: []string{"qdisc add dev @ root handle 1: pfifo limit 77"}},
	{name: "bfifo", setup: []string{"qdisc add dev @ root handle 1: bfifo limit 99999"}},
	{name: "mq", setup: []string{"qdisc add dev @ root handle 5: mq"}},
	{name: "mq pfifo_fast", setup: []string{"qdisc add dev @ root handle 5: mq", "qdisc replace dev @ parent 5:1 pfifo_fast",
		"qdisc replace dev @ parent 5:2 pfifo_fast", "qdisc replace dev @ parent 5:3 pfifo limit 3"}},
	{name: "mqprio", setup: []string{"qdisc add dev @ root handle 5: mqprio num_tc 2 map 0 1 queues 2@0 2@2 hw 0"}},
	{name: "tbf", setup: []string{"qdisc add dev @ root handle 1: tbf rate 20mbit burst 10000 latency 50ms"}, drops: true},
	{name: "tbf peakrate", setup: []string{"qdisc add dev @ root handle 1: tbf rate 50mbit burst 20kb limit 50000 peakrate 60mbit mtu 2000 overhead 14 linklayer atm"}, drops: true},
	{name: "tbf slow", setup: []string{"qdisc add dev @ root handle 1: tbf rate 1234567bit burst 40000 limit 3000"}, drops: true},
	{name: "tbf 64-bit", setup: []string{"qdisc add dev @ root handle 1: tbf rate 80gbit burst 10mb latency 1ms"}},
	{name: "netem", setup: []string{"qdisc add dev @ root handle 1: netem delay 1us limit 100000"}},
	{name: "netem delay", setup: []string{"qdisc add dev @ root handle 1: netem limit 50 delay 10ms 3ms 25%"}, drops: true},
	{name: "netem loss", setup: []string{"qdisc add dev @ root handle 1: netem loss 20% 5% duplicate 3% 1% corrupt 2% 7%"}, drops: true},
	{name: "netem state", setup: []string{"qdisc add dev @ root handle 1: netem loss state 1% 10% 70% 20% 3%"}},
	{name: "netem gemodel", setup: []string{"qdisc add dev @ root handle 1: netem loss gemodel 1% 10% 70% 0.1%"}},
	{name: "netem reorder", setup: []string{"qdisc add dev @ root handle 1: netem delay 2ms reorder 25% 50% gap 5 ecn loss 1%"}},
	{name: "netem rate", setup: []string{"qdisc add dev @ root handle 1: netem rate 100mbit 20 48 5"}},
	{name: "netem rate 64-bit", setup: []string{"qdisc add dev @ root handle 1: netem rate 50gbit"}},
	{name: "netem slot", setup: []string{"qdisc add dev @ root handle 1: netem slot 800us 2ms packets 32 bytes 65536"}},
	{name: "netem slot distribution", setup: []string{"qdisc add dev @ root handle 1: netem slot distribution bell 1ms 100us"}},
	{name: "fq", setup: []string{"qdisc add dev @ root handle 1: fq"}},
	{name: "fq_codel", setup: []string{"qdisc add dev @ root handle 1: fq_codel"}},
	{name: "fq_codel child", setup: []string{"qdisc add dev @ root handle 1: tbf rate 20mbit burst 10kb latency 20ms", "qdisc add dev @ parent 1:1 handle 2: fq_codel limit 20"}, drops: true},
	{name: "codel", setup: []string{"qdisc add dev @ root handle 1: codel"}},
	{name: "prio", setup: []string{"qdisc add dev @ root handle 1: prio"}},
	{name: "prio child", setup: []string{"qdisc add dev @ root handle 1: prio", "qdisc add dev @ parent 1:2 handle 12: pfifo limit 3"}},
	{name: "sfq", setup: []string{"qdisc add dev @ root handle 1: sfq perturb 10"}},
	{name: "red", setup: []string{"qdisc add dev @ root handle 1: red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit"}},
	{name: "sfb", setup: []string{"qdisc add dev @ root handle 1: sfb"}},
	{name: "choke", setup: []string{"qdisc add dev @ root handle 1: choke limit 1000 bandwidth 10mbit"}},
	{name: "gred", setup: []string{"qdisc add dev @ root handle 1: gred setup vqs 2 default 0"}},
	{name: "htb", setup: []string{"qdisc add dev @ root handle 1: htb default 10", "class add dev @ parent 1: classid 1:10 htb rate 20mbit", "qdisc add dev @ parent 1:10 handle 10: pfifo limit 30"}, drops: true},
	{name: "hfsc", setup: []string{"qdisc add dev @ root handle 1: hfsc default 10", "class add dev @ parent 1: classid 1:10 hfsc sc rate 20mbit ul rate 20mbit"}},
	{name: "drr", setup: []string{"qdisc add dev @ root handle 1: drr"}, drops: true}, // no class takes the packets
	{name: "qfq", setup: []string{"qdisc add dev @ root handle 1: qfq"}, drops: true},
	{name: "ets", setup: []string{"qdisc add dev @ root handle 1: ets bands 4 strict 2"}},
	{name: "cake", setup: []string{"qdisc add dev @ root handle 1: cake bandwidth 20mbit"}},
	{name: "pie", setup: []string{"qdisc add dev @ root handle 1: pie"}},
	{name: "fq_pie", setup: []string{"qdisc add dev @ root handle 1: fq_pie"}},
	{name: "hhf", setup: []string{"qdisc add dev @ root handle 1: hhf"}},
	{name: "multiq", setup: []string{"qdisc add dev @ root handle 1: multiq"}},
	{name: "skbprio", setup: []string{"qdisc add dev @ root handle 1: skbprio"}},
	{name: "clsact", setup: []string{"qdisc add dev @ clsact"}, idle: true},
	{name: "ingress", setup: []string{"qdisc add dev @ ingress"}, idle: true},
}
