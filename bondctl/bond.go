package bondctl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	tc "github.com/florianl/go-tc"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Spec is a bond to build. Slaves are named interfaces that exist and have no master.
type Spec struct {
	Name       string
	MTU        int      // bytes; the slaves get it from the bond
	Options    []Option // mode first or not: all go in the message that creates the bond
	Slaves     []string
	Primary    string          // one of Slaves; empty for none
	Queues     int             // TX queues each slave must have; 0: whatever it has
	TxQueueLen int             // packets, of each slave
	Qdisc      string          // of each TX queue of each slave
	LineRate   []float64       // bits/s, one a slave, made by tbf (see Leaf); nil: the lines are what they are
	CatchUp    time.Duration   // of those lines, see Leaf
	Offload    map[string]bool // of each slave, see SetOffload
	Address    *net.IPNet      // IPv6 is turned on for the bond where it is an IPv6 address
	Orphan     bool            // netem on the bond, see Client.Orphan
	// Bare builds only the bond and its slaves: no qdisc is installed, nothing counted, and a Partner's negotiation
	// is not waited for.
	Bare bool
	// Partnered waits until LACP has put every slave to use (802.3ad with a partner).
	Partnered bool
	// VLAN is the 802.1Q id of a VLAN interface on the bond, which has the address then; 0: none.
	VLAN int
}

// Leaves are the qdiscs of the slaves' TX queues, one a slave.
func (s Spec) Leaves() []Leaf {
	leaves := make([]Leaf, len(s.Slaves))
	for i := range leaves {
		leaves[i].Kind = s.Qdisc
		if s.LineRate != nil {
			leaves[i].LineRate, leaves[i].CatchUp = s.LineRate[i], s.CatchUp
		}
	}
	return leaves
}

// State is what the kernel says was built.
type State struct {
	Ifindex int
	Egress  int // ifindex of the interface to send from: the bond, or the VLAN on it
	MAC     string
	MTU     int
	Options map[string]string
	Slaves  []Slave
}

// Slave is one slave as read back.
type Slave struct {
	NIC
	Name       string
	Ifindex    int
	MAC        string
	Queues     int // TX queues
	TxQueueLen int
}

// Client holds the netlink sockets of one namespace. Not for concurrent use.
type Client struct {
	nl *netlink.Handle
	tc *tc.Tc
}

// Open opens the sockets in the calling thread's network namespace.
func Open() (*Client, error) {
	nl.EnableErrorMessageReporting = true // the kernel's own text beside the errno
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, failed("open", "rtnetlink socket", err)
	}
	t, err := tc.Open(&tc.Config{})
	if err != nil {
		h.Close()
		return nil, failed("open", "rtnetlink socket for tc", err)
	}
	return &Client{nl: h, tc: t}, nil
}

// Close closes the sockets; what was built stays.
func (c *Client) Close() error {
	c.nl.Close()
	return c.tc.Close()
}

// Up builds the bond: create it with all its options and read them back, enslave, install qdiscs and the
// counter, bring it up, and wait until every slave has carrier and the bond's MII monitor agrees. On error
// nothing of it is left behind.
func (c *Client) Up(ctx context.Context, spec Spec) (*State, error) {
	if _, err := c.nl.LinkByName(spec.Name); err == nil {
		return nil, fmt.Errorf("%s exists already: an interface that was not built here is never measured (bonding loaded without max_bonds=0 makes a bond0 of its own)", spec.Name)
	}
	state, err := c.up(ctx, spec)
	if err != nil {
		return nil, errors.Join(err, c.Down(spec.Name))
	}
	return state, nil
}

func (c *Client) up(ctx context.Context, spec Spec) (*State, error) {
	bond, options, err := c.create(ctx, spec)
	if err != nil {
		return nil, err
	}
	index := bond.Attrs().Index
	if err := c.nl.LinkSetMTU(bond, spec.MTU); err != nil {
		return nil, failed(fmt.Sprintf("ip link set mtu %d", spec.MTU), spec.Name, err)
	}
	state := &State{Ifindex: index, Egress: index, Options: options}
	for i, name := range spec.Slaves {
		slave, err := c.enslave(spec, bond, i)
		if err != nil {
			return nil, err
		}
		if name == spec.Primary {
			if err := c.setPrimary(ctx, spec.Name, name); err != nil {
				return nil, err
			}
			state.Options["primary"] = name
		}
		state.Slaves = append(state.Slaves, *slave)
	}
	if err := c.equip(spec, bond); err != nil {
		return nil, err
	}
	if err := c.waitReady(ctx, spec); err != nil {
		return nil, err
	}
	link, err := c.nl.LinkByIndex(index)
	if err != nil {
		return nil, failed("ip link show", spec.Name, err)
	}
	state.MTU, state.MAC = link.Attrs().MTU, link.Attrs().HardwareAddr.String()
	if state.MTU != spec.MTU {
		return nil, &MismatchError{Object: spec.Name, Option: "mtu", Want: fmt.Sprint(spec.MTU), Got: fmt.Sprint(state.MTU)}
	}
	return state, nil
}

