// Package measure makes one measurement in the network namespace of the calling thread: it brings the
// topology up, sends, samples, waits for quiet, takes the topology down, and returns the raw facts. It judges
// nothing, and it does not know where the other end of the lines is.
package measure

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/traffic"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Job is one measurement to make. It travels to the guest as JSON.
type Job struct {
	Arm      string             `json:"arm"`
	Run      uint32             `json:"run"`
	Scenario scenarios.Scenario `json:"scenario"`  // the arm's own, effective
	LineRate []float64          `json:"line_rate"` // bits/s, one a slave; the testbed makes it so; none: open lines
	Truesize int                `json:"truesize"`
	Slaves   []string           `json:"slaves"` // MAC addresses, in order
	// Shape makes the lines here, with tbf on each TX queue of the slaves: where nothing at their other end does.
	Shape bool `json:"shape,omitempty"`
	// Ports tell that the slaves are a machine's own ports, named as they are called there.
	Ports   *Ports `json:"ports,omitempty"`
	probing bool   // nothing is to be negotiated: the lines stand still
	// Partner are the interfaces of a second bond, cabled to the slaves in the same order: with it 802.3ad negotiates.
	Partner []string `json:"partner,omitempty"` // MAC addresses
	// Machine tells that all of the machine is ours, not only a namespace: a guest. Sysctls of the whole machine may be set.
	Machine bool `json:"machine,omitempty"`
}

// Ports is how a bond of a machine's own ports is had.
type Ports struct {
	Bond     string `json:"bond"`               // its name
	Existing bool   `json:"existing,omitempty"` // it is there, and is measured as it is
	Ifindex  int    `json:"ifindex,omitempty"`  // what a bond that is made is to get
	// Changed is told each change of an interface, as a command line; nil is nobody.
	Changed func(command string) `json:"-"`
}

// bond is the name of the bond.
func (j Job) bond() string {
	if j.Ports != nil {
		return j.Ports.Bond
	}
	return bondName
}

// negotiates tells whether LACP has somebody to talk to: the other end of a real port in 802.3ad, or a partner.
func (j Job) negotiates() bool {
	if j.probing {
		return false
	}
	return len(j.Partner) > 0 || j.Ports != nil && j.Scenario.Topology.Bond.Mode == mode8023AD
}

// Probe is what is known of a topology before anything is measured on it.
type Probe struct {
	Truesize int                 `json:"truesize"` // bytes a packet of the scenario is charged to its socket
	Slaves   []result.SlaveState `json:"slaves"`
}

const (
	bondName    = "bond0"
	partnerName = "partner0"
	mode8023AD  = "802.3ad"
	// linkLimit is how long a real port's link may take to come up: it negotiates, and its switch may look for loops.
	linkLimit = 45 * time.Second
	// settle is how long counters must stand still before a measurement starts and after it ended.
	settle     = 100 * time.Millisecond
	drainLimit = 5 * time.Second
	// lineCatchUp is what a line of tbf makes up for under senders that never stop. After a pause it must not be more
	// than lineCatchUpIdle, as with a guest's wire: a burst would pass it by.
	lineCatchUp     = 100 * time.Millisecond
	lineCatchUpIdle = 20 * time.Millisecond
)

// Standstill is the rate of a TX queue's line that is as good as stopped, bits/s: what is sent beyond tbf's burst stays
// for longer than a probe takes. Slower is no use: tbf's burst is 4.29 s of the line at most (2^32 ns, net/sched/sch_tbf.c,
// tbf_change), and a packet larger than the burst is dropped at once. This one lets 64 KiB pass.
const Standstill = 200_000

// The bond's address is one that is on no real network: TEST-NET-1 (RFC 5737), or one for documentation (RFC 3849).
var (
	sourceIPv4 = &net.IPNet{IP: net.IPv4(192, 0, 2, 1), Mask: net.CIDRMask(24, 32)}
	sourceIPv6 = &net.IPNet{IP: net.ParseIP("2001:db8::1"), Mask: net.CIDRMask(64, 128)}
)

func sourceAddress(t scenarios.Traffic) *net.IPNet {
	if t.IPv6() {
		return sourceIPv6
	}
	return sourceIPv4
}

// spec translates the job's topology into what bondctl builds.
func spec(job Job, slaves []string) bondctl.Spec {
	sc := job.Scenario
	s := bondctl.Spec{
		Name:       job.bond(),
		MTU:        sc.Topology.MTU,
		Options:    bondOptions(sc.Topology.Bond),
		Slaves:     slaves,
		Queues:     sc.Topology.Slaves.Queues,
		TxQueueLen: sc.Topology.Slaves.TxQueueLen,
		Qdisc:      sc.Topology.Slaves.Qdisc,
		Offload:    offload(sc.Offload),
		Address:    sourceAddress(sc.Traffic),
		Orphan:     sc.Orphan == scenarios.OrphanNetem,
		Partnered:  job.negotiates(),
		VLAN:       sc.Topology.VLAN,
	}
	if p := sc.Topology.Bond.Primary; p != nil {
		s.Primary = slaves[*p]
	}
	if job.Ports != nil {
		// Of the queues that a port was made with, not all need be in use.
		s.Ifindex, s.Ready, s.Queues, s.Take = job.Ports.Ifindex, linkLimit, 0, true
	}
	if job.Shape && len(job.LineRate) > 0 {
		s.LineRate, s.CatchUp = job.LineRate, CatchUp(sc)
	}
	return s
}

