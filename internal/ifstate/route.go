package ifstate

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// Flags of a route or nexthop that somebody sets; the others tell its state (include/uapi/linux/rtnetlink.h).
const routeFlags = unix.RTNH_F_ONLINK | unix.RTNH_F_PERVASIVE

// clockTick is what the kernel counts a route's rest of life in (USER_HZ).
const clockTick = 100

// route is one decoded RTM_NEWROUTE message.
type route struct {
	Message
	indices []int // of the interfaces it goes out of
	source  netip.Addr
}

// routes are all routes of all tables, in the kernel's order; name gives an interface's name.
func routes(name func(index int) string) ([]route, error) {
	var all []route
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		header := make([]byte, unix.SizeofRtMsg)
		header[0] = family
		messages, err := dump("routes", unix.RTM_GETROUTE, unix.RTM_NEWROUTE, 0, header)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			// A kernel without the family answers for all of them.
			if len(m) < unix.SizeofRtMsg || m[0] != family || u32(m[8:])&unix.RTM_F_CLONED != 0 {
				continue
			}
			r, err := decodeRoute(m, name)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	return all, nil
}

func decodeRoute(m []byte, name func(int) string) (route, error) {
	attrs, err := attributes(m[unix.SizeofRtMsg:])
	if err != nil {
		return route{}, err
	}
	r := route{Message: Message{Raw: m}}
	table := uint32(m[4])
	if b := find(attrs, unix.RTA_TABLE); b != nil {
		table = u32(b)
	}
	var words, late []string
	if m[7] != unix.RTN_UNICAST {
		words = append(words, routeTypes[m[7]])
	}
	words = append(words, prefix(find(attrs, unix.RTA_DST), m[1]))
	if m[2] != 0 {
		words = append(words, "from", prefix(find(attrs, unix.RTA_SRC), m[2]))
	}
	if m[3] != 0 {
		words = append(words, "tos", fmt.Sprintf("%#x", m[3]))
	}
	for _, a := range attrs {
		switch a.kind {
		case unix.RTA_DST, unix.RTA_SRC, unix.RTA_TABLE, unix.RTA_CACHEINFO:
		case unix.RTA_OIF:
			r.indices = append(r.indices, int(u32(a.value)))
			words = append(words, "dev", name(int(u32(a.value))))
		case unix.RTA_GATEWAY:
			words = append(words, "via", ip(a.value).String())
		case unix.RTA_VIA:
			words = append(words, "via", viaText(a.value))
		case unix.RTA_PREFSRC:
			r.source = ip(a.value)
			words = append(words, "src", r.source.String())
		case unix.RTA_PRIORITY:
			words = append(words, "metric", fmt.Sprint(u32(a.value)))
		case unix.RTA_PREF:
			words = append(words, "pref", preference(a.value))
		case unix.RTA_METRICS:
			more, err := metricWords(a.value)
			if err != nil {
				return route{}, err
			}
			words = append(words, more...)
		case unix.RTA_MULTIPATH:
			late, err = r.hops(a.value, name)
			if err != nil {
				return route{}, err
			}
		case rtaNexthopID:
			words = append(words, "nhid", fmt.Sprint(u32(a.value)))
		default:
			words = append(words, fmt.Sprintf("attribute-%d", a.kind), hex.EncodeToString(a.value))
		}
	}
	words = append(words, "table", fmt.Sprint(table), "proto", fmt.Sprint(m[5]))
	if m[0] == unix.AF_INET {
		words = append(words, "scope", scopeText(m[6]))
	}
	words = append(words, flagWordsOf(u32(m[8:]))...)
	if expires(attrs) != 0 {
		words = append(words, "expires", "limited")
	}
	r.Text = strings.Join(append(words, late...), " ")
	return r, nil
}

// hops decodes a RTA_MULTIPATH: struct rtnexthop (length, flags, hops, index), each with attributes.
func (r *route) hops(b []byte, name func(int) string) ([]string, error) {
	var words []string
	err := eachHop(b, func(hop []byte, attrs []attribute) {
		index := int(u32(hop[4:]))
		r.indices = append(r.indices, index)
		words = append(words, "nexthop")
		for _, a := range attrs {
			switch a.kind {
			case unix.RTA_GATEWAY:
				words = append(words, "via", ip(a.value).String())
			case unix.RTA_VIA:
				words = append(words, "via", viaText(a.value))
			default:
				words = append(words, fmt.Sprintf("attribute-%d", a.kind), hex.EncodeToString(a.value))
			}
		}
		words = append(words, "dev", name(index), "weight", fmt.Sprint(int(hop[3])+1))
		words = append(words, flagWordsOf(uint32(hop[2]))...)
	})
	return words, err
}

