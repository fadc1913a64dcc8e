package bondctl

import (
	"errors"
	"fmt"

	"bondrepro/qdiscstat/counters"

	tc "github.com/florianl/go-tc"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Netem is UnsupportedError.What of a kernel without it.
const Netem = "netem"

const (
	clsactHandle = 0xffff0000
	netemHandle  = 0x00010000 // 1:
	netemLimit   = 100000     // packets: must never drop before a slave's qdisc does
	actUnspec    = 0xffffffff // TC_ACT_UNSPEC, "continue"
)

func (c *Client) replace(ifindex int, parent, handle uint32, kind string) error {
	q := &netlink.GenericQdisc{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ifindex, Parent: parent, Handle: handle},
		QdiscType:  kind,
	}
	err := c.nl.QdiscReplace(q)
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: "qdisc " + kind, Err: err}
	}
	return failed("tc qdisc replace "+kind, c.nameOf(ifindex), err)
}

// CountEgress hangs clsact with a matchall filter on the interface whose action counts each packet and lets
// it go on: `tc filter add dev DEV egress matchall action continue` (clsact since Linux 4.5, matchall 4.8).
func (c *Client) CountEgress(ifindex int) error {
	clsact := &tc.Object{
		Msg:       tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(ifindex), Handle: clsactHandle, Parent: counters.HandleClsact},
		Attribute: tc.Attribute{Kind: "clsact"},
	}
	if err := c.tc.Qdisc().Add(clsact); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return &UnsupportedError{What: "clsact (sch_ingress)", Err: err}
		}
		return failed("tc qdisc add clsact", c.nameOf(ifindex), err)
	}
	action := &tc.Action{Kind: "gact", Gact: &tc.Gact{Parms: &tc.GactParms{Action: actUnspec}}}
	filter := &tc.Object{
		Msg: tc.Msg{
			Family: unix.AF_UNSPEC, Ifindex: uint32(ifindex), Parent: counters.ClsactEgress,
			Info: 1<<16 | uint32(htons(unix.ETH_P_ALL)), // priority 1
		},
		Attribute: tc.Attribute{Kind: "matchall", Matchall: &tc.Matchall{Actions: &[]*tc.Action{action}}},
	}
	err := c.tc.Filter().Add(filter)
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: "matchall filter with a gact action (cls_matchall, act_gact)", Err: err}
	}
	return failed("tc filter add egress matchall action continue", c.nameOf(ifindex), err)
}

// Orphan puts netem with a delay of 1 µs on the interface as its root qdisc: netem orphans each packet
// (skb_orphan_partial, net/sched/sch_netem.c), before it reaches the slave's own qdisc.
func (c *Client) Orphan(ifindex int) error {
	// Latency counts psched ticks of 64 ns (PSCHED_SHIFT 6, include/net/pkt_sched.h).
	const microsecond = 1000/64 + 1
	netem := &tc.Object{
		Msg: tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(ifindex), Handle: netemHandle, Parent: tc.HandleRoot},
		Attribute: tc.Attribute{Kind: "netem", Netem: &tc.Netem{
			Qopt: tc.NetemQopt{Latency: microsecond, Limit: netemLimit},
		}},
	}
	err := c.tc.Qdisc().Replace(netem)
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: Netem, Err: err}
	}
	return failed("tc qdisc replace netem", c.nameOf(ifindex), err)
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

func (c *Client) nameOf(ifindex int) string {
	link, err := c.nl.LinkByIndex(ifindex)
	if err != nil {
		return fmt.Sprintf("interface %d", ifindex)
	}
	return link.Attrs().Name
}