// equip sets the bond up with its counter and address.
func (c *Client) equip(spec Spec, bond netlink.Link) error {
	index := bond.Attrs().Index
	if spec.isIPv6() {
		if err := enableIPv6(spec.Name); err != nil {
			return err
		}
	}
	if err := c.nl.LinkSetUp(bond); err != nil {
		return failed("ip link set up", spec.Name, err)
	}
	if !spec.Bare {
		if err := c.CountEgress(index); err != nil {
			return err
		}
	}
	if spec.Orphan {
		if err := c.Orphan(index); err != nil {
			return err
		}
	}
	if spec.Address == nil {
		return nil
	}
	// Without duplicate address detection, which would make the address wait.
	addr := &netlink.Addr{IPNet: spec.Address, Flags: unix.IFA_F_NODAD}
	return failed("ip addr add "+spec.Address.String(), spec.Name, c.nl.AddrAdd(bond, addr))
}

// setPrimary prefers a slave whenever it is up. The bond must have it already (bond_option_primary_set,
// drivers/net/bonding/bond_options.c).
func (c *Client) setPrimary(ctx context.Context, bond, slave string) error {
	primary := []Option{{Name: "primary", Value: slave}}
	if err := (setOptions{bond, ofBond, primary}).run(ctx, c); err != nil {
		return err
	}
	all, err := links()
	if err != nil {
		return err
	}
	_, err = compareOptions(bond, all[bond].Bond, primary)
	return err
}

func (c *Client) create(ctx context.Context, spec Spec) (netlink.Link, map[string]string, error) {
	if err := (createBond{spec.Name, spec.Options}).run(ctx, c); err != nil {
		return nil, nil, err
	}
	link, err := c.nl.LinkByName(spec.Name)
	if err != nil {
		return nil, nil, failed("ip link show", spec.Name, err)
	}
	if link.Type() != "bond" {
		return nil, nil, fmt.Errorf("%s: asked for a bond, got a %s", spec.Name, link.Type())
	}
	all, err := links()
	if err != nil {
		return nil, nil, err
	}
	options, err := compareOptions(spec.Name, all[spec.Name].Bond, spec.Options)
	return link, options, err
}

