package scenarios

import "time"

// Default is what a file's left-out fields are: bond-multicast-tx itself. See also standard.
func Default() Scenario {
	miimon, layer2 := Duration(100*time.Millisecond), "layer2"
	return Scenario{
		Name:     "bond-multicast-tx",
		Workload: "udp-multicast",
		Topology: Topology{
			Kind:   KindBond,
			Bond:   Bond{Mode: "active-backup", Miimon: &miimon, XmitHashPolicy: &layer2},
			Slaves: Slaves{Count: 2, LineRate: LineRates{Auto: true}, Qdisc: "pfifo_fast", TxQueueLen: 1000, Queues: 1},
			MTU:    9000,
		},
		Traffic: Traffic{
			Groups:   Groups{"239.66.1.1"},
			Port:     6000,
			Payload:  4000,
			Senders:  1,
			Duration: Duration(3 * time.Second),
			Warmup:   Duration(500 * time.Millisecond),
			Batch:    1,
			Burst:    Burst{Every: Duration(50 * time.Millisecond)},
			Socket:   Socket{Blocking: true, SndBuf: 212992},
		},
		Load:     LoadSpec{Connections: 1, Protocol: "tcp", Write: 128 << 10, Request: 1, Response: 1, Payload: 1400, ClientCPUs: []int{}, ServerCPUs: []int{}},
		Orphan:   "none",
		Offload:  map[string]string{},
		Sysctl:   map[string]string{},
		Sampling: Sampling{Interval: Duration(10 * time.Millisecond)},
		Guards:   Guards{LineFull: true, LineTolerance: 0.05, IntoBond: true, SlaveStable: true, QdiscStable: true},
		Expect:   []string{"slaves.qdisc.dropped == 0", "orphaned == false"},
		Accept:   []string{},
		Control:  map[string]any{"orphan": "netem"},
		Runs:     Runs{SymptomRate: 0.9, Confidence: 0.99, Max: 10},
		Faults:   []Fault{},
		Arms:     Variants{},
		Cases:    Variants{},
		Sweep:    Sweep{},
	}
}

// loopbackMTU is what lo has (drivers/net/loopback.c, loopback_setup).
const loopbackMTU = 64 << 10

// standardMTUs are those of the kinds other than bond, in bytes.
var standardMTUs = map[string]int{KindLoopback: loopbackMTU, KindVeth: 1500, KindJoined: 1500}

// standard is what a file like s leaves out: Default, but without a verdict where it is a comparison or no bond, and with the
// MTU of its kind.
func (s *Scenario) standard() Scenario {
	d := Default()
	if mtu, ok := standardMTUs[s.Topology.Kind]; ok {
		d.Topology.MTU = mtu
	}
	if !s.judged() {
		d.Expect, d.Control = []string{}, map[string]any{}
	}
	return d
}
