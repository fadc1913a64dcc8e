package bondctl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
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
	MAC        net.HardwareAddr
	MTU        int // bytes
	TxQueueLen int // packets
	Queues     int // TX queues
	// Qdisc is the kind that each TX queue has. Where they differ, or one qdisc serves several queues, it says so.
	Qdisc     string
	Rooted    bool // its root qdisc was installed: a default one has no handle
	Addresses []netip.Prefix
	Bond      map[string]string // options of a bond
	Slave     map[string]string // options of a bond's slave
	VLAN      int               // id of a VLAN interface

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
func (c *Client) Interfaces() (all Interfaces, err error) {
	return all, uninterrupted(func() error {
		if all, err = links(); err != nil {
			return err
		}
		if err := c.readQdiscs(all); err != nil {
			return err
		}
		return c.readAddresses(all)
	})
}

// uninterrupted reads again when what was read changed meanwhile (NLM_F_DUMP_INTR).
func uninterrupted(read func() error) (err error) {
	for range 20 {
		if err = read(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return err
		}
	}
	return err
}

// links reads all interfaces of the calling thread's namespace, without their qdiscs and addresses.
func links() (Interfaces, error) {
	var messages [][]byte
	err := uninterrupted(func() (err error) {
		messages, err = dumpLinks()
		return err
	})
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
		MAC: net.HardwareAddr(attrs[unix.IFLA_ADDRESS]), MTU: number(unix.IFLA_MTU), TxQueueLen: number(unix.IFLA_TXQLEN), Queues: number(unix.IFLA_NUM_TX_QUEUES),
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
	if i.Kind == "vlan" {
		data, err := attributes(info[nl.IFLA_INFO_DATA])
		if err != nil {
			return err
		}
		if id := data[nl.IFLA_VLAN_ID]; len(id) >= 2 {
			i.VLAN = int(binary.NativeEndian.Uint16(id))
		}
	}
	if nl.BytesToString(append(info[nl.IFLA_INFO_SLAVE_KIND], 0)) == "bond" {
		i.Slave, err = readOptions(slaveTable, info[nl.IFLA_INFO_SLAVE_DATA], d)
	}
	return err
}

// readQdiscs fills in the qdiscs.
func (c *Client) readQdiscs(all Interfaces) error {
	qdiscs, err := c.nl.QdiscList(nil)
	if err != nil {
		return failed("tc qdisc show", "all interfaces", err)
	}
	of := map[int][]queueQdisc{}
	for _, q := range qdiscs {
		a := q.Attrs()
		of[a.LinkIndex] = append(of[a.LinkIndex], queueQdisc{parent: a.Parent, handle: a.Handle, kind: q.Type()})
	}
	for name, i := range all {
		i.Qdisc = perQueue(of[i.Index], i.Queues)
		i.Rooted = slices.ContainsFunc(of[i.Index], func(q queueQdisc) bool { return q.parent == netlink.HANDLE_ROOT && q.handle != 0 })
		all[name] = i
	}
	return nil
}

// readAddresses fills in the addresses.
func (c *Client) readAddresses(all Interfaces) error {
	addrs, err := c.nl.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return failed("ip addr show", "all interfaces", err)
	}
	of := map[int][]netip.Prefix{}
	for _, a := range addrs {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			ones, _ := a.Mask.Size()
			of[a.LinkIndex] = append(of[a.LinkIndex], netip.PrefixFrom(ip.Unmap(), ones))
		}
	}
	for name, i := range all {
		i.Addresses = of[i.Index]
		all[name] = i
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
		if q.parent&0xffff0000 == root.handle&0xffff0000 {
			kinds = append(kinds, q.kind)
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), " and ")
}
