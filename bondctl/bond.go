package bondctl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
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
	// Ready is how long to wait until every slave is up, beside what LACP takes; 0: 5 s. A real port's link takes
	// seconds.
	Ready time.Duration
	Take  bool // the slaves lose their addresses
	// Ifindex is the bond's own, so that it can be told from one that somebody else made of that name; 0: the kernel's
	// choice.
	Ifindex int
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
	Address netip.Addr // of the interface to send from; the zero one where it has none
	Options map[string]string
	Slaves  []Slave

	lent bool // Adopt gave the bond its address
}

// Slave is one slave as read back.
type Slave struct {
	NIC
	Name       string
	Ifindex    int
	MAC        string
	Queues     int // TX queues
	TxQueueLen int
	Qdisc      string // as Interface.Qdisc
}

// Client holds the netlink sockets of one namespace. Not for concurrent use.
type Client struct {
	// Changed is told each change after it was made, as a command line that does the same; nil is nobody.
	Changed func(command string)

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

// Up builds the bond: create it with all its options, enslave, install qdiscs and the counter, bring it up, read all of
// it back, and wait until every slave has carrier and the bond's MII monitor agrees. On error nothing of it is left
// behind.
func (c *Client) Up(ctx context.Context, spec Spec) (*State, error) {
	if _, err := c.nl.LinkByName(spec.Name); err == nil {
		return nil, fmt.Errorf("%s exists already: an interface that was not built here is never measured (bonding loaded without max_bonds=0 makes a bond0 of its own)", spec.Name)
	}
	state, err := c.up(ctx, spec)
	if err != nil {
		return nil, errors.Join(err, c.downOurs(spec))
	}
	return state, nil
}

// downOurs takes down what Up has built of a bond, and nothing that somebody else made of that name meanwhile.
func (c *Client) downOurs(spec Spec) error {
	if link, err := c.nl.LinkByName(spec.Name); err == nil && spec.Ifindex != 0 && link.Attrs().Index != spec.Ifindex {
		return nil
	}
	return c.Down(spec.Name)
}

func (c *Client) up(ctx context.Context, spec Spec) (*State, error) {
	have, err := c.Interfaces()
	if err != nil {
		return nil, err
	}
	steps, err := planSpec(spec, have)
	if err != nil {
		return nil, err
	}
	if err := c.do(ctx, steps...); err != nil {
		return nil, err
	}
	state, err := c.readBack(spec)
	if err != nil {
		return nil, err
	}
	if err := c.waitReady(ctx, spec); err != nil {
		return nil, err
	}
	return state, nil
}

// do takes steps one after the other, and tells c.Changed of each that changes something.
func (c *Client) do(ctx context.Context, steps ...Step) error {
	for _, s := range steps {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := s.run(ctx, c); err != nil {
			return err
		}
		if words := s.Command(); c.Changed != nil && words[0] != "#" {
			c.Changed(CommandLine(s))
		}
	}
	return nil
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
	// Each by itself, whether or not another failed, and whoever has cancelled what went before.
	errs := []error{c.do(context.Background(), deleteLink{name})}
	for _, l := range links {
		if l.Attrs().MasterIndex == bond.Attrs().Index {
			errs = append(errs, c.do(context.Background(), setLink{l.Attrs().Name, "down", ""}))
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
	return c.do(context.Background(), setLink{c.nameOf(ifindex), upOrDown(up), ""})
}
