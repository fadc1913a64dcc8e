package bondctl

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
)

// devices translates between interface names and their indices.
type devices interface {
	indexOf(name string) (int, error)
	nameOf(ifindex int) string
}

// form is how the values of an option are written, and how the kernel's attribute holds them.
type form struct {
	values string // what may be written, in words
	encode func(text string, d devices) ([]byte, error)
	// decode gets at least size bytes.
	decode func(payload []byte, d devices) string
	size   int // bytes, the least that the attribute holds
}

// read is the text of an attribute; one that is too short is shown as it is.
func (f form) read(payload []byte, d devices) string {
	if len(payload) < f.size {
		return fmt.Sprintf("%#x", payload)
	}
	return f.decode(payload, d)
}

// put and get hold a number in an attribute of 1, 2 or 4 bytes, in the machine's byte order.
func put(size int, v int64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(v))
	switch size {
	case 1:
		return []byte{byte(v)}
	case 2:
		return binary.NativeEndian.AppendUint16(nil, uint16(v))
	}
	return b
}

func get(size int, b []byte) int64 {
	switch size {
	case 1:
		return int64(b[0])
	case 2:
		return int64(binary.NativeEndian.Uint16(b))
	}
	return int64(binary.NativeEndian.Uint32(b))
}

// whole is a whole number.
func whole(size int, least, most int64) form {
	values := fmt.Sprintf("%d to %d", least, most)
	return form{
		values: values, size: size,
		encode: func(text string, _ devices) ([]byte, error) {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil || v < least || v > most {
				return nil, fmt.Errorf("it takes %s", values)
			}
			return put(size, v), nil
		},
		decode: func(b []byte, _ devices) string { return strconv.FormatInt(get(size, b), 10) },
	}
}

// signed is a whole number of 32 bits that may be below 0.
func signed() form {
	f := whole(4, math.MinInt32, math.MaxInt32)
	f.decode = func(b []byte, _ devices) string { return strconv.FormatInt(int64(int32(get(4, b))), 10) }
	return f
}

// words are names for the numbers from 0.
func words(size int, names ...string) form {
	values := strings.Join(names, ", ")
	return form{
		values: values, size: size,
		encode: func(text string, _ devices) ([]byte, error) {
			i := slices.Index(names, text)
			if i < 0 {
				return nil, fmt.Errorf("it takes one of %s", values)
			}
			return put(size, int64(i)), nil
		},
		decode: func(b []byte, _ devices) string {
			if v := get(size, b); v < int64(len(names)) {
				return names[v]
			}
			return strconv.FormatInt(get(size, b), 10)
		},
	}
}

// mostTargets are as many as the kernel holds of each family (BOND_MAX_ARP_TARGETS, BOND_MAX_NS_TARGETS).
const mostTargets = 16

// targets are addresses of one family with commas between them, each in an attribute of its own within the option's.
func targets(family string, is func(netip.Addr) bool) form {
	values := family + " addresses with commas between them, 16 at most"
	return form{
		values: values,
		encode: func(text string, _ devices) ([]byte, error) {
			var all []netip.Addr
			var b []byte
			for part := range strings.SplitSeq(text, ",") {
				a, err := netip.ParseAddr(part)
				switch {
				case err != nil || !is(a) || a.Zone() != "":
					return nil, fmt.Errorf("it takes %s, and %q is none", values, part)
				// bond_is_ip_target_ok and bond_is_ip6_target_ok, include/net/bonding.h.
				case a.IsUnspecified() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || a.Is6() && (a.IsLoopback() || a.IsMulticast()):
					return nil, fmt.Errorf("%s can't be asked whether it is there", part)
				case slices.Contains(all, a):
					return nil, fmt.Errorf("%s is given twice", part)
				}
				b = append(b, nl.NewRtAttr(len(all), a.AsSlice()).Serialize()...)
				all = append(all, a)
			}
			if len(all) > mostTargets {
				return nil, fmt.Errorf("it takes %s", values)
			}
			return b, nil
		},
		decode: func(b []byte, _ devices) string {
			attrs, err := nl.ParseRouteAttr(b)
			if err != nil {
				return fmt.Sprintf("%#x", b)
			}
			var all []string
			for _, attr := range attrs {
				a, _ := netip.AddrFromSlice(attr.Value)
				all = append(all, a.String())
			}
			return strings.Join(all, ",")
		},
	}
}

// hardwareAddress is an Ethernet address that is no group's.
func hardwareAddress() form {
	const values = "an Ethernet address that is no multicast address"
	return form{
		values: values, size: 6,
		encode: func(text string, _ devices) ([]byte, error) {
			mac, err := net.ParseMAC(text)
			if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
				return nil, fmt.Errorf("it takes %s", values)
			}
			return mac, nil
		},
		decode: func(b []byte, _ devices) string { return net.HardwareAddr(b[:6]).String() },
	}
}

// slaveName is the name of one of the bond's slaves; the attribute holds its index.
func slaveName() form {
	return form{
		values: "a slave's name", size: 4,
		encode: func(text string, d devices) ([]byte, error) {
			index, err := d.indexOf(text)
			return put(4, int64(index)), err
		},
		decode: func(b []byte, d devices) string { return d.nameOf(int(get(4, b))) },
	}
}