// CatchUp is what a line that is made here passes at once after a pause, in time at its rate.
func CatchUp(sc scenarios.Scenario) time.Duration {
	if sc.Traffic.Burst.Packets > 0 {
		return lineCatchUpIdle
	}
	return lineCatchUp
}

// partnerSpec is the second bond, which is there to negotiate with: it asks for LACPDUs every second.
func partnerSpec(sc scenarios.Scenario, slaves []string) bondctl.Spec {
	return bondctl.Spec{
		Name: partnerName, MTU: sc.Topology.MTU, Slaves: slaves, TxQueueLen: sc.Topology.Slaves.TxQueueLen, Bare: true,
		Options: []bondctl.Option{{Name: "mode", Value: mode8023AD}, {Name: "miimon", Value: "100"}, {Name: "lacp_rate", Value: "fast"}},
	}
}

func offload(features map[string]string) map[string]bool {
	on := make(map[string]bool, len(features))
	for f, v := range features {
		on[f] = v == "on"
	}
	return on
}

// bondOptions lists the options the scenario sets, mode first.
func bondOptions(b scenarios.Bond) []bondctl.Option {
	options := []bondctl.Option{{Name: "mode", Value: b.Mode}}
	add := func(name, value string) {
		options = append(options, bondctl.Option{Name: name, Value: value})
	}
	for _, o := range []struct {
		name string
		v    *scenarios.Duration
	}{{"miimon", b.Miimon}, {"updelay", b.Updelay}, {"downdelay", b.Downdelay}} {
		if o.v != nil {
			add(o.name, strconv.FormatInt(o.v.D().Milliseconds(), 10))
		}
	}
	for _, o := range []struct {
		name string
		v    *string
	}{{"xmit_hash_policy", b.XmitHashPolicy}, {"fail_over_mac", b.FailOverMAC}, {"lacp_rate", b.LACPRate}} {
		if o.v != nil {
			add(o.name, *o.v)
		}
	}
	for _, o := range []struct {
		name string
		v    *int
	}{{"resend_igmp", b.ResendIGMP}, {"num_grat_arp", b.NumGratARP}, {"packets_per_slave", b.PacketsPerSlave}, {"min_links", b.MinLinks}} {
		if o.v != nil {
			add(o.name, strconv.Itoa(*o.v))
		}
	}
	for _, o := range []struct {
		name string
		v    *bool
	}{{"all_slaves_active", b.AllSlavesActive}, {"tlb_dynamic_lb", b.TLBDynamicLB}} {
		if o.v != nil {
			add(o.name, map[bool]string{false: "0", true: "1"}[*o.v])
		}
	}
	return options
}

// slaveNames finds the interfaces with the given MAC addresses in the calling thread's namespace; ports are named.
func slaveNames(job Job, macs []string) ([]string, error) {
	if job.Ports != nil {
		return macs, nil
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	names := make([]string, 0, len(macs))
	for _, mac := range macs {
		i := indexMAC(interfaces, mac)
		if i < 0 {
			return nil, fmt.Errorf("no interface has the address %s: this kernel has no driver for the NIC (virtio_net)", mac)
		}
		names = append(names, interfaces[i].Name)
	}
	return names, nil
}

func indexMAC(interfaces []net.Interface, mac string) int {
	for i, x := range interfaces {
		if x.HardwareAddr.String() == mac {
			return i
		}
	}
	return -1
}

func recorded(job Job, p *place) (result.BondState, []result.SlaveState) {
	st := p.state
	slaves := make([]result.SlaveState, 0, len(st.Slaves))
	for _, s := range st.Slaves {
		state := result.SlaveState{
			Name: s.Name, Ifindex: s.Ifindex, MAC: s.MAC, Driver: s.Driver, Ring: s.TxRing, Queues: s.Queues,
			TxQueueLen: s.TxQueueLen, Qdisc: p.spec.Qdisc, CountsCompletions: s.CountsCompletions,
		}
		if job.Shape {
			state.Lines = s.Queues
		}
		if p.leaves {
			state.Qdisc = s.Qdisc
		}
		slaves = append(slaves, state)
	}
	return result.BondState{
		Name: p.spec.Name, Ifindex: st.Ifindex, Options: st.Options, MTU: st.MTU, MAC: st.MAC,
		Address: st.Address.String(),
	}, slaves
}

func trafficConfig(job Job, ifindex int) traffic.Config {
	return traffic.Config{Traffic: job.Scenario.Traffic, Run: job.Run, Ifindex: ifindex}
}
