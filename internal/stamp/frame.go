package stamp

import "encoding/binary"

// Kind is what a frame is, by the names of result.WireSlave.Foreign.
type Kind string

// The kinds of frames. A frame of ours is of kind UDP4 with a payload that Parse accepts.
const (
	UDP4   Kind = "udp4"
	ICMP   Kind = "icmp"
	IGMP   Kind = "igmp"
	IPv4   Kind = "ipv4-other" // other protocols, fragments, broken headers
	ARP    Kind = "arp"
	LACP   Kind = "lacp" // slow protocols, 0x8809: LACPDU and marker
	IPv6   Kind = "ipv6"
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
	etherSlow = 0x8809
)

const (
	etherHeader = 14 // bytes
	vlanTag     = 4
	ipv4Header  = 20
	udpHeader   = 8
)

var etherKinds = map[uint16]Kind{etherARP: ARP, etherSlow: LACP, etherIPv6: IPv6}

var ipv4Kinds = map[byte]Kind{1: ICMP, 2: IGMP}

// Payload finds the UDP payload of an Ethernet frame (no FCS), behind at most two VLAN tags. The payload aliases
// the frame. For every other frame the payload is nil and the kind says what it is.
// A datagram in fragments is "ipv4-other": its payload is not in one frame.
func Payload(frame []byte) (payload []byte, port uint16, kind Kind) {
	if len(frame) < etherHeader {
		return nil, 0, Broken
	}
	ether, b := binary.BigEndian.Uint16(frame[12:]), frame[etherHeader:]
	for range 2 {
		if (ether == etherVLAN || ether == etherQinQ) && len(b) >= vlanTag {
			ether, b = binary.BigEndian.Uint16(b[2:]), b[vlanTag:]
		}
	}
	if ether != etherIPv4 {
		if k, known := etherKinds[ether]; known {
			return nil, 0, k
		}
		return nil, 0, Other
	}
	return ipv4Payload(b)
}

func ipv4Payload(b []byte) ([]byte, uint16, Kind) {
	if len(b) < ipv4Header || b[0]>>4 != 4 {
		return nil, 0, IPv4
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < ipv4Header || total < head || total > len(b) {
		return nil, 0, IPv4
	}
	const fragment = 0x3fff // more fragments, or an offset
	if proto := b[9]; proto != 17 {
		if k, known := ipv4Kinds[proto]; known {
			return nil, 0, k
		}
		return nil, 0, IPv4
	}
	udp := b[head:total]
	if binary.BigEndian.Uint16(b[6:])&fragment != 0 || len(udp) < udpHeader {
		return nil, 0, IPv4
	}
	length := int(binary.BigEndian.Uint16(udp[4:]))
	if length < udpHeader || length > len(udp) {
		return nil, 0, IPv4
	}
	return udp[udpHeader:length], binary.BigEndian.Uint16(udp[2:]), UDP4
}
