package bondctl

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// unknownSpeed is SPEED_UNKNOWN (include/uapi/linux/ethtool.h).
const unknownSpeed = 0xffffffff

// Attributes of struct ifla_bond_ad_info and of a slave (include/uapi/linux/if_link.h).
const (
	adAggregator = 1 + iota
	adPorts
	adActorKey
	adPartnerKey
	adPartnerMAC
)

const (
	slaveState = 1 + iota
	slaveMII
	slaveFailures
	slavePermanentMAC
	slaveQueueID
	slaveAggregator
	slaveActorState
	slavePartnerState
	slavePriority
)

var (
	// operStates are IF_OPER_* (include/uapi/linux/if.h), as iproute2 writes them.
	operStates  = []string{"UNKNOWN", "NOTPRESENT", "DOWN", "LOWERLAYERDOWN", "TESTING", "DORMANT", "UP"}
	slaveStates = []string{"ACTIVE", "BACKUP"}
	// miiStates are BOND_LINK_* (include/uapi/linux/if_bonding.h).
	miiStates = []string{"UP", "GOING_DOWN", "DOWN", "GOING_BACK"}
	duplexes  = []string{"half", "full"}
	// portStates are the bits LACP_STATE_* of IEEE 802.1AX, the lowest first, as iproute2 writes them.
	portStates = []string{"active", "short_timeout", "aggregating", "in_sync", "collecting", "distributing", "defaulted", "expired"}
)

// rawAttributes are a message's by type. What is damaged ends the list: what came before it is kept.
type rawAttributes map[uint16][]byte

func parseRaw(b []byte) rawAttributes {
	all := rawAttributes{}
	for len(b) >= unix.SizeofRtAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofRtAttr || size > len(b) {
			break
		}
		all[binary.NativeEndian.Uint16(b[2:])&nl.NLA_TYPE_MASK] = b[unix.SizeofRtAttr:size]
		b = b[min((size+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1), len(b)):]
	}
	return all
}

// number is an attribute of 1, 2 or 4 bytes; 0 where there is none.
func (a rawAttributes) number(t uint16) int { return int(unsigned(a[t])) }

func (a rawAttributes) text(t uint16) string { return strings.TrimRight(string(a[t]), "\x00") }

func (a rawAttributes) mac(t uint16) string { return net.HardwareAddr(a[t]).String() }

func unsigned(b []byte) uint32 {
	switch len(b) {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(binary.NativeEndian.Uint16(b))
	case 4:
		return binary.NativeEndian.Uint32(b)
	}
	return 0
}

// wordOf is a number's word, or UNKNOWN, as iproute2 has it.
func wordOf(words []string, n int) string {
	if n < 0 || n >= len(words) {
		return "UNKNOWN"
	}
	return words[n]
}

// linkReading is one RTM_NEWLINK.
type linkReading struct {
	index int
	flags uint32
	rawAttributes
	kind, slaveKind string
	bond, slave     rawAttributes // IFLA_INFO_DATA, IFLA_INFO_SLAVE_DATA
}

// linkNames are the names of interfaces by ifindex, for the options that hold one.
type linkNames map[int]string

func (n linkNames) nameOf(index int) string { return n[index] }

func (n linkNames) indexOf(name string) (int, error) {
	for index, known := range n {
		if known == name {
			return index, nil
		}
	}
	return 0, fmt.Errorf("there is no interface %s", name)
}

// links decodes the messages, by ifindex.
func (r readings) links() []linkReading {
	var all []linkReading
	for _, m := range r.Links {
		if len(m) < unix.SizeofIfInfomsg {
			continue
		}
		l := linkReading{
			index: int(binary.NativeEndian.Uint32(m[4:])), flags: binary.NativeEndian.Uint32(m[8:]),
			rawAttributes: parseRaw(m[unix.SizeofIfInfomsg:]),
		}
		info := parseRaw(l.rawAttributes[unix.IFLA_LINKINFO])
		l.kind, l.slaveKind = info.text(nl.IFLA_INFO_KIND), info.text(nl.IFLA_INFO_SLAVE_KIND)
		l.bond, l.slave = parseRaw(info[nl.IFLA_INFO_DATA]), parseRaw(info[nl.IFLA_INFO_SLAVE_DATA])
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b linkReading) int { return cmp.Compare(a.index, b.index) })
	return all
}