// enslave takes two steps, as a slave must be down to be enslaved and stays down on 6.1 when both are asked
// for in one message; bond_enslave opens it, and the second step makes sure.
func (c *Client) enslave(spec Spec, bond netlink.Link, index int) (*Slave, error) {
	name := spec.Slaves[index]
	link, err := c.nl.LinkByName(name)
	if err != nil {
		return nil, failed("ip link show", name, err)
	}
	if master := link.Attrs().MasterIndex; master != 0 {
		return nil, fmt.Errorf("%s has a master already: %s", name, c.nameOf(master))
	}
	steps := []struct {
		op string
		do func() error
	}{
		{"ip link set down", func() error { return c.nl.LinkSetDown(link) }},
		{fmt.Sprintf("ip link set txqueuelen %d", spec.TxQueueLen), func() error { return c.nl.LinkSetTxQLen(link, spec.TxQueueLen) }},
		{"ip link set master " + spec.Name, func() error { return c.nl.LinkSetMaster(link, bond) }},
		{"ip link set up", func() error { return c.nl.LinkSetUp(link) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return nil, failed(s.op, name, err)
		}
	}
	if err := SetOffload(name, spec.Offload); err != nil {
		return nil, err
	}
	if link, err = c.nl.LinkByName(name); err != nil {
		return nil, failed("ip link show", name, err)
	}
	a := link.Attrs()
	if a.MasterIndex != bond.Attrs().Index {
		return nil, &MismatchError{Object: name, Option: "master", Want: spec.Name, Got: c.nameOf(a.MasterIndex)}
	}
	if a.TxQLen != spec.TxQueueLen {
		return nil, &MismatchError{Object: name, Option: "txqueuelen", Want: fmt.Sprint(spec.TxQueueLen), Got: fmt.Sprint(a.TxQLen)}
	}
	if spec.Queues != 0 && a.NumTxQueues != spec.Queues {
		return nil, &MismatchError{Object: name, Option: "TX queues", Want: fmt.Sprint(spec.Queues), Got: fmt.Sprint(a.NumTxQueues)}
	}
	if spec.isIPv6() {
		if err := c.addressSlave(link, index, spec.Address); err != nil {
			return nil, err
		}
	}
	if !spec.Bare {
		// After txqueuelen: pfifo_fast sizes its rings when it is made (net/sched/sch_generic.c, pfifo_fast_init).
		if err := c.ReplaceQdisc(a.Index, a.NumTxQueues, spec.Leaves()[index]); err != nil {
			return nil, err
		}
	}
	nic, err := InspectNIC(name)
	if err != nil {
		return nil, err
	}
	return &Slave{NIC: nic, Name: name, Ifindex: a.Index, MAC: a.HardwareAddr.String(), Queues: a.NumTxQueues, TxQueueLen: a.TxQLen}, nil
}

const (
	readyLimit = 5 * time.Second
	// lacpLimit leaves room for LACP's slow first steps: the aggregator waits 2 s for more ports, and a partner that
	// was asked slowly is asked again only after 30 s (drivers/net/bonding/bond_3ad.c).
	lacpLimit = 40 * time.Second
)

// waitReady waits until the bond and every slave are up with carrier and the MII monitor says "up".
func (c *Client) waitReady(ctx context.Context, spec Spec) error {
	limit := readyLimit
	if spec.Partnered {
		limit = lacpLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		missing, err := c.notReady(spec)
		if err != nil {
			return err
		}
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: %s", spec.Name, limit, missing)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// HasCarrier tells from an interface's flags (ifi_flags, rtnetlink(7)) whether it is up and its link is.
func HasCarrier(flags uint32) bool {
	const both = unix.IFF_UP | unix.IFF_LOWER_UP
	return flags&both == both
}

func (c *Client) notReady(spec Spec) (string, error) {
	for _, name := range append([]string{spec.Name}, spec.Slaves...) {
		link, err := c.nl.LinkByName(name)
		if err != nil {
			return "", failed("ip link show", name, err)
		}
		a := link.Attrs()
		if !HasCarrier(a.RawFlags) {
			return name + " has no carrier", nil
		}
		// Until linkwatch has seen the carrier the device has a noop qdisc, which loses packets and says nothing.
		if a.OperState != netlink.OperUp {
			return name + " is operationally " + a.OperState.String(), nil
		}
		slave, ok := a.Slave.(*netlink.BondSlave)
		if name != spec.Name && !ok {
			return name + " is no slave", nil
		}
		if ok && slave.MiiStatus != netlink.BondLinkUp {
			return name + " is MII " + slave.MiiStatus.String(), nil
		}
		// LACP_STATE_DISTRIBUTING (include/net/bond_3ad.h).
		const distributing = 0x20
		if ok && spec.Partnered && uint16(slave.AdActorOperPortState)&slave.AdPartnerOperPortState&distributing == 0 {
			return fmt.Sprintf("LACP has not put %s to use (port state %#x, the partner's %#x)", name, slave.AdActorOperPortState, slave.AdPartnerOperPortState), nil
		}
	}
	return "", nil
}

// Down removes the bond, which frees its slaves, and sets them down. A bond that is not there is no error; an interface
// of that name that is no bond is left alone, with an error.
func (c *Client) Down(name string) error {
	bond, err := c.nl.LinkByName(name)
	var gone netlink.LinkNotFoundError
	switch {
	case errors.As(err, &gone):
		return nil
	case err != nil:
		return failed("ip link show", name, err)
	}
	if bond.Type() != "bond" {
		return fmt.Errorf("%s is a %s, no bond: it is left alone", name, bond.Type())
	}
	links, err := c.nl.LinkList()
	if err != nil {
		return failed("ip link show", name, err)
	}
	errs := []error{failed("ip link del", name, c.nl.LinkDel(bond))}
	for _, l := range links {
		if l.Attrs().MasterIndex == bond.Attrs().Index {
			errs = append(errs, failed("ip link set down", l.Attrs().Name, c.nl.LinkSetDown(l)))
		}
	}
	return errors.Join(errs...)
}

// ActiveSlave is the ifindex of the bond's active slave, 0 when it has none.
func (c *Client) ActiveSlave(name string) (int, error) {
	link, err := c.nl.LinkByName(name)
	if err != nil {
		return 0, failed("ip link show", name, err)
	}
	bond, ok := link.(*netlink.Bond)
	if !ok {
		return 0, fmt.Errorf("%s is no bond", name)
	}
	return max(0, bond.ActiveSlave), nil
}

// SetSlave sets a slave up or down: `ip link set DEV up|down`.
func (c *Client) SetSlave(ifindex int, up bool) error {
	link, err := c.nl.LinkByIndex(ifindex)
	if err != nil {
		return failed("ip link show", fmt.Sprintf("interface %d", ifindex), err)
	}
	if up {
		return failed("ip link set up", link.Attrs().Name, c.nl.LinkSetUp(link))
	}
	return failed("ip link set down", link.Attrs().Name, c.nl.LinkSetDown(link))
}
