package bondctl

import (
	"fmt"
	"strconv"
)

// readBack is what the kernel says was built; the first thing that is not as asked is an error.
func (c *Client) readBack(spec Spec) (*State, error) {
	all, err := c.Interfaces()
	if err != nil {
		return nil, err
	}
	bond := all[spec.Name]
	if bond.Kind != "bond" {
		return nil, fmt.Errorf("%s: asked for a bond, got a %s", spec.Name, bond.Kind)
	}
	options, err := compareOptions(spec.Name, bond.Bond, spec.options())
	if err != nil {
		return nil, err
	}
	if bond.MTU != spec.MTU {
		return nil, &MismatchError{Object: spec.Name, Option: "mtu", Want: strconv.Itoa(spec.MTU), Got: strconv.Itoa(bond.MTU)}
	}
	if err := compareVLAN(spec, all); err != nil {
		return nil, err
	}
	if spec.Primary != "" {
		options["primary"] = spec.Primary
	}
	state := &State{Ifindex: bond.Index, Egress: all[spec.egress()].Index, MAC: bond.MAC.String(), MTU: bond.MTU, Options: options}
	if spec.Address != nil {
		state.Address = prefixOf(spec.Address).Addr()
	}
	for _, name := range spec.Slaves {
		if err := compareSlave(spec, name, all[name]); err != nil {
			return nil, err
		}
		slave, err := readSlave(name, all[name])
		if err != nil {
			return nil, err
		}
		state.Slaves = append(state.Slaves, slave)
	}
	return state, nil
}

// compareVLAN wants the VLAN interface to be on the bond, with its MTU.
func compareVLAN(spec Spec, all Interfaces) error {
	if spec.VLAN == 0 {
		return nil
	}
	have := all[spec.egress()]
	return mismatch([]fact{
		{spec.egress(), "kind", "vlan", have.Kind, true},
		{spec.egress(), "mtu", strconv.Itoa(spec.MTU), strconv.Itoa(have.MTU), true},
		{spec.egress(), "id", strconv.Itoa(spec.VLAN), strconv.Itoa(have.VLAN), true},
	})
}

func compareSlave(spec Spec, name string, have Interface) error {
	return mismatch([]fact{
		{name, "master", spec.Name, have.Master, true},
		{name, "txqueuelen", strconv.Itoa(spec.TxQueueLen), strconv.Itoa(have.TxQueueLen), true},
		{name, "TX queues", strconv.Itoa(spec.Queues), strconv.Itoa(have.Queues), spec.Queues != 0},
	})
}

// mismatch is a *MismatchError for the first fact that is not as asked, else nil.
func mismatch(facts []fact) error {
	for _, f := range facts {
		if f.asked && f.want != f.got {
			return &MismatchError{Object: f.object, Option: f.what, Want: f.want, Got: f.got}
		}
	}
	return nil
}

func readSlave(name string, have Interface) (Slave, error) {
	nic, err := InspectNIC(name)
	return Slave{NIC: nic, Name: name, Ifindex: have.Index, MAC: have.MAC.String(), Queues: have.Queues, TxQueueLen: have.TxQueueLen, Qdisc: have.Qdisc}, err
}
