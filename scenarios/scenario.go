// Package scenarios holds what an experiment is to do: the Scenario type, its strict YAML form, its
// defaults and its rules. It makes no system call; where a scenario runs is a testbed's business.
package scenarios

import (
	"reflect"
	"strings"
)

// Scenario is one experiment. Its YAML and JSON field names are part of the interface: --set uses them.
type Scenario struct {
	Name     string   `yaml:"name" json:"name"`
	Summary  string   `yaml:"summary" json:"summary"`
	Workload string   `yaml:"workload" json:"workload"` // udp-multicast on a bond; else one of Load's
	Topology Topology `yaml:"topology" json:"topology"`
	Traffic  Traffic  `yaml:"traffic" json:"traffic"` // of Load's workloads only Duration and Warmup
	Load     LoadSpec `yaml:"load" json:"load"`       // of udp-multicast nothing
	// Orphan makes a bond that orphans packets before the slaves' qdisc: "none", or "netem" (netem as the
	// bond's root qdisc calls skb_orphan_partial, net/sched/sch_netem.c).
	Orphan   string            `yaml:"orphan" json:"orphan"`
	Offload  map[string]string `yaml:"offload" json:"offload"` // ethtool feature: "on" or "off"
	Sysctl   map[string]string `yaml:"sysctl" json:"sysctl"`   // of the places where packets are sent and received: name (dots or slashes) and value
	Sampling Sampling          `yaml:"sampling" json:"sampling"`
	Guards   Guards            `yaml:"guards" json:"guards"`
	// Expect are expressions over the metric table (Metrics), each of which must hold for GOOD.
	Expect []string `yaml:"expect" json:"expect"`
	// Accept are diagnoses (codes of reproducer/result) that the scenario provokes on purpose: they do not make a run BAD.
	Accept []string `yaml:"accept" json:"accept"`
	// Control maps --set paths to values: what turns the test arm into one that must be BAD. Values are held
	// as encoding/json holds them: string, float64, bool, []any, map[string]any.
	Control map[string]any `yaml:"control" json:"control"`
	Runs    Runs           `yaml:"runs" json:"runs"`
	Faults  []Fault        `yaml:"faults" json:"faults"`
	// Arms are what is compared, in the place of a control and a verdict; the first is the base. Beside --set paths they
	// may set kernel and module.NAME, which name the place they are measured in (Variant.Kernel, Variant.Modules).
	Arms Variants `yaml:"arms" json:"arms"`
	// Cases are what each arm is measured on, one after the other: the rows of the comparison. None: one, without a name.
	Cases Variants `yaml:"cases" json:"cases"`
	// Sweep is what `bondrepro sweep` varies where no --over is given; two parameters at most.
	Sweep Sweep `yaml:"sweep" json:"sweep"`

	// from tells where values came from, for errors only: it is no part of the scenario's meaning. See Equal.
	from origins
}

// Equal tells whether two scenarios say the same, wherever their values came from. reflect.DeepEqual also
// compares the places of values in their files, which is seldom meant.
func (s Scenario) Equal(t Scenario) bool {
	s.from, t.from = nil, nil
	return reflect.DeepEqual(s, t)
}

// The values of Scenario.Orphan.
const (
	OrphanNone  = "none"
	OrphanNetem = "netem"
)

// The values of Topology.Kind.
const (
	KindBond     = "bond"     // a bond and its slaves
	KindLoopback = "loopback" // lo of a network namespace
	KindVeth     = "veth"     // two network namespaces, joined by a veth pair
	KindJoined   = "joined"   // two NICs of a guest, joined by QEMU, each in a namespace of its own
)

// Topology is what packets go over.
type Topology struct {
	Kind   string `yaml:"kind" json:"kind"`
	Bond   Bond   `yaml:"bond" json:"bond"`     // kind bond
	Slaves Slaves `yaml:"slaves" json:"slaves"` // kind bond
	MTU    int    `yaml:"mtu" json:"mtu"`       // bytes; a VLAN's tag is no part of it
	VLAN   int    `yaml:"vlan" json:"vlan"`     // kind bond: 802.1Q id of an interface on the bond that the senders send from; 0: none
}

// Bond names its options as iproute2 and the kernel do (Documentation/networking/bonding.rst). A nil option
// is left at the kernel's default.
type Bond struct {
	Mode            string    `yaml:"mode" json:"mode"` // active-backup, balance-rr, …
	Miimon          *Duration `yaml:"miimon,omitempty" json:"miimon,omitempty"`
	XmitHashPolicy  *string   `yaml:"xmit_hash_policy,omitempty" json:"xmit_hash_policy,omitempty"`
	Updelay         *Duration `yaml:"updelay,omitempty" json:"updelay,omitempty"`
	Downdelay       *Duration `yaml:"downdelay,omitempty" json:"downdelay,omitempty"`
	ResendIGMP      *int      `yaml:"resend_igmp,omitempty" json:"resend_igmp,omitempty"`
	NumGratARP      *int      `yaml:"num_grat_arp,omitempty" json:"num_grat_arp,omitempty"`
	AllSlavesActive *bool     `yaml:"all_slaves_active,omitempty" json:"all_slaves_active,omitempty"`
	PacketsPerSlave *int      `yaml:"packets_per_slave,omitempty" json:"packets_per_slave,omitempty"` // balance-rr only
	TLBDynamicLB    *bool     `yaml:"tlb_dynamic_lb,omitempty" json:"tlb_dynamic_lb,omitempty"`       // balance-tlb only
	FailOverMAC     *string   `yaml:"fail_over_mac,omitempty" json:"fail_over_mac,omitempty"`         // active-backup only
	LACPRate        *string   `yaml:"lacp_rate,omitempty" json:"lacp_rate,omitempty"`                 // 802.3ad only
	MinLinks        *int      `yaml:"min_links,omitempty" json:"min_links,omitempty"`
	Primary         *int      `yaml:"primary,omitempty" json:"primary,omitempty"` // a slave's number, from 0
}

