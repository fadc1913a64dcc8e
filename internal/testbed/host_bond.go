package testbed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/measure"
	"bondrepro/internal/netns"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// fitBond makes a scenario say what a bond that is there is.
func fitBond(sc scenarios.Scenario, there bondctl.Interfaces, name string, slaves []string) scenarios.Scenario {
	t, bond := &sc.Topology, there[name]
	policy := bond.Bond["xmit_hash_policy"]
	t.Bond = scenarios.Bond{Mode: bond.Bond["mode"], XmitHashPolicy: &policy}
	if ms, err := strconv.Atoi(bond.Bond["miimon"]); err == nil {
		miimon := scenarios.Duration(time.Duration(ms) * time.Millisecond)
		t.Bond.Miimon = &miimon
	}
	t.MTU = bond.MTU
	var kinds []string
	t.Slaves.TxQueueLen = math.MaxInt32
	for _, slave := range slaves {
		kinds = append(kinds, there[slave].Qdisc)
		t.Slaves.TxQueueLen = min(t.Slaves.TxQueueLen, there[slave].TxQueueLen)
	}
	slices.Sort(kinds)
	t.Slaves.Qdisc = strings.Join(slices.Compact(kinds), " and ")
	return sc
}

// asItIs are what a scenario asks for that would change a bond that is there.
func (h *host) asItIs() (reasons []string) {
	sc, name := h.options.Scenario, h.bond.Name
	for _, x := range []struct {
		field string
		asked bool
	}{
		{"topology.vlan", sc.Topology.VLAN != 0}, {"offload", len(sc.Offload) > 0}, {"faults", len(sc.Faults) > 0},
	} {
		if x.asked {
			reasons = append(reasons, fmt.Sprintf("%s is measured as it is, and %s would change it: leave that out", name, x.field))
		}
	}
	if h.options.Control && h.Lacks(netem.Name) {
		reasons = append(reasons, "this kernel has no netem, which is the one control that leaves "+name+" as it is: leave --control out")
	}
	if len(h.facts) == 0 {
		reasons = append(reasons, name+" has no slaves: nothing can be sent over it")
	}
	return reasons
}

// probeLikeness measures what a packet is charged on a bond of the same mode and MTU in private namespaces, and reads the
// ports of the real one.
func (h *host) probeLikeness(ctx context.Context, job measure.Job) (probe measure.Probe, err error) {
	slaves, err := h.slaveStates()
	if err != nil {
		return probe, err
	}
	h.progress("measuring what a packet is charged on a likeness of " + h.bond.Name)
	place, err := netns.Start(ctx, netns.Config{Slaves: len(h.facts)})
	if err != nil {
		return probe, classifyNetns(err)
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	job.Slaves = place.Slaves()
	job.Scenario.Topology.Slaves = scenarios.Default().Topology.Slaves // neither queues nor qdiscs make a difference
	job.Scenario.Topology.Slaves.Count = len(job.Slaves)
	// How a packet is made depends on whether the bond can send from several pieces (__ip_append_data, net/ipv4/ip_output.c).
	job.Scenario.Offload = map[string]string{"sg": onOff(h.bond.Offloads["tx-scatter-gather"])}
	probe, err = place.Probe(ctx, job)
	probe.Slaves = slaves
	return probe, classifyNetns(err)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// slaveStates are the slaves of the bond that was there.
func (h *host) slaveStates() ([]result.SlaveState, error) {
	var all []result.SlaveState
	for _, f := range h.facts {
		nic, err := bondctl.InspectNIC(f.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, result.SlaveState{Name: f.Name, Ifindex: f.Ifindex, Driver: nic.Driver, Ring: nic.TxRing, Queues: len(f.Queues), CountsCompletions: nic.CountsCompletions})
	}
	return all, nil
}
