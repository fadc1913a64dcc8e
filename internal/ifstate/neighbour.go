package ifstate

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const sizeofNdMsg = 12 // struct ndmsg, include/uapi/linux/neighbour.h

// neighbour is one decoded RTM_NEWNEIGH message.
type neighbour struct {
	Message
	index int
}

// neighbours are all permanent entries, and all that this machine answers for (proxy): what nobody learns again.
func neighbours() ([]neighbour, error) {
	var all []neighbour
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		for _, flags := range []byte{0, unix.NTF_PROXY} {
			header := make([]byte, sizeofNdMsg)
			header[0], header[10] = family, flags
			messages, err := dump("neighbours", unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, 0, header)
			if err != nil {
				return nil, err
			}
			for _, m := range messages {
				if len(m) < sizeofNdMsg || m[0] != family {
					continue
				}
				state := binary.NativeEndian.Uint16(m[8:])
				if m[10]&unix.NTF_PROXY == 0 && state&unix.NUD_PERMANENT == 0 {
					continue
				}
				n, err := decodeNeighbour(m)
				if err != nil {
					return nil, err
				}
				all = append(all, n)
			}
		}
	}
	return all, nil
}

func decodeNeighbour(m []byte) (neighbour, error) {
	attrs, err := attributes(m[sizeofNdMsg:])
	if err != nil {
		return neighbour{}, err
	}
	var kept []attribute
	var words []string
	proxy := m[10]&unix.NTF_PROXY != 0
	if proxy {
		words = append(words, "proxy")
	}
	words = append(words, ip(find(attrs, unix.NDA_DST)).String())
	for _, a := range attrs {
		switch a.kind {
		case unix.NDA_DST:
		case unix.NDA_LLADDR:
			words = append(words, "lladdr", hardwareText(a.value))
		case ndaProtocol:
			words = append(words, "proto", fmt.Sprint(a.value[0]))
		case ndaFlagsExt:
		default: // what the kernel tells of its life
			continue
		}
		kept = append(kept, a)
	}
	if m[10]&unix.NTF_ROUTER != 0 {
		words = append(words, "router")
	}
	if m[10]&unix.NTF_EXT_LEARNED != 0 {
		words = append(words, "extern_learn")
	}
	if !proxy {
		words = append(words, "nud", "permanent")
	}
	return neighbour{Message{strings.Join(words, " "), join(m[:sizeofNdMsg], kept)}, int(u32(m[4:]))}, nil
}

// neighbourRequest is the request that makes or removes the entry on an interface.
func neighbourRequest(m Message, index int) []byte {
	raw := append([]byte(nil), m.Raw...)
	binary.NativeEndian.PutUint32(raw[4:], uint32(index))
	return raw
}
