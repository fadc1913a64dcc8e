package bondctl_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"

	"bondrepro/bondctl"
	"bondrepro/internal/vmtest"
	"bondrepro/internal/xmithash"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestVLANInGuest runs the tests below that begin with TestTagged on a kernel that has bonding and VLANs.
func TestVLANInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	vmtest.Guest{
		Modules: []string{"bonding", "8021q"}, NICs: 3, Env: []string{seedVariable + "=" + os.Getenv(seedVariable)},
	}.Run(t, "^TestTagged")
}

// vlanOn makes a VLAN interface with the usual addresses on a bond. It is gone when the test ends.
func vlanOn(t *testing.T, bond netlink.Link, id int, qos map[uint32]uint32) netlink.Link {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex = fmt.Sprintf("bond0.%d", id), bond.Attrs().Index
	vlan := &netlink.Vlan{LinkAttrs: attrs, VlanId: id, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q, EgressQosMap: qos}
	must(t, netlink.LinkAdd(vlan))
	t.Cleanup(func() { must(t, netlink.LinkDel(vlan)) })
	must(t, os.WriteFile("/proc/sys/net/ipv6/conf/"+attrs.Name+"/disable_ipv6", []byte("0"), 0))
	for _, p := range []netip.Prefix{ours4, ours6} {
		must(t, netlink.AddrAdd(vlan, &netlink.Addr{
			IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}, Flags: unix.IFA_F_NODAD,
		}))
	}
	must(t, netlink.LinkSetUp(vlan))
	return link(t, attrs.Name)
}

// Each flow that is sent from a VLAN interface on the bond goes out of the slave that the hash says, in every policy that
// can be predicted: vlan+srcmac sees the whole tag, with its priority, and the other policies see no tag at all.
func TestTaggedFlowsTakeWhatIsPredicted(t *testing.T) {
	onlyInside(t)
	r := random(t)
	s, err := bondctl.ReadShow()
	must(t, err)
	formula, err := xmithash.OfRelease(s.Kernel)
	must(t, err)
	slaves := []string{"eth2", "eth0", "eth1"}
	// SO_PRIORITY 0, as every socket here has, is sent with this priority of 802.1Q.
	const priority = 5
	for _, policy := range []string{"layer2", "layer2+3", "layer3+4", "encap2+3", "vlan+srcmac"} {
		t.Run(policy, func(t *testing.T) {
			bond := plainBond(t, "bond0", func(b *netlink.Bond) {
				b.Mode, b.XmitHashPolicy = netlink.BOND_MODE_BALANCE_XOR, netlink.StringToBondXmitHashPolicyMap[policy]
			}, slaves...)
			mac := binary.BigEndian.AppendUint64(nil, r.Uint64())[:6]
			mac[0] = 0x52 // its lowest bit would make it a group's
			must(t, netlink.LinkSetHardwareAddr(bond, mac))
			each := map[string]int{}
			for _, id := range []int{1, 100, 101, 102, 4094} {
				for _, qos := range []map[uint32]uint32{nil, {0: priority}} {
					t.Run(fmt.Sprintf("%d with priorities %v", id, qos), func(t *testing.T) {
						vlan := vlanOn(t, bond, id, qos)
						flows := slices.DeleteFunc(append(groupFlows(), randomFlows(r, 200)...), func(f bondctl.Flow) bool {
							return !f.Destination.IsMulticast() // hosts have no neighbour entries here
						})
						for i, slave := range took(t, vlan, slaves, flows) {
							each[slave]++
							f := flows[i]
							n, err := formula.Slave(policy, xmithash.Flow{
								MAC: xmithash.MAC(mac), VLAN: uint16(id | int(qos[0])<<13),
								From: netip.AddrPortFrom(f.Source, f.SourcePort), Group: netip.AddrPortFrom(f.Destination, f.Port),
							}, len(slaves))
							must(t, err)
							if slaves[n] != slave {
								t.Fatalf("%v was predicted to take %s and took %s", f, slaves[n], slave)
							}
						}
					})
				}
			}
			t.Logf("%s, %s: %v", s.Kernel, formula.Kernels, each)
			if len(each) < 2 {
				t.Errorf("only %v took any: nothing was told apart", slices.Collect(maps.Keys(each)))
			}
		})
	}
}
