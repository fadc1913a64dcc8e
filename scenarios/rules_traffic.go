package scenarios

import (
	"fmt"
	"math"
	"net/netip"
)

// Sizes, in bytes.
const (
	headerBytes = 32    // what the traffic package writes at the front of each payload
	ipUDPBytes  = 28    // IPv4 header without options, and UDP header
	ip6UDPBytes = 48    // IPv6 header, and UDP header
	etherBytes  = 14    // Ethernet header
	leastMTU6   = 1280  // below it the kernel turns IPv6 off (IPV6_MIN_MTU, include/uapi/linux/ipv6.h)
	maxMessage  = 65507 // of UDP over IPv4
	minSndBuf   = 4608  // SOCK_MIN_SNDBUF, include/net/sock.h: less is raised to it
)

// interfaceLocal is the scope of IPv6 multicast that ip6_finish_output2 (net/ipv6/ip6_output.c) drops on any device but
// loopback; scope 0, below it, is reserved (RFC 4291).
const interfaceLocal = 1

// headers are the bytes that IP and UDP put before the payload.
func (t Traffic) headers() int {
	if t.IPv6() {
		return ip6UDPBytes
	}
	return ipUDPBytes
}

// trafficRules are about what the senders do.
var trafficRules = []rule{
	func(s *Scenario) *problem {
		seen := map[netip.Addr]bool{}
		for i, text := range s.Traffic.Groups {
			path := fmt.Sprintf("traffic.groups.%d", i)
			addr, err := netip.ParseAddr(text)
			switch {
			case err != nil:
				return bad(path, "%q is not an IP address", text)
			case addr.Zone() != "" || addr.Is4In6() || !addr.IsMulticast():
				return bad(path, "%s is not a multicast address; allowed are 224.0.0.0 to 239.255.255.255, and ff00:: on", text)
			case addr.Is6() && addr.As16()[1]&0x0f <= interfaceLocal:
				return bad(path, "%s never leaves the host: its scope is %d; write an address of a wider one, such as ff05::1", text, addr.As16()[1]&0x0f)
			case addr.Is6() != s.Traffic.IPv6():
				return bad(path, "%s is of another family than %s; all groups are IPv4, or all are IPv6", text, s.Traffic.Groups[0])
			case seen[addr]:
				return bad(path, "%s is there twice", text)
			}
			seen[addr] = true
		}
		if n := len(s.Traffic.Groups); n < 1 || n > maxGroups {
			return bad("traffic.groups", "has %d groups; allowed are 1 to %d", n, maxGroups)
		}
		return nil
	},
	func(s *Scenario) *problem {
		headers := s.Traffic.headers()
		switch {
		case s.Traffic.IPv6() && s.Topology.MTU < leastMTU6:
			return bad("topology.mtu", "%d bytes are too few for traffic.groups of IPv6 addresses; write at least %d", s.Topology.MTU, leastMTU6).also("traffic.groups")
		case s.Traffic.Payload+headers > s.Topology.MTU:
			return bad("traffic.payload", "%d bytes and %d of headers are more than topology.mtu %d; a send would be fragmented, which has no ledger; write at most %d",
				s.Traffic.Payload, headers, s.Topology.MTU, s.Topology.MTU-headers).also("topology.mtu")
		}
		return nil
	},
	func(s *Scenario) *problem {
		const least = 20 // samples of the oracle, below which good is never said
		if n := (s.Traffic.Duration - s.Traffic.Warmup) / s.Sampling.Interval; n < least {
			return bad("sampling.interval", "gives %d samples between traffic.warmup %s and traffic.duration %s; a verdict needs %d",
				int(n), s.Traffic.Warmup, s.Traffic.Duration, least).also("traffic.duration", "traffic.warmup")
		}
		return nil
	},
	func(s *Scenario) *problem {
		for _, r := range []struct {
			path string
			rate Rate
		}{{"traffic.rate", s.Traffic.Rate}, {"traffic.socket.max_pacing_rate", s.Traffic.Socket.MaxPacingRate}} {
			b, p := r.rate.BitsPerSecond, r.rate.PacketsPerSecond
			if !(b >= 0 && p >= 0) || b > 0 && p > 0 || math.IsInf(b+p, 0) {
				return bad(r.path, "must be one rate above 0, in bits or in packets a second, or none")
			}
		}
		return nil
	},
	func(s *Scenario) *problem {
		for _, b := range []struct {
			path string
			size Size
			off  bool // whether off is allowed
		}{{"traffic.socket.sndbuf", s.Traffic.Socket.SndBuf, false}, {"traffic.socket.sndbuf_force", s.Traffic.Socket.SndBufForce, true}} {
			switch {
			case b.off && b.size == 0:
			case b.size == 0:
				return bad(b.path, "can't be off; the verdict rests on a send buffer of known size, such as 212992")
			case b.size < minSndBuf || b.size > math.MaxInt32:
				return bad(b.path, "%d bytes are not possible; allowed are %d (the kernel's least) to %d", b.size, minSndBuf, math.MaxInt32-1)
			case b.size%2 != 0:
				return bad(b.path, "%d is odd; it is what SO_SNDBUF reads back, which is twice what it was given", b.size)
			}
		}
		return nil
	},
	func(s *Scenario) *problem {
		const path = "traffic.socket.gso"
		switch gso := int(s.Traffic.Socket.GSO); {
		case gso == 1:
			return bad(path, "1 segment a send is no GSO; write 2 to 64, or off")
		case gso*s.Traffic.Payload > maxMessage:
			return bad(path, "%d segments of traffic.payload %d are more than the %d bytes a UDP send can have; write at most %d segments",
				gso, s.Traffic.Payload, maxMessage, maxMessage/s.Traffic.Payload).also("traffic.payload")
		}
		return nil
	},
	func(s *Scenario) *problem {
		const path = "traffic.socket.max_pacing_rate"
		switch r := s.Traffic.Socket.MaxPacingRate; {
		case r.PacketsPerSecond > 0:
			return bad(path, "must be in bits a second; the kernel paces bytes")
		case !r.Unpaced() && s.Topology.Slaves.Qdisc != "fq":
			return bad(path, "needs topology.slaves.qdisc: fq, which paces; with %s it would do nothing", s.Topology.Slaves.Qdisc).also("topology.slaves.qdisc")
		}
		return nil
	},
	func(s *Scenario) *problem {
		for i, f := range s.Faults {
			path := fmt.Sprintf("faults.%d", i)
			actions := 0
			for _, a := range f.actions() {
				if a.slave == nil {
					continue
				}
				actions++
				if *a.slave < 0 || *a.slave >= s.Topology.Slaves.Count {
					return bad(path+"."+a.name, "there is no slave %d; slaves are counted from 0 to %d", *a.slave, s.Topology.Slaves.Count-1).also("topology.slaves.count")
				}
			}
			if actions != 1 {
				return bad(path, "has %d actions; each fault has one of slave_down, slave_up, replace_qdisc, bypass_bond", actions)
			}
			if f.At < 0 || f.At >= s.Traffic.Duration {
				return bad(path+".at", "%s is not within traffic.duration %s", f.At, s.Traffic.Duration).also("traffic.duration")
			}
		}
		return nil
	},
}

// action is one of a fault's possible actions; slave is nil when it is not the one.
type action struct {
	name  string
	slave *int
}

func (f Fault) actions() []action {
	return []action{{"slave_down", f.SlaveDown}, {"slave_up", f.SlaveUp}, {"replace_qdisc", f.ReplaceQdisc}, {"bypass_bond", f.BypassBond}}
}
