package qdisctree

import "encoding/binary"

// native is the byte order of netlink.
var native = binary.NativeEndian

const (
	attrHeader = 4      // struct nlattr
	typeMask   = 0x3fff // NLA_TYPE_MASK
)

// attrs walks netlink attributes in place. It never fails: an attribute whose length cannot be is the end.
func attrs(b []byte) func(yield func(typ uint16, data []byte) bool) {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= attrHeader {
			n := int(native.Uint16(b))
			if n < attrHeader || n > len(b) {
				return
			}
			if !yield(native.Uint16(b[2:])&typeMask, b[attrHeader:n]) {
				return
			}
			b = b[min((n+3)&^3, len(b)):]
		}
	}
}

// find is the data of the first attribute of the type, nil if there is none.
func find(b []byte, typ uint16) []byte {
	for t, data := range attrs(b) {
		if t == typ {
			return data
		}
	}
	return nil
}

// appendAttr appends one attribute.
func appendAttr(b []byte, typ uint16, data []byte) []byte {
	b = native.AppendUint16(b, uint16(attrHeader+len(data)))
	b = native.AppendUint16(b, typ)
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func appendU32(b []byte, typ uint16, v uint32) []byte {
	return appendAttr(b, typ, native.AppendUint32(nil, v))
}

// u32 reads the word at off; what lies beyond the end reads as 0, as older kernels send shorter structs.
func u32(b []byte, off int) uint32 {
	var word [4]byte
	if off < len(b) {
		copy(word[:], b[off:])
	}
	return native.Uint32(word[:])
}

func u16(b []byte, off int) uint16 {
	var word [2]byte
	if off < len(b) {
		copy(word[:], b[off:])
	}
	return native.Uint16(word[:])
}

func u64(b []byte, off int) uint64 {
	var word [8]byte
	if off < len(b) {
		copy(word[:], b[off:])
	}
	return native.Uint64(word[:])
}

// put32 gives a copy of b with the word at off set, where b is long enough.
func put32(b []byte, off int, v uint32) []byte {
	b = append([]byte(nil), b...)
	if off+4 <= len(b) {
		native.PutUint32(b[off:], v)
	}
	return b
}

// text is a NUL-terminated string.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
