package traffic

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// family is what differs between IPv4 and IPv6 for a sender. There are two: inet4 and inet6.
type family struct {
	address     string // what a group must be, for errors
	domain      int    // of socket(2)
	overhead    int    // bytes a datagram adds to its payload at layer 2 without FCS
	maxDatagram int    // bytes of UDP payload
	level       int    // of the family's options, and of what the error queue holds
	recverr     int
	recverrName string
	hopsName    string // TTL or hop limit of multicast
	loopName    string
	ifName      string
	joinName    string
	joinLimit   string // what bounds the memberships of a socket
	any         netip.Addr
	is          func(netip.Addr) bool
	sockaddr    func(netip.AddrPort) []byte // as the kernel takes it
	unixAddr    func(netip.AddrPort) unix.Sockaddr
	packetConn  func(fd int) packetConn
}

const (
	ethernetHeader = 14 // bytes
	ipv4Header     = 20
	ipv6Header     = 40
	udpHeader      = 8
	maxLength      = 65535 // of an IPv4 packet, and of what follows an IPv6 header
)

var inet4 = family{
	address:     "an IPv4 address",
	domain:      unix.AF_INET,
	overhead:    ethernetHeader + ipv4Header + udpHeader,
	maxDatagram: maxLength - ipv4Header - udpHeader,
	level:       unix.IPPROTO_IP,
	recverr:     unix.IP_RECVERR,
	recverrName: "IP_RECVERR",
	hopsName:    "IP_MULTICAST_TTL",
	loopName:    "IP_MULTICAST_LOOP",
	ifName:      "IP_MULTICAST_IF",
	joinName:    "MCAST_JOIN_GROUP",
	joinLimit:   "net.ipv4.igmp_max_memberships and net.core.optmem_max",
	any:         netip.IPv4Unspecified(),
	is:          netip.Addr.Is4,
	sockaddr:    sockaddr4,
	unixAddr: func(a netip.AddrPort) unix.Sockaddr {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	},
	packetConn: newConn4,
}

var inet6 = family{
	address:     "an IPv6 address without a zone",
	domain:      unix.AF_INET6,
	overhead:    ethernetHeader + ipv6Header + udpHeader,
	maxDatagram: maxLength - udpHeader,
	level:       unix.IPPROTO_IPV6,
	recverr:     unix.IPV6_RECVERR,
	recverrName: "IPV6_RECVERR",
	hopsName:    "IPV6_MULTICAST_HOPS",
	loopName:    "IPV6_MULTICAST_LOOP",
	ifName:      "IPV6_MULTICAST_IF",
	joinName:    "MCAST_JOIN_GROUP",
	joinLimit:   "net.core.optmem_max",
	any:         netip.IPv6Unspecified(),
	is:          func(a netip.Addr) bool { return a.Is6() && !a.Is4In6() && a.Zone() == "" },
	sockaddr:    sockaddr6,
	unixAddr: func(a netip.AddrPort) unix.Sockaddr {
		return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	},
	packetConn: newConn6,
}

// familyOf is the family of all groups of a scenario.
func familyOf(t scenarios.Traffic) *family {
	if t.IPv6() {
		return &inet6
	}
	return &inet4
}

// sockaddr4 is a struct sockaddr_in.
func sockaddr4(to netip.AddrPort) []byte {
	b := make([]byte, unix.SizeofSockaddrInet4)
	binary.NativeEndian.PutUint16(b, unix.AF_INET)
	binary.BigEndian.PutUint16(b[2:], to.Port())
	copy(b[4:], to.Addr().AsSlice())
	return b
}

// sockaddr6 is a struct sockaddr_in6 with a scope id of 0: the interface is IPV6_MULTICAST_IF's. A scope id would go
// before that for groups of link-local scope (udpv6_sendmsg, net/ipv6/udp.c), and Bypass would do nothing to them.
func sockaddr6(to netip.AddrPort) []byte {
	b := make([]byte, unix.SizeofSockaddrInet6)
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	binary.BigEndian.PutUint16(b[2:], to.Port())
	copy(b[8:], to.Addr().AsSlice())
	return b
}

// destinations are the groups with the port, in the scenario's order.
func destinations(t scenarios.Traffic) ([]netip.AddrPort, error) {
	f := familyOf(t)
	var all []netip.AddrPort
	for _, g := range t.Groups {
		ip, err := netip.ParseAddr(g)
		if err != nil || !f.is(ip) {
			return nil, &OptionError{Field: "traffic.groups", Value: g, Why: f.address + " is needed, as all groups are of the first one's family"}
		}
		all = append(all, netip.AddrPortFrom(ip, uint16(t.Port)))
	}
	return all, nil
}

// multicastInterface is the interface to send out of by index, the one form that is right for bonds.
func (f *family) multicastInterface(fd, ifindex int) error {
	return f.packetConn(fd).SetMulticastInterface(&net.Interface{Index: ifindex})
}