func eachHop(b []byte, do func(hop []byte, attrs []attribute)) error {
	for len(b) >= unix.SizeofRtNexthop {
		length := int(binary.NativeEndian.Uint16(b))
		if length < unix.SizeofRtNexthop || length > len(b) {
			return fmt.Errorf("a nexthop of a route has %d bytes of %d", length, len(b))
		}
		attrs, err := attributes(b[unix.SizeofRtNexthop:length])
		if err != nil {
			return err
		}
		do(b[:length], attrs)
		b = b[min(len(b), (length+3)&^3):]
	}
	return nil
}

func flagWordsOf(flags uint32) []string {
	var words []string
	if flags&unix.RTNH_F_ONLINK != 0 {
		words = append(words, "onlink")
	}
	if flags&unix.RTNH_F_PERVASIVE != 0 {
		words = append(words, "pervasive")
	}
	return words
}

var routeTypes = map[uint8]string{
	unix.RTN_UNSPEC: "none", unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_ANYCAST: "anycast",
	unix.RTN_MULTICAST: "multicast", unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable",
	unix.RTN_PROHIBIT: "prohibit", unix.RTN_THROW: "throw", unix.RTN_NAT: "nat", unix.RTN_XRESOLVE: "xresolve",
}

func prefix(b []byte, bits uint8) string {
	if b == nil {
		return "default"
	}
	return fmt.Sprintf("%s/%d", ip(b), bits)
}

// viaText is a gateway of another family than the route's: struct rtvia.
func viaText(b []byte) string {
	family := "inet6"
	if len(b) > 2 && binary.NativeEndian.Uint16(b) == unix.AF_INET {
		family = "inet"
	}
	return family + " " + ip(b[min(2, len(b)):]).String()
}

// preference is RTA_PREF (ICMPV6_ROUTER_PREF_*, include/uapi/linux/icmpv6.h).
func preference(b []byte) string {
	names := map[uint8]string{0: "medium", 1: "high", 3: "low"}
	if len(b) == 1 && names[b[0]] != "" {
		return names[b[0]]
	}
	return hex.EncodeToString(b)
}

// metricNames are RTAX_* from RTAX_LOCK on, as ip(8) writes them.
var metricNames = []string{"", "lock", "mtu", "window", "rtt", "rttvar", "ssthresh", "cwnd", "advmss", "reordering", "hoplimit",
	"initcwnd", "features", "rto_min", "initrwnd", "quickack", "congctl", "fastopen_no_cookie"}

func metricWords(b []byte) ([]string, error) {
	attrs, err := attributes(b)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, a := range attrs {
		name := fmt.Sprintf("metric-%d", a.kind)
		if int(a.kind) < len(metricNames) {
			name = metricNames[a.kind]
		}
		value := fmt.Sprint(u32(a.value))
		if a.kind == unix.RTAX_CC_ALGO {
			value = text(a.value)
		}
		words = append(words, name, value)
	}
	return words, nil
}

// expires is a route's rest of life in ticks, 0 for none (struct rta_cacheinfo).
func expires(attrs []attribute) uint32 {
	b := find(attrs, unix.RTA_CACHEINFO)
	if len(b) < 12 {
		return 0
	}
	return u32(b[8:])
}

// routeRequest is the request that makes the route, with interfaces by their present indices; elapsed seconds are taken
// from its life. It tells false for a route that has ended meanwhile, or one of whose interfaces is gone.
func routeRequest(m Message, index func(int) int, elapsed uint32) ([]byte, bool, error) {
	header := append([]byte(nil), m.Raw[:unix.SizeofRtMsg]...)
	binary.NativeEndian.PutUint32(header[8:], u32(header[8:])&routeFlags)
	attrs, err := attributes(m.Raw[unix.SizeofRtMsg:])
	if err != nil {
		return nil, false, err
	}
	possible := true
	here := func(then []byte) []byte {
		now := index(int(u32(then)))
		possible = possible && now != 0
		return bytes32(uint32(now))
	}
	var out []attribute
	for _, a := range attrs {
		switch a.kind {
		case unix.RTA_CACHEINFO:
			if life := expires(attrs) / clockTick; life > 0 {
				possible = possible && life > elapsed
				out = append(out, attribute{unix.RTA_EXPIRES, bytes32(life - elapsed)})
			}
		case unix.RTA_OIF:
			out = append(out, attribute{a.kind, here(a.value)})
		case unix.RTA_MULTIPATH:
			var b []byte
			err := eachHop(a.value, func(hop []byte, _ []attribute) {
				start := len(b)
				b = append(b, hop...)
				b[start+2] &= routeFlags
				copy(b[start+4:], here(hop[4:]))
				for len(b)%4 != 0 {
					b = append(b, 0)
				}
			})
			if err != nil {
				return nil, false, err
			}
			out = append(out, attribute{a.kind, b})
		default:
			out = append(out, a)
		}
	}
	return join(header, out), possible, nil
}

// isMultipath tells whether the route has several nexthops in one message.
func isMultipath(m Message) bool {
	attrs, err := attributes(m.Raw[unix.SizeofRtMsg:])
	return err == nil && find(attrs, unix.RTA_MULTIPATH) != nil
}

func hardwareText(b []byte) string { return net.HardwareAddr(b).String() }
