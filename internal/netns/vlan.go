package netns

import (
	"errors"
	"fmt"

	"bondrepro/internal/measure"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// farVLAN are the ifindexes of the VLAN's interfaces on the far ends, in order: they are made where they are not there yet,
// and stay. They are silent as the far ends are, through whose qdisc all they send goes. No VLAN has none. It is called in
// the far namespace.
func farVLAN(ends []int, id int) (indexes []int, err error) {
	if id == 0 {
		return nil, nil
	}
	for _, end := range ends {
		name := fmt.Sprintf("v%d.%d", end, id)
		if err := addFarVLAN(name, end, id); err != nil {
			return nil, err
		}
		link, err := netlink.LinkByName(name)
		if err != nil {
			return nil, refused("ip link show", name, err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return nil, refused("ip link set up", name, err)
		}
		indexes = append(indexes, link.Attrs().Index)
	}
	return indexes, nil
}

func addFarVLAN(name string, end, id int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex = name, end
	err := netlink.LinkAdd(&netlink.Vlan{LinkAttrs: attrs, VlanId: id, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q})
	switch {
	case errors.Is(err, unix.EEXIST):
		return nil // of an earlier run
	case errors.Is(err, unix.EOPNOTSUPP):
		return &measure.Fault{Class: measure.Unsupported, What: VLAN.Name, Text: fmt.Sprintf("this kernel has no VLAN interfaces (%s): %v", VLAN.Name, err)}
	}
	return refused(fmt.Sprintf("ip link add type vlan id %d", id), name, err)
}
