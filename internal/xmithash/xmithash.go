// Package xmithash predicts which slave a bond gives a UDP datagram to, as the bonding driver computes it
// (bond_xmit_hash, drivers/net/bonding/bond_main.c). It is pure: addresses in, a slave's number out.
package xmithash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Flow is what the driver can tell datagrams of one sender to one group apart by. What a policy does not look at may
// be left zero.
type Flow struct {
	MAC   MAC            // of the bond, which is the frames' source
	From  netip.AddrPort // the sender's socket
	Group netip.AddrPort // multicast, IPv4 or IPv6; a unicast address where To is given
	To    MAC            // the frames' destination; zero: the group's own address
	// VLAN is the 802.1Q tag the driver sees: the id of a VLAN interface on the bond, with a priority in the upper 4 bits
	// where the interface maps one. The tag is beside the packet then (bonds have NETIF_F_HW_VLAN_CTAG_TX), so all policies
	// but vlan+srcmac see what they see without one. 0: none.
	VLAN uint16
}

// Formula is the computation as one span of kernel versions has it. All are those of little-endian machines.
type Formula struct {
	Kernels string // "Linux 5.18 and later"
	// etherFirst loads the frame's EtherType as a number (bond_eth_hash takes be16_to_cpu since 5.15); before, as it
	// lies in memory.
	etherFirst bool
	// keepLowest leaves the hash's lowest bit where no port is in it (49aefd131739, 5.18, also in 5.15.38 and 5.17.6).
	keepLowest bool
}

// The formulas. Distributions carry parts of newer kernels, so a release name alone does not tell which one holds.
var (
	Linux518 = Formula{Kernels: "Linux 5.18 and later", etherFirst: true, keepLowest: true}
	Linux515 = Formula{Kernels: "Linux 5.15 to 5.17", etherFirst: true}
	Linux415 = Formula{Kernels: "Linux 4.15 to 5.14"}
)

// OfRelease is the formula of the kernel of that release, as `uname -r` tells it, by its number alone.
func OfRelease(release string) (Formula, error) {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(release, "%d.%d.%d", &major, &minor, &patch); n < 2 {
		return Formula{}, fmt.Errorf("%q is no kernel release", release)
	}
	switch version := major*1000 + minor; {
	case version >= 5018, version == 5017 && patch >= 6, version == 5015 && patch >= 38:
		return Linux518, nil
	case version >= 5015:
		return Linux515, nil
	case version >= 4015:
		return Linux415, nil
	}
	return Formula{}, fmt.Errorf("how Linux %s computes the hash is not known here: Linux 4.15 is the oldest", release)
}

// Formulas are all, the newest first.
var Formulas = []Formula{Linux518, Linux515, Linux415}

// modes that do not pick a slave by a hash, and what they do instead. balance-tlb sends multicast out of its active
// slave; balance-alb balances what is IPv4 and no broadcast (bond_xmit_tlb_slave_get and bond_xmit_alb_slave_get,
// drivers/net/bonding/bond_alb.c).
var unhashed = map[string]string{
	"balance-rr":    "balance-rr takes slaves in turn",
	"active-backup": "active-backup sends everything out of its active slave",
	"broadcast":     "broadcast sends everything out of every slave",
	"balance-tlb":   "balance-tlb takes the load into account, and sends multicast out of its active slave",
	"balance-alb":   "balance-alb takes the load into account, also for multicast",
}

// hashes is each policy's computation.
var hashes = map[string]func(Formula, Flow) (uint32, error){
	"layer2":      layer2,
	"layer2+3":    layer23,
	"encap2+3":    layer23, // what is not in a tunnel is dissected to the same addresses
	"layer3+4":    layer34,
	"vlan+srcmac": srcmac,
}

// Why tells why nothing can be predicted in that bonding mode with that xmit_hash_policy; "" when it can.
func Why(mode, policy string) string {
	switch why, yes := unhashed[mode]; {
	case yes:
		return why
	case mode != "balance-xor" && mode != "802.3ad":
		return fmt.Sprintf("%q is no bonding mode known here", mode)
	case policy == "encap3+4":
		return "encap3+4 takes the packet's own hash where it has one, which nobody outside the kernel can tell"
	case hashes[policy] == nil:
		return fmt.Sprintf("%q is no xmit_hash_policy known here", policy)
	}
	return ""
}

// Slave is the slave, from 0 in the order in which they were enslaved, of so many that can send. It fails when the
// flow lacks what the policy looks at, or the policy is not one that Why lets pass.
func (m Formula) Slave(policy string, flow Flow, slaves int) (int, error) {
	of := hashes[policy]
	if of == nil || slaves < 1 {
		return 0, fmt.Errorf("policy %s with %d slaves predicts nothing", policy, slaves)
	}
	hash, err := of(m, flow)
	if err != nil {
		return 0, err
	}
	return int(hash % uint32(slaves)), nil
}

// layer2 is bond_eth_hash.
func layer2(m Formula, f Flow) (uint32, error) {
	to := f.To
	if to == (MAC{}) {
		var err error
		if to, err = GroupMAC(f.Group.Addr()); err != nil {
			return 0, err
		}
	}
	if f.MAC == (MAC{}) {
		return 0, errors.New("the bond's own MAC address is not known")
	}
	ether := uint32(0x0800)
	if f.Group.Addr().Is6() {
		ether = 0x86dd
	}
	if !m.etherFirst {
		ether = ether>>8 | ether&0xff<<8
	}
	return uint32(to[5]) ^ uint32(f.MAC[5]) ^ ether, nil
}

func layer23(m Formula, f Flow) (uint32, error) {
	hash, err := layer2(m, f)
	if err != nil {
		return 0, err
	}
	hash, err = withAddresses(hash, f)
	if !m.keepLowest {
		hash >>= 1
	}
	return hash, err
}

func layer34(_ Formula, f Flow) (uint32, error) {
	if f.From.Port() == 0 || f.Group.Port() == 0 {
		return 0, errors.New("the ports are not known")
	}
	// flow.ports is both ports as they lie in the header: the source's first, each big-endian.
	var ports [4]byte
	binary.BigEndian.PutUint16(ports[:], f.From.Port())
	binary.BigEndian.PutUint16(ports[2:], f.Group.Port())
	hash, err := withAddresses(binary.LittleEndian.Uint32(ports[:]), f)
	return hash >> 1, err // even ports are common
}

// withAddresses is bond_ip_hash before it drops a bit.
func withAddresses(hash uint32, f Flow) (uint32, error) {
	if !f.From.Addr().IsValid() || f.From.Addr().Is4() != f.Group.Addr().Is4() {
		return 0, errors.New("the senders' own address is not known")
	}
	hash ^= folded(f.Group.Addr()) ^ folded(f.From.Addr())
	hash ^= hash >> 16
	hash ^= hash >> 8
	return hash, nil
}

// folded is flow_get_u32_dst: an IPv4 address as it lies in memory, an IPv6 address by ipv6_addr_hash
// (include/net/ipv6.h).
func folded(a netip.Addr) uint32 {
	b := a.AsSlice()
	var x uint32
	for i := 0; i < len(b); i += 4 {
		x ^= binary.LittleEndian.Uint32(b[i:])
	}
	return x
}

// srcmac is bond_vlan_srcmac_hash: the two halves of the source's address, and the tag where there is one.
func srcmac(_ Formula, f Flow) (uint32, error) {
	if f.MAC == (MAC{}) {
		return 0, errors.New("the bond's own MAC address is not known")
	}
	half := func(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }
	return half(f.MAC[:3]) ^ half(f.MAC[3:]) ^ uint32(f.VLAN), nil
}
