package bondctl

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// planSpec is what builds a measurement's bond out of what is there. Its options are the scenario's, which has rules of
// its own: the kernel is asked, and all is read back.
func planSpec(spec Spec, have Interfaces) ([]Step, error) {
	for _, o := range spec.Options {
		if find(bondTable, o.Name) == nil {
			return nil, fmt.Errorf("%s: there is no bonding option %s", spec.Name, o.Name)
		}
	}
	first, last := split(spec.options())
	steps := []Step{createBond{spec.Name, spec.Ifindex, first}, setLink{spec.Name, "mtu", strconv.Itoa(spec.MTU)}}
	for i, name := range spec.Slaves {
		there, err := free(name, have, false)
		if err != nil {
			return nil, err
		}
		leaves, err := spec.leafSteps(i, there)
		if err != nil {
			return nil, err
		}
		steps = append(steps, enslaveSteps(spec.Name, slaveWish{Port: Port{Name: name}, take: spec.Take, txQueueLen: spec.TxQueueLen, queues: leaves, equip: spec.equipSlave(i)}, there)...)
	}
	steps = append(steps, spec.quieten(spec.Name)...)
	steps = append(steps, setLink{spec.Name, "up", ""})
	for _, o := range last {
		steps = append(steps, setOptions{spec.Name, ofBond, []Option{o}})
	}
	return append(steps, spec.equipBond()...), nil
}

// options are all that are asked for.
func (s Spec) options() []Option {
	if s.Primary == "" {
		return s.Options
	}
	return append(slices.Clone(s.Options), Option{Name: "primary", Value: s.Primary})
}

// free is an interface that can be enslaved, or taken from its master to be.
func free(name string, have Interfaces, take bool) (Interface, error) {
	there, ok := have[name]
	switch {
	case !ok:
		return there, &Error{Op: "ip link show", Object: name, Err: fmt.Errorf("there is no interface %s", name)}
	case there.Master != "" && !take:
		return there, fmt.Errorf("%s has a master already: %s; --take takes it from there, and bondctl down gives it back", name, there.Master)
	}
	return there, nil
}

// slaveWish is what one slave is to have.
type slaveWish struct {
	Port
	take       bool   // its addresses are taken off: a slave has none of its own
	txQueueLen int    // packets; 0: as it is
	equip      []Step // once it is up, before its qdiscs
	queues     []Step // its qdiscs
}

// enslaveSteps make one slave. It must be down to be enslaved (bond_enslave, drivers/net/bonding/bond_main.c) and stays
// down on 6.1 when both are asked for in one message; bond_enslave opens it, and the second step makes sure.
func enslaveSteps(bond string, want slaveWish, there Interface) []Step {
	var steps []Step
	if there.Master != "" {
		steps = append(steps, setLink{want.Name, "nomaster", ""})
	}
	if want.take {
		for _, a := range there.Addresses {
			steps = append(steps, deleteAddress{want.Name, a})
		}
	}
	if there.Up {
		steps = append(steps, setLink{want.Name, "down", ""})
	}
	if want.txQueueLen != 0 && want.txQueueLen != there.TxQueueLen {
		steps = append(steps, setLink{want.Name, "txqueuelen", strconv.Itoa(want.txQueueLen)})
	}
	steps = append(steps, setLink{want.Name, "master", bond})
	if len(want.Options) > 0 {
		steps = append(steps, setOptions{want.Name, ofSlave, want.Options})
	}
	steps = append(steps, setLink{want.Name, "up", ""})
	steps = append(steps, want.equip...)
	// After txqueuelen: pfifo_fast sizes its rings when it is made (net/sched/sch_generic.c, pfifo_fast_init).
	return append(steps, want.queues...)
}

// leafSteps are a slave's qdiscs; none of a bare bond.
func (s Spec) leafSteps(slave int, there Interface) ([]Step, error) {
	if s.Bare {
		return nil, nil
	}
	return qdiscSteps(s.Slaves[slave], there, s.Leaves()[slave])
}

// equipSlave sets a slave's offloads and, for IPv6, its address.
func (s Spec) equipSlave(slave int) []Step {
	var steps []Step
	name := s.Slaves[slave]
	if len(s.Offload) > 0 {
		steps = append(steps, setOffload{name, s.Offload})
	}
	if s.isIPv6() {
		steps = append(steps, enableIPv6(name)...)
		steps = append(steps, addAddress{name: name, address: slaveAddress(s.Address, slave), private: true})
	}
	return steps
}

// quieten turns IPv6 on for a device of ours where the scenario is IPv6, else off, so that the kernel sends nothing of
// itself.
func (s Spec) quieten(device string) []Step {
	switch {
	case s.isIPv6():
		return enableIPv6(device)
	case s.Address != nil:
		return []Step{disableIPv6(device)}
	}
	return nil
}

// equipBond gives the bond its counter, its orphaner, its VLAN and its address.
func (s Spec) equipBond() []Step {
	var steps []Step
	if !s.Bare {
		steps = append(steps, addClsact{s.Name}, countEgress{s.Name})
	}
	if s.Orphan {
		steps = append(steps, orphan{s.Name})
	}
	if s.VLAN != 0 {
		steps = append(steps, addVLAN{s.Name, s.egress(), s.VLAN})
		steps = append(steps, s.quieten(s.egress())...)
		steps = append(steps, setLink{s.egress(), "up", ""})
	}
	if s.Address != nil {
		steps = append(steps, addAddress{name: s.egress(), address: prefixOf(s.Address), private: true})
	}
	return steps
}

// egress names the interface to send from.
func (s Spec) egress() string {
	if s.VLAN == 0 {
		return s.Name
	}
	return fmt.Sprintf("%s.%d", s.Name, s.VLAN)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func prefixOf(n *net.IPNet) netip.Prefix {
	ip, _ := netip.AddrFromSlice(n.IP)
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(ip.Unmap(), ones)
}
