package qdiscstat

import "encoding/binary"

// native is the byte order of netlink.
var native = binary.NativeEndian

// attrs walks netlink attributes in place. It never fails: an attribute whose length cannot be is the end.
type attrs struct {
	rest []byte
	typ  uint16 // without NLA_F_NESTED and NLA_F_NET_BYTEORDER
	data []byte
}

const (
	attrHeader = 4      // struct nlattr
	typeMask   = 0x3fff // NLA_TYPE_MASK
)

// next moves to the next attribute and tells whether there is one.
func (a *attrs) next() bool {
	if len(a.rest) < attrHeader {
		return false
	}
	n := int(native.Uint16(a.rest))
	if n < attrHeader || n > len(a.rest) {
		return false
	}
	a.typ = native.Uint16(a.rest[2:]) & typeMask
	a.data = a.rest[attrHeader:n]
	a.rest = a.rest[min(align4(n), len(a.rest)):]
	return true
}

func align4(n int) int { return (n + 3) &^ 3 }

// u32 reads the 32-bit word at off; what lies beyond the end reads as 0, as older kernels send shorter structs.
func u32(b []byte, off int) uint32 {
	if off+4 <= len(b) {
		return native.Uint32(b[off:])
	}
	var word [4]byte
	if off < len(b) {
		copy(word[:], b[off:])
	}
	return native.Uint32(word[:])
}

// u8 is u32 for 8 bits.
func u8(b []byte, off int) uint8 {
	if off >= len(b) {
		return 0
	}
	return b[off]
}

// u16 is u32 for 16 bits.
func u16(b []byte, off int) uint16 {
	word := [2]byte{u8(b, off), u8(b, off+1)}
	return native.Uint16(word[:])
}

// u64 is u32 for 64 bits.
func u64(b []byte, off int) uint64 {
	if off+8 <= len(b) {
		return native.Uint64(b[off:])
	}
	var word [8]byte
	if off < len(b) {
		copy(word[:], b[off:])
	}
	return native.Uint64(word[:])
}

// text is a NUL-terminated string.
func text(b []byte) []byte {
	for i, c := range b {
		if c == 0 {
			return b[:i]
		}
	}
	return b
}
