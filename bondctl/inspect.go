package bondctl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Interface is what the kernel says of one interface, as far as a Bond can ask for it.
type Interface struct {
	Index      int
	Kind       string // "bond", "veth", …; "" for most NICs
	Master     string // "" for none
	Up         bool   // administratively
	MTU        int    // bytes
	TxQueueLen int    // packets
	Queues     int    // TX queues
	// Qdisc is the kind that each TX queue has. Where they differ, or one qdisc serves several queues, it says so.
	Qdisc     string
	Addresses []netip.Prefix
	Bond      map[string]string // options of a bond
	Slave     map[string]string // options of a bond's slave

	raw []byte // IFLA_LINKINFO
}

// Interfaces are the interfaces of a network namespace by name.
type Interfaces map[string]Interface

func (all Interfaces) indexOf(name string) (int, error) {
	i, ok := all[name]
	if !ok {
		return 0, fmt.Errorf("there is no interface %s", name)
	}
	return i.Index, nil
}

func (all Interfaces) nameOf(index int) string {
	for name, i := range all {
		if i.Index == index {
			return name
		}
	}
	return fmt.Sprintf("interface %d", index)
}

// slavesOf are the slaves of a bond, sorted by name.
func (all Interfaces) slavesOf(bond string) []string {
	var names []string
	for name, i := range all {
		if i.Master == bond {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Interfaces reads all interfaces of the namespace.
func (c *Client) Interfaces() (Interfaces, error) {
	all, err := links()
	if err != nil {
		return nil, err
	}
	for name, i := range all {
		if err := c.readRest(name, &i); err != nil {
			return nil, err
		}
		all[name] = i
	}
	return all, nil
}

// links reads all interfaces of the calling thread's namespace, without their qdiscs and addresses.
func links() (Interfaces, error) {
	messages, err := dumpLinks()
	if err != nil {
		return nil, failed("ip link show", "all interfaces", err)
	}
	all := Interfaces{}
	masters := map[string]int{}
	for _, m := range messages {
		name, i, master, err := parseLink(m)
		if err != nil {
			return nil, failed("ip link show", "all interfaces", err)
		}
		all[name] = i
		if master != 0 {
			masters[name] = master
		}
	}
	for name, i := range all {
		if master := masters[name]; master != 0 {
			i.Master = all.nameOf(master)
		}
		if err := i.readInfo(all); err != nil {
			return nil, failed("ip link show", name, err)
		}
		all[name] = i
	}
	return all, nil
}

// parseLink takes one RTM_NEWLINK apart.
func parseLink(m []byte) (name string, i Interface, master int, err error) {
	msg := nl.DeserializeIfInfomsg(m)
	attrs, err := attributes(m[msg.Len():])
	if err != nil {
		return "", i, 0, err
	}
	number := func(attr uint16) int {
		if b := attrs[attr]; len(b) >= 4 {
			return int(binary.NativeEndian.Uint32(b))
		}
		return 0
	}
	i = Interface{
		Index: int(msg.Index), Up: msg.Flags&unix.IFF_UP != 0, raw: attrs[unix.IFLA_LINKINFO],
		MTU: number(unix.IFLA_MTU), TxQueueLen: number(unix.IFLA_TXQLEN), Queues: number(unix.IFLA_NUM_TX_QUEUES),
	}
	return nl.BytesToString(attrs[unix.IFLA_IFNAME]), i, number(unix.IFLA_MASTER), nil
}

// readInfo fills in what IFLA_LINKINFO holds.
func (i *Interface) readInfo(d devices) error {
	info, err := attributes(i.raw)
	if err != nil {
		return err
	}
	i.Kind = nl.BytesToString(append(info[nl.IFLA_INFO_KIND], 0))
	if i.Kind == "bond" {
		if i.Bond, err = readOptions(bondTable, info[nl.IFLA_INFO_DATA], d); err != nil {
			return err
		}
	}
	if nl.BytesToString(append(info[nl.IFLA_INFO_SLAVE_KIND], 0)) == "bond" {
		i.Slave, err = readOptions(slaveTable, info[nl.IFLA_INFO_SLAVE_DATA], d)
	}
	return err
}

// readRest fills in qdiscs and addresses. An interface that went away meanwhile has none.
func (c *Client) readRest(name string, i *Interface) error {
	link := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: name, Index: i.Index}}
	qdiscs, err := c.nl.QdiscList(link)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return failed("tc qdisc show", name, err)
	}
	kinds := make([]queueQdisc, len(qdiscs))
	for n, q := range qdiscs {
		kinds[n] = queueQdisc{parent: q.Attrs().Parent, handle: q.Attrs().Handle, kind: q.Type()}
	}
	i.Qdisc = perQueue(kinds, i.Queues)
	addrs, err := c.nl.AddrList(link, netlink.FAMILY_ALL)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return failed("ip addr show", name, err)
	}
	for _, a := range addrs {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			ones, _ := a.Mask.Size()
			i.Addresses = append(i.Addresses, netip.PrefixFrom(ip.Unmap(), ones))
		}
	}
	return nil
}

// queueQdisc is one qdisc of an interface.
type queueQdisc struct {
	parent, handle uint32
	kind           string
}

// perQueue says which qdisc each TX queue has, as Interface.Qdisc does.
func perQueue(qdiscs []queueQdisc, queues int) string {
	var root queueQdisc
	for _, q := range qdiscs {
		if q.parent == netlink.HANDLE_ROOT {
			root = q
		}
	}
	if root.kind != "mq" {
		if queues > 1 && root.kind != "" && root.kind != "noqueue" {
			return root.kind + " for all queues together"
		}
		return root.kind
	}
	var kinds []string
	for _, q := range qdiscs {
		if q.parent&0xffff0000 == root.handle&0xffff0000 && q.parent&0xffff != 0 {
			kinds = append(kinds, q.kind)
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), " and ")
}