// Slaves describes every slave of the bond alike, but for the line rate.
type Slaves struct {
	Count      int       `yaml:"count" json:"count"`
	LineRate   LineRates `yaml:"line_rate" json:"line_rate"`
	Qdisc      string    `yaml:"qdisc" json:"qdisc"`           // pfifo_fast, pfifo, fq_codel, fq
	TxQueueLen int       `yaml:"txqueuelen" json:"txqueuelen"` // packets
	Queues     int       `yaml:"queues" json:"queues"`         // TX queues, under mq when more than one
}

// Traffic is what the senders do.
type Traffic struct {
	Groups   Groups   `yaml:"groups" json:"groups"`
	Port     int      `yaml:"port" json:"port"`
	Payload  int      `yaml:"payload" json:"payload"` // bytes of UDP payload
	Senders  Senders  `yaml:"senders" json:"senders"` // each with its own socket and thread
	Rate     Rate     `yaml:"rate" json:"rate"`       // over all senders together
	Duration Duration `yaml:"duration" json:"duration"`
	Warmup   Duration `yaml:"warmup" json:"warmup"` // left out of rates and of the oracle, never of the ledger
	Batch    int      `yaml:"batch" json:"batch"`   // sends a system call
	Burst    Burst    `yaml:"burst" json:"burst"`
	// Join makes the sending side a member of the groups, too: only then has a bond memberships to report after a
	// failover (bond_resend_igmp_join_requests_delayed, drivers/net/bonding/bond_main.c).
	Join   Switch `yaml:"join" json:"join"`
	Socket Socket `yaml:"socket" json:"socket"`
}

// IPv6 tells whether the groups are IPv6 addresses; all are of one family.
func (t Traffic) IPv6() bool { return len(t.Groups) > 0 && strings.Contains(t.Groups[0], ":") }

// Burst makes all senders stop after a number of packets, and start again together.
type Burst struct {
	Packets int      `yaml:"packets" json:"packets"` // of each sender; 0: they never stop
	Every   Duration `yaml:"every" json:"every"`     // from start to start, counted from the first send
}

// Socket holds the options of each sender's socket.
type Socket struct {
	Blocking       bool   `yaml:"blocking" json:"blocking"`
	SndBuf         Size   `yaml:"sndbuf" json:"sndbuf"`             // as SO_SNDBUF reads back: twice what setsockopt(2) is given
	SndBufForce    Size   `yaml:"sndbuf_force" json:"sndbuf_force"` // likewise, by SO_SNDBUFFORCE; 0 is "off"
	Priority       int    `yaml:"priority" json:"priority"`         // SO_PRIORITY, 0..15: picks pfifo_fast's band
	TxTimestamping Switch `yaml:"tx_timestamping" json:"tx_timestamping"`
	ZeroCopy       Switch `yaml:"zerocopy" json:"zerocopy"`
	GSO            Size   `yaml:"gso" json:"gso"`                                    // UDP_SEGMENT, segments a send; 0 is "off"
	MaxPacingRate  Rate   `yaml:"max_pacing_rate" json:"max_pacing_rate" zero:"off"` // SO_MAX_PACING_RATE, needs qdisc fq; 0 is "off"
}

// Sampling sets how often counters are polled.
type Sampling struct {
	Interval Duration `yaml:"interval" json:"interval"`
}

// Guards say what makes a run count. All are on by default; a scenario that expects one to trip turns it off.
type Guards struct {
	LineFull      bool    `yaml:"line_full" json:"line_full"`           // wire rate within LineTolerance of the line, and senders held back or slaves dropping
	LineTolerance float64 `yaml:"line_tolerance" json:"line_tolerance"` // 0.05
	IntoBond      bool    `yaml:"into_bond" json:"into_bond"`
	SlaveStable   bool    `yaml:"slave_stable" json:"slave_stable"`
	QdiscStable   bool    `yaml:"qdisc_stable" json:"qdisc_stable"`
}

// Runs is how often an arm is measured: good needs as many clean runs as make a symptom seen in SymptomRate
// of the runs miss all of them with a probability of at most 1-Confidence.
type Runs struct {
	SymptomRate float64 `yaml:"symptom_rate" json:"symptom_rate"`
	Confidence  float64 `yaml:"confidence" json:"confidence"`
	Max         int     `yaml:"max" json:"max"`
}

// Fault is something done to a run on purpose. At counts from the first send. Exactly one of the rest is set.
type Fault struct {
	At           Duration `yaml:"at" json:"at" jsonschema:"required"`
	SlaveDown    *int     `yaml:"slave_down,omitempty" json:"slave_down,omitempty"`
	SlaveUp      *int     `yaml:"slave_up,omitempty" json:"slave_up,omitempty"`
	ReplaceQdisc *int     `yaml:"replace_qdisc,omitempty" json:"replace_qdisc,omitempty"`
	BypassBond   *int     `yaml:"bypass_bond,omitempty" json:"bypass_bond,omitempty"` // senders send out of this slave from then on
}
