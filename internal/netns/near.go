package netns

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// farMTU is the greatest a veth takes (ETH_MAX_MTU, include/uapi/linux/if_ether.h): a far end with less than its near
// end's loses the longer frames and counts them nowhere we look (is_skb_forwardable, net/core/dev.c).
const farMTU = 65535

// loopbackUp is `ip link set lo up`.
func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return refused("ip link show", "lo", err)
	}
	return refused("ip link set up", "lo", netlink.LinkSetUp(lo))
}

// addVeth makes the pair: its near end here, its far end in the other namespace. The number of TX queues is given
// even when it is 1, as a veth has one for each CPU else (veth_get_num_queues, drivers/net/veth.c).
func addVeth(p pair, queues int, far *far) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr = p.near, p.mac
	attrs.NumTxQueues, attrs.NumRxQueues = queues, 1
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerNamespace = p.far, netlink.NsFd(far.fd)
	veth.PeerNumTxQueues, veth.PeerNumRxQueues = 1, 1
	veth.PeerMTU = farMTU
	object := fmt.Sprintf("%s numtxqueues %d peer %s", p.near, queues, p.far)
	if err := netlink.LinkAdd(veth); err != nil {
		return refused("ip link add type veth", object, err)
	}
	link, err := netlink.LinkByName(p.near)
	if err != nil {
		return refused("ip link show", p.near, err)
	}
	a := link.Attrs()
	if a.NumTxQueues != queues || a.HardwareAddr.String() != p.mac.String() {
		return fmt.Errorf("ip link add type veth %s: it has %d TX queues and the address %s, not %s", object, a.NumTxQueues, a.HardwareAddr, p.mac)
	}
	return nil
}
