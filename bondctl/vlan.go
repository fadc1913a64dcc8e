package bondctl

import (
	"context"
	"errors"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// addVLAN puts an 802.1Q interface on another one. It goes with that one.
type addVLAN struct {
	on, name string
	id       int
}

func (s addVLAN) Command() []string {
	return []string{"ip", "link", "add", "link", s.on, "name", s.name, "type", "vlan", "id", strconv.Itoa(s.id)}
}

func (s addVLAN) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.on)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex = s.name, index
	err = c.nl.LinkAdd(&netlink.Vlan{LinkAttrs: attrs, VlanId: s.id, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q})
	if errors.Is(err, unix.EOPNOTSUPP) {
		return &UnsupportedError{What: "VLAN (8021q)", Err: err}
	}
	return failed("ip link add type vlan id "+strconv.Itoa(s.id), s.name, err)
}
