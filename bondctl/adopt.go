package bondctl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Adopt takes a bond that is there, as it is, to measure on it. Only the counter is put on it, netem where spec.Orphan asks
// for it, and spec.Address where it has none of that family. Of spec no more than that and Name counts. On error, nothing
// of it is left.
func (c *Client) Adopt(ctx context.Context, spec Spec) (*State, error) {
	all, err := c.Interfaces()
	if err != nil {
		return nil, err
	}
	bond, there := all[spec.Name]
	switch {
	case !there:
		return nil, &Error{Op: "ip link show", Object: spec.Name, Err: fmt.Errorf("there is no interface %s", spec.Name)}
	case bond.Kind != "bond":
		return nil, fmt.Errorf("%s is a %s, no bond", spec.Name, bond.Kind)
	}
	state := &State{Ifindex: bond.Index, Egress: bond.Index, MAC: bond.MAC.String(), MTU: bond.MTU, Options: bond.Bond}
	steps := []Step{addClsact{spec.Name}, countEgress{spec.Name}}
	if spec.Orphan {
		steps = append(steps, orphan{spec.Name})
	}
	if state.Address = addressOf(bond, spec.isIPv6()); !state.Address.IsValid() {
		a := prefixOf(spec.Address)
		state.Address, state.lent = a.Addr(), true
		steps = append(steps, addAddress{name: spec.Name, address: a, private: true})
	}
	for _, name := range all.slavesOf(spec.Name) {
		slave, err := readSlave(name, all[name])
		if err != nil {
			return nil, err
		}
		state.Slaves = append(state.Slaves, slave)
	}
	if err := c.do(ctx, steps...); err != nil {
		return nil, errors.Join(err, c.Release(spec, state))
	}
	return state, nil
}

// addressOf is an address of an interface to send from, the zero one where it has none. A link-local one is no use.
func addressOf(i Interface, ipv6 bool) netip.Addr {
	for _, a := range i.Addresses {
		if a.Addr().Is6() == ipv6 && !a.Addr().IsLinkLocalUnicast() {
			return a.Addr()
		}
	}
	return netip.Addr{}
}

// Release takes from a bond what Adopt put on it. What is not there is no error.
func (c *Client) Release(spec Spec, state *State) error {
	steps := []Step{deleteClsact{spec.Name}}
	if state.lent {
		steps = append(steps, deleteAddress{spec.Name, prefixOf(spec.Address)})
	}
	if spec.Orphan {
		steps = append(steps, deleteRoot{spec.Name})
	}
	var errs []error
	for _, s := range steps {
		errs = append(errs, c.do(context.Background(), s))
	}
	return errors.Join(errs...)
}

// deleteAddress takes an address from the interface; one that is not there is no error.
type deleteAddress struct {
	name    string
	address netip.Prefix
}

func (s deleteAddress) Command() []string {
	return []string{"ip", "addr", "del", s.address.String(), "dev", s.name}
}

func (s deleteAddress) run(_ context.Context, c *Client) error {
	link, err := c.nl.LinkByName(s.name)
	if err != nil {
		return failed("ip link show", s.name, err)
	}
	err = c.nl.AddrDel(link, &netlink.Addr{IPNet: ipNet(s.address)})
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		return nil
	}
	return failed("ip addr del "+s.address.String(), s.name, err)
}
