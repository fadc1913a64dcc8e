package ifstate

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// settable are the flags that an administrator sets (__dev_change_flags, net/core/dev.c).
const settable = unix.IFF_UP | unix.IFF_DEBUG | unix.IFF_NOTRAILERS | unix.IFF_NOARP | unix.IFF_PROMISC | unix.IFF_ALLMULTI |
	unix.IFF_MULTICAST | unix.IFF_PORTSEL | unix.IFF_AUTOMEDIA | unix.IFF_DYNAMIC

// flagWords are those that ip(8) can set, by its word for it.
var flagWords = []struct {
	flag    uint32
	word    string
	inverse bool // "off" sets it
}{
	{unix.IFF_NOARP, "arp", true},
	{unix.IFF_PROMISC, "promisc", false},
	{unix.IFF_ALLMULTI, "allmulticast", false},
	{unix.IFF_MULTICAST, "multicast", false},
	{unix.IFF_DYNAMIC, "dynamic", false},
	{unix.IFF_NOTRAILERS, "trailers", true},
}

// Attributes that the library does not know (include/uapi/linux/if_link.h, if_addr.h, rtnetlink.h).
const (
	iflaBondSlavePrio = 9
	ifaProto          = 11
	ndaProtocol       = 12
	ndaFlagsExt       = 15
	rtaNexthopID      = 30
)

// link is an interface as one RTM_NEWLINK message tells it.
type link struct {
	index, master, parent int
	name, kind            string
	slaveKind             string
	flags                 uint32 // all of them
	mac, permanentMAC     string
	mtu, txQueueLen       int
	group                 uint32
	mode, oper            uint8
	xdp                   bool
	prio                  *int32 // as a bond's slave
}

func (l link) up() bool { return l.flags&unix.IFF_UP != 0 }

// links are all interfaces, in the order of their indices.
func links() ([]link, error) {
	messages, err := dump("interfaces", unix.RTM_GETLINK, unix.RTM_NEWLINK, 0, make([]byte, unix.SizeofIfInfomsg))
	if err != nil {
		return nil, err
	}
	all := make([]link, 0, len(messages))
	for _, m := range messages {
		l, err := decodeLink(m)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b link) int { return a.index - b.index })
	return all, nil
}

func decodeLink(m []byte) (link, error) {
	if len(m) < unix.SizeofIfInfomsg {
		return link{}, fmt.Errorf("a message about an interface has %d bytes", len(m))
	}
	l := link{index: int(u32(m[4:])), flags: u32(m[8:])}
	attrs, err := attributes(m[unix.SizeofIfInfomsg:])
	if err != nil {
		return link{}, err
	}
	for _, a := range attrs {
		switch a.kind {
		case unix.IFLA_IFNAME:
			l.name = text(a.value)
		case unix.IFLA_MASTER:
			l.master = int(u32(a.value))
		case unix.IFLA_LINK:
			l.parent = int(u32(a.value))
		case unix.IFLA_LINK_NETNSID:
			l.parent = 0 // an index of another namespace
		case unix.IFLA_ADDRESS:
			l.mac = hardware(a.value)
		case unix.IFLA_PERM_ADDRESS:
			l.permanentMAC = hardware(a.value)
		case unix.IFLA_MTU:
			l.mtu = int(u32(a.value))
		case unix.IFLA_TXQLEN:
			l.txQueueLen = int(u32(a.value))
		case unix.IFLA_GROUP:
			l.group = u32(a.value)
		case unix.IFLA_LINKMODE:
			l.mode = a.value[0]
		case unix.IFLA_OPERSTATE:
			l.oper = a.value[0]
		case unix.IFLA_XDP:
			l.xdp, err = hasXDP(a.value)
		case unix.IFLA_LINKINFO:
			err = l.decodeInfo(a.value)
		}
		if err != nil {
			return link{}, err
		}
	}
	// The order of attributes is the kernel's: IFLA_LINK comes before IFLA_LINK_NETNSID.
	if l.parent == l.index {
		l.parent = 0
	}
	return l, nil
}

func (l *link) decodeInfo(b []byte) error {
	info, err := attributes(b)
	if err != nil {
		return err
	}
	l.kind, l.slaveKind = text(find(info, unix.IFLA_INFO_KIND)), text(find(info, unix.IFLA_INFO_SLAVE_KIND))
	if l.slaveKind != "bond" {
		return nil
	}
	data, err := attributes(find(info, unix.IFLA_INFO_SLAVE_DATA))
	if err != nil {
		return err
	}
	if b := find(data, iflaBondSlavePrio); b != nil {
		prio := int32(u32(b))
		l.prio = &prio
	}
	return nil
}

func hasXDP(b []byte) (bool, error) {
	attrs, err := attributes(b)
	if err != nil {
		return false, err
	}
	attached := find(attrs, unix.IFLA_XDP_ATTACHED)
	return len(attached) > 0 && attached[0] != 0, nil
}

func hardware(b []byte) string {
	if !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return ""
	}
	return net.HardwareAddr(b).String()
}

// operText is the word for IFLA_OPERSTATE (RFC 2863).
func operText(state uint8) string { return netlink.LinkOperState(state).String() }

// operUp is the operational state of an interface that is in use.
const operUp = "up"

// byIndex is the interface with that index, nil where there is none.
func byIndex(all []link, index int) *link {
	for i := range all {
		if all[i].index == index {
			return &all[i]
		}
	}
	return nil
}

func byName(all []link, name string) *link {
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// nameOf is the interface's name, or its index where it has none here.
func nameOf(all []link, index int) string {
	if l := byIndex(all, index); l != nil {
		return l.name
	}
	return fmt.Sprintf("if%d", index)
}

// flagText names the settable flags as ip(8) does.
func flagText(flags uint32) string {
	names := []struct {
		flag uint32
		name string
	}{
		{unix.IFF_UP, "UP"}, {unix.IFF_DEBUG, "DEBUG"}, {unix.IFF_NOTRAILERS, "NOTRAILERS"}, {unix.IFF_NOARP, "NOARP"},
		{unix.IFF_PROMISC, "PROMISC"}, {unix.IFF_ALLMULTI, "ALLMULTI"}, {unix.IFF_MULTICAST, "MULTICAST"},
		{unix.IFF_PORTSEL, "PORTSEL"}, {unix.IFF_AUTOMEDIA, "AUTOMEDIA"}, {unix.IFF_DYNAMIC, "DYNAMIC"},
	}
	var set []string
	for _, n := range names {
		if flags&n.flag != 0 {
			set = append(set, n.name)
		}
	}
	return "<" + strings.Join(set, ",") + ">"
}
