package xmithash

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// MAC is an Ethernet address.
type MAC [6]byte

// ParseMAC reads 52:54:00:b0:4d:01.
func ParseMAC(s string) (m MAC, err error) {
	parts := strings.Split(s, ":")
	if len(parts) != len(m) {
		return MAC{}, fmt.Errorf("%q is not an Ethernet address", s)
	}
	for i, p := range parts {
		b, err := hex.DecodeString(p)
		if err != nil || len(b) != 1 {
			return MAC{}, fmt.Errorf("%q is not an Ethernet address", s)
		}
		m[i] = b[0]
	}
	return m, nil
}

// GroupMAC is the Ethernet address of a multicast group: 01:00:5e and the low 23 bits (RFC 1112), or 33:33 and the low
// 32 bits (RFC 2464).
func GroupMAC(group netip.Addr) (MAC, error) {
	switch {
	case !group.IsMulticast() || group.Is4In6():
		return MAC{}, fmt.Errorf("%v is not a multicast group", group)
	case group.Is4():
		b := group.As4()
		return MAC{0x01, 0x00, 0x5e, b[1] & 0x7f, b[2], b[3]}, nil
	}
	b := group.As16()
	return MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}, nil
}
