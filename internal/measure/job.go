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
	// Partner are the interfaces of a second bond, cabled to the slaves in the same order: with it 802.3ad negotiates.
	Partner []string `json:"partner,omitempty"` // MAC addresses
}

// Probe is what is known of a topology before anything is measured on it.
type Probe struct {
	Truesize int                 `json:"truesize"` // bytes a packet of the scenario is charged to its socket
	Slaves   []result.SlaveState `json:"slaves"`
}

const (
	bondName = "bond0"
	// settle is how long counters must stand still before a measurement starts and after it ended.
	settle     = 100 * time.Millisecond
	drainLimit = 5 * time.Second
)

// sourceAddress is the bond's address: TEST-NET-1 (RFC 5737), which is on no real network.
var sourceAddress = &net.IPNet{IP: net.IPv4(192, 0, 2, 1), Mask: net.CIDRMask(24, 32)}

// spec translates the scenario's topology into what bondctl builds.
func spec(sc scenarios.Scenario, slaves []string) bondctl.Spec {
	return bondctl.Spec{
		Name:       bondName,
		MTU:        sc.Topology.MTU,
		Options:    bondOptions(sc.Topology.Bond),
		Slaves:     slaves,
		TxQueueLen: sc.Topology.Slaves.TxQueueLen,
		Qdisc:      sc.Topology.Slaves.Qdisc,
		Offload:    offload(sc.Offload),
		Address:    sourceAddress,
		Orphan:     sc.Orphan == scenarios.OrphanNetem,
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

// slaveNames finds the interfaces with the given MAC addresses in the calling thread's namespace.
func slaveNames(macs []string) ([]string, error) {
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

func recorded(spec bondctl.Spec, st *bondctl.State) (result.BondState, []result.SlaveState) {
	slaves := make([]result.SlaveState, 0, len(st.Slaves))
	for _, s := range st.Slaves {
		slaves = append(slaves, result.SlaveState{
			Name: s.Name, Ifindex: s.Ifindex, MAC: s.MAC, Driver: s.Driver, Ring: s.TxRing, Queues: s.Queues,
			TxQueueLen: s.TxQueueLen, Qdisc: spec.Qdisc, CountsCompletions: s.CountsCompletions,
		})
	}
	return result.BondState{Name: spec.Name, Ifindex: st.Ifindex, Options: st.Options, MTU: st.MTU}, slaves
}

func trafficConfig(job Job, ifindex int) traffic.Config {
	return traffic.Config{Traffic: job.Scenario.Traffic, Run: job.Run, Ifindex: ifindex}
}
