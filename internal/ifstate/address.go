package ifstate

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// passing are the flags of an address that tell its state, or that the kernel derives.
const passing = unix.IFA_F_SECONDARY | unix.IFA_F_TENTATIVE | unix.IFA_F_DADFAILED | unix.IFA_F_DEPRECATED | unix.IFA_F_PERMANENT

// forever is a lifetime without an end (INFINITY_LIFE_TIME, include/net/addrconf.h).
const forever = 0xffffffff

// protoLinkLocal marks the link-local address that the kernel makes (IFAPROT_KERNEL_LL, include/uapi/linux/if_addr.h).
const protoLinkLocal = 3

// addressFlags are the words of ip(8).
var addressFlags = []struct {
	flag uint32
	word string
}{
	{unix.IFA_F_NODAD, "nodad"}, {unix.IFA_F_OPTIMISTIC, "optimistic"}, {unix.IFA_F_HOMEADDRESS, "home"},
	{unix.IFA_F_MANAGETEMPADDR, "mngtmpaddr"}, {unix.IFA_F_NOPREFIXROUTE, "noprefixroute"},
	{unix.IFA_F_MCAUTOJOIN, "autojoin"}, {unix.IFA_F_STABLE_PRIVACY, "stable-privacy"},
}

// address is one decoded RTM_NEWADDR message.
type address struct {
	Message
	index     int
	local     netip.Addr
	bits      int
	tentative bool
	temporary bool // made by the kernel for privacy: nobody else can make one
	kernels   bool // a link-local address of the kernel's own making
	peer      netip.Addr
}

// addresses are all addresses, in the kernel's order.
func addresses() ([]address, error) {
	messages, err := dump("addresses", unix.RTM_GETADDR, unix.RTM_NEWADDR, 0, make([]byte, unix.SizeofIfAddrmsg))
	if err != nil {
		return nil, err
	}
	var all []address
	for _, m := range messages {
		if len(m) < unix.SizeofIfAddrmsg || m[0] != unix.AF_INET && m[0] != unix.AF_INET6 {
			continue
		}
		a, err := decodeAddress(m)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func decodeAddress(m []byte) (address, error) {
	attrs, err := attributes(m[unix.SizeofIfAddrmsg:])
	if err != nil {
		return address{}, err
	}
	a := address{index: int(u32(m[4:])), bits: int(m[1])}
	a.Raw = m
	a.peer = ip(find(attrs, unix.IFA_ADDRESS))
	if a.local = ip(find(attrs, unix.IFA_LOCAL)); !a.local.IsValid() {
		a.local = a.peer
	}
	flags := uint32(m[2])
	if b := find(attrs, unix.IFA_FLAGS); b != nil {
		flags = u32(b)
	}
	v6 := m[0] == unix.AF_INET6
	a.tentative = flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) != 0
	a.temporary = v6 && flags&unix.IFA_F_TEMPORARY != 0
	words := []string{fmt.Sprintf("%s/%d", a.local, a.bits)}
	if a.peer != a.local {
		words = []string{a.local.String(), "peer", fmt.Sprintf("%s/%d", a.peer, a.bits)}
	}
	if b := find(attrs, unix.IFA_BROADCAST); b != nil {
		words = append(words, "brd", ip(b).String())
	}
	words = append(words, "scope", scopeText(m[3]))
	if b := find(attrs, unix.IFA_LABEL); b != nil {
		words = append(words, "label", text(b))
	}
	if metric := u32(find(attrs, unix.IFA_RT_PRIORITY)); metric != 0 {
		words = append(words, "metric", fmt.Sprint(metric))
	}
	if b := find(attrs, ifaProto); len(b) > 0 && b[0] != 0 {
		words = append(words, "proto", fmt.Sprint(b[0]))
		a.kernels = b[0] == protoLinkLocal
	}
	a.kernels = a.kernels || v6 && flags&unix.IFA_F_STABLE_PRIVACY != 0
	for _, f := range addressFlags {
		if flags&f.flag != 0 {
			words = append(words, f.word)
		}
	}
	if a.temporary {
		words = append(words, "temporary")
	}
	a.Text = strings.Join(append(words, lifetimeWords(find(attrs, unix.IFA_CACHEINFO))...), " ")
	return a, nil
}

// lifetimeWords tell whether an address ends some day, not when: that changes by itself. The payload is struct
// ifa_cacheinfo: preferred and valid seconds.
func lifetimeWords(b []byte) []string {
	if len(b) < 8 {
		return nil
	}
	preferred, valid := u32(b), u32(b[4:])
	switch {
	case valid != forever:
		return []string{"dynamic"}
	case preferred != forever:
		return []string{"preferred_lft", "limited"}
	}
	return nil
}

// scopeText is the word of ip(8), /etc/iproute2/rt_scopes.
func scopeText(scope uint8) string {
	switch scope {
	case unix.RT_SCOPE_UNIVERSE:
		return "global"
	case unix.RT_SCOPE_SITE:
		return "site"
	case unix.RT_SCOPE_LINK:
		return "link"
	case unix.RT_SCOPE_HOST:
		return "host"
	case unix.RT_SCOPE_NOWHERE:
		return "nowhere"
	}
	return fmt.Sprint(scope)
}

// ip is an address of 4 or 16 bytes; of another length it is none.
func ip(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}

// addressRequest is the request that makes the address on an interface; elapsed seconds are taken from its lifetimes.
// It tells false for an address that has ended meanwhile.
func addressRequest(m Message, index int, elapsed uint32) ([]byte, bool, error) {
	header := append([]byte(nil), m.Raw[:unix.SizeofIfAddrmsg]...)
	attrs, err := attributes(m.Raw[unix.SizeofIfAddrmsg:])
	if err != nil {
		return nil, false, err
	}
	header[2] &^= passing & 0xff
	binary.NativeEndian.PutUint32(header[4:], uint32(index))
	alive := true
	for i, a := range attrs {
		switch a.kind {
		case unix.IFA_FLAGS:
			attrs[i].value = bytes32(u32(a.value) &^ passing)
		case unix.IFA_CACHEINFO:
			b := append([]byte(nil), a.value...)
			for _, at := range []int{0, 4} {
				if left := u32(b[at:]); left != forever {
					binary.NativeEndian.PutUint32(b[at:], left-min(left, elapsed))
				}
			}
			alive = u32(b[4:]) != 0
			attrs[i].value = b
		}
	}
	return join(header, attrs), alive, nil
}