// show makes a Show of the readings. What they lack is left out.
func (r readings) show() Show {
	s := Show{Kernel: r.Kernel, Bonds: []ShownBond{}}
	links, qdiscs, addresses := r.links(), r.qdiscs(), r.addresses()
	names := linkNames{}
	for _, l := range links {
		names[l.index] = l.text(unix.IFLA_IFNAME)
	}
	for _, l := range links {
		if l.kind != "bond" {
			continue
		}
		b := l.shownBond(names)
		b.Qdiscs, b.Addresses = qdiscs[l.index], addresses[l.index]
		for _, m := range links {
			if m.slaveKind == "bond" && m.number(unix.IFLA_MASTER) == l.index {
				slave := m.shownSlave()
				slave.Qdiscs = qdiscs[m.index]
				if nic, read := r.NICs[slave.Name]; read {
					nic.addTo(&slave)
				}
				b.Slaves = append(b.Slaves, slave)
			}
		}
		b.InOrder = sortByProc(b.Slaves, r.Proc[b.Name])
		s.Bonds = append(s.Bonds, b)
	}
	slices.SortFunc(s.Bonds, func(a, b ShownBond) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (l linkReading) shownBond(names linkNames) ShownBond {
	b := ShownBond{
		Name: l.text(unix.IFLA_IFNAME), Ifindex: l.index, MTU: l.number(unix.IFLA_MTU), MAC: l.mac(unix.IFLA_ADDRESS),
		State: wordOf(operStates, l.number(unix.IFLA_OPERSTATE)), MIIStatus: "DOWN",
		Options: map[string]string{}, Slaves: []ShownSlave{},
	}
	if l.number(unix.IFLA_CARRIER) == 1 {
		b.MIIStatus = "UP"
	}
	for _, o := range bondTable {
		if value := l.bond[o.attr]; value != nil {
			if word := o.form.read(value, names); word != "" { // an address list that is empty is no option
				b.Options[o.name] = word
			}
		}
	}
	b.Mode, b.ActiveSlave = b.Options["mode"], b.Options["active_slave"]
	delete(b.Options, "mode")
	delete(b.Options, "active_slave")
	if ad := parseRaw(l.bond[nl.IFLA_BOND_AD_INFO]); len(ad) > 0 {
		b.LACP = &ShownLACP{
			Aggregator: ad.number(adAggregator), Ports: ad.number(adPorts), ActorKey: ad.number(adActorKey),
			PartnerKey: ad.number(adPartnerKey), PartnerMAC: ad.mac(adPartnerMAC),
		}
	}
	return b
}

func (l linkReading) shownSlave() ShownSlave {
	s := ShownSlave{
		Name: l.text(unix.IFLA_IFNAME), Ifindex: l.index, MTU: l.number(unix.IFLA_MTU), MAC: l.mac(unix.IFLA_ADDRESS),
		State:     wordOf(slaveStates, l.slave.number(slaveState)),
		MIIStatus: wordOf(miiStates, l.slave.number(slaveMII)),
		Up:        l.flags&unix.IFF_UP != 0, Carrier: l.number(unix.IFLA_CARRIER) == 1,
		PermanentMAC: l.slave.mac(slavePermanentMAC), LinkFailures: l.slave.number(slaveFailures),
		QueueID: l.slave.number(slaveQueueID), TxQueues: l.number(unix.IFLA_NUM_TX_QUEUES),
		TxQueueLen: l.number(unix.IFLA_TXQLEN), Aggregator: l.slave.number(slaveAggregator),
		ActorState: portWords(l.slave[slaveActorState]), PartnerState: portWords(l.slave[slavePartnerState]),
		Duplex: "unknown",
	}
	if p := l.slave[slavePriority]; p != nil {
		priority := int(int32(unsigned(p)))
		s.Priority = &priority
	}
	return s
}

func portWords(value []byte) (words []string) {
	state := unsigned(value)
	for i, word := range portStates {
		if state>>i&1 == 1 {
			words = append(words, word)
		}
	}
	return words
}

func (n nicReading) addTo(s *ShownSlave) {
	s.Driver = n.Driver
	if n.Speed != unknownSpeed {
		s.Speed = int(n.Speed)
	}
	if int(n.Duplex) < len(duplexes) {
		s.Duplex = duplexes[n.Duplex]
	}
}

// qdiscs are the kinds at each ifindex, in the kernel's order, which begins with the root.
func (r readings) qdiscs() map[int][]string {
	kinds := map[int][]string{}
	for _, m := range r.Qdiscs {
		if len(m) < nl.SizeofTcMsg {
			continue
		}
		index := int(binary.NativeEndian.Uint32(m[4:]))
		kind := parseRaw(m[nl.SizeofTcMsg:]).text(nl.TCA_KIND)
		if !slices.Contains(kinds[index], kind) {
			kinds[index] = append(kinds[index], kind)
		}
	}
	return kinds
}

// addresses are those of each ifindex, in the kernel's order.
func (r readings) addresses() map[int][]netip.Prefix {
	all := map[int][]netip.Prefix{}
	for _, m := range r.Addresses {
		if len(m) < unix.SizeofIfAddrmsg {
			continue
		}
		a := parseRaw(m[unix.SizeofIfAddrmsg:])
		own := a[unix.IFA_LOCAL] // IFA_ADDRESS is the peer's of a point-to-point link
		if own == nil {
			own = a[unix.IFA_ADDRESS]
		}
		if addr, ok := netip.AddrFromSlice(own); ok {
			index := int(binary.NativeEndian.Uint32(m[4:]))
			all[index] = append(all[index], netip.PrefixFrom(addr, int(m[1])))
		}
	}
	return all
}

// sortByProc puts slaves in the order in which /proc/net/bonding/NAME lists them, which is that in which they were
// enslaved. It tells whether that lists them all.
func sortByProc(slaves []ShownSlave, text string) bool {
	place := map[string]int{}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Slave Interface: "); ok {
			place[name] = len(place)
		}
	}
	for _, s := range slaves {
		if _, ok := place[s.Name]; !ok {
			return false
		}
	}
	slices.SortFunc(slaves, func(a, b ShownSlave) int { return cmp.Compare(place[a.Name], place[b.Name]) })
	return true
}
