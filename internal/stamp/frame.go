package stamp

import (
	"encoding/binary"
	"net/netip"
)

// Kind is what a frame is, by the names of result.WireSlave.Foreign.
type Kind string

// The kinds of frames. A frame of ours is of kind UDP4 or UDP6 with a payload that Parse accepts.
const (
	UDP4   Kind = "udp4"
	UDP6   Kind = "udp6"
	ICMP   Kind = "icmp"
	IGMP   Kind = "igmp"
	IPv4   Kind = "ipv4-other" // other protocols, fragments, broken headers
	ARP    Kind = "arp"
	LACP   Kind = "lacp" // slow protocols, 0x8809: LACPDU and marker
	MLD    Kind = "mld"  // multicast listener reports and queries
	ND     Kind = "nd"   // neighbour discovery, router solicitations
	IPv6   Kind = "ipv6" // all other IPv6, fragments, broken headers
	VLAN   Kind = "vlan" // a datagram of ours in another VLAN than its run's, or in none; Find does not know runs
	Other  Kind = "other"
	Broken Kind = "short" // no whole Ethernet header
)

// EtherTypes (include/uapi/linux/if_ether.h).
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
	etherIPv6 = 0x86dd
	// EtherSlow is that of the slow protocols, LACP and its markers among them (IEEE 802.3 annex 57A).
	EtherSlow = 0x8809
)

const (
	etherHeader = 14 // bytes
	vlanTag     = 4
	ipv4Header  = 20
	ipv6Header  = 40
	udpHeader   = 8
)

// Protocol numbers.
const (
	protoUDP    = 17
	protoICMPv6 = 58
)

var etherKinds = map[uint16]Kind{etherARP: ARP, EtherSlow: LACP}

var ipv4Kinds = map[byte]Kind{1: ICMP, 2: IGMP}

// icmpv6Kinds by type (RFC 2710, 3810, 4861).
var icmpv6Kinds = map[byte]Kind{130: MLD, 131: MLD, 132: MLD, 143: MLD, 133: ND, 134: ND, 135: ND, 136: ND}

// Datagram is a UDP datagram found in a frame.
type Datagram struct {
	Payload []byte // aliases the frame
	To      netip.AddrPort
	// VLAN is the id of the one 802.1Q tag in the frame; 0: there is none, or it is of no VLAN (a priority's); Stacked:
	// there are two tags, or one of a provider (802.1ad).
	VLAN int
}

// Stacked is no VLAN's id.
const Stacked = -1

// Find finds the UDP datagram of an Ethernet frame (no FCS), behind at most two VLAN tags. For every other frame the
// datagram is zero and the kind says what it is, behind tags, too. One in fragments is "ipv4-other" or "ipv6": its
// payload is not in one frame.
func Find(frame []byte) (Datagram, Kind) {
	if len(frame) < etherHeader {
		return Datagram{}, Broken
	}
	ether, vlan, b := untag(binary.BigEndian.Uint16(frame[etherHeader-2:]), frame[etherHeader:])
	find, ip := finders[ether]
	if !ip {
		if k, known := etherKinds[ether]; known {
			return Datagram{}, k
		}
		return Datagram{}, Other
	}
	d, kind := find(b)
	if d.Payload != nil {
		d.VLAN = vlan
	}
	return d, kind
}

// finders take a packet apart.
var finders = map[uint16]func([]byte) (Datagram, Kind){etherIPv4: findIPv4, etherIPv6: findIPv6}

// untag takes at most two tags from before a frame's body.
func untag(ether uint16, b []byte) (inner uint16, vlan int, body []byte) {
	const id = 0x0fff // the rest of the tag is priority
	for tags := 0; tags < 2 && (ether == etherVLAN || ether == etherQinQ) && len(b) >= vlanTag; tags++ {
		vlan = int(binary.BigEndian.Uint16(b) & id)
		if tags > 0 || ether == etherQinQ {
			vlan = Stacked
		}
		ether, b = binary.BigEndian.Uint16(b[2:]), b[vlanTag:]
	}
	return ether, vlan, b
}

func findIPv4(b []byte) (Datagram, Kind) {
	if len(b) < ipv4Header || b[0]>>4 != 4 {
		return Datagram{}, IPv4
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < ipv4Header || total < head || total > len(b) {
		return Datagram{}, IPv4
	}
	const fragment = 0x3fff // more fragments, or an offset
	if proto := b[9]; proto != protoUDP {
		if k, known := ipv4Kinds[proto]; known {
			return Datagram{}, k
		}
		return Datagram{}, IPv4
	}
	if binary.BigEndian.Uint16(b[6:])&fragment != 0 {
		return Datagram{}, IPv4
	}
	return findUDP(b[head:total], netip.AddrFrom4([4]byte(b[16:20])), UDP4, IPv4)
}

// findIPv6 knows the one extension header that hosts put before what they say of groups: hop-by-hop (RFC 3810).
func findIPv6(b []byte) (Datagram, Kind) {
	if len(b) < ipv6Header || b[0]>>4 != 6 {
		return Datagram{}, IPv6
	}
	next, body := b[6], b[ipv6Header:]
	if length := int(binary.BigEndian.Uint16(b[4:])); length <= len(body) {
		body = body[:length]
	} else {
		return Datagram{}, IPv6
	}
	if next == 0 && len(body) >= 8 {
		if size := 8 + 8*int(body[1]); size <= len(body) {
			next, body = body[0], body[size:]
		}
	}
	switch next {
	case protoUDP:
		return findUDP(body, netip.AddrFrom16([16]byte(b[24:40])), UDP6, IPv6)
	case protoICMPv6:
		if len(body) > 0 {
			if k, known := icmpv6Kinds[body[0]]; known {
				return Datagram{}, k
			}
		}
	}
	return Datagram{}, IPv6
}

// findUDP takes apart what should be a UDP datagram; it is of kind other when it is none.
func findUDP(udp []byte, to netip.Addr, kind, other Kind) (Datagram, Kind) {
	if len(udp) < udpHeader {
		return Datagram{}, other
	}
	length := int(binary.BigEndian.Uint16(udp[4:]))
	if length < udpHeader || length > len(udp) {
		return Datagram{}, other
	}
	return Datagram{Payload: udp[udpHeader:length], To: netip.AddrPortFrom(to, binary.BigEndian.Uint16(udp[2:]))}, kind
}
