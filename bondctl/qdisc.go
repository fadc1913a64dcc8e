package bondctl

import (
	"context"
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

// replaceQdisc makes a qdisc of its kind the root, or a child of mq.
type replaceQdisc struct {
	name           string
	parent, handle uint32
	kind           string
}

func (s replaceQdisc) Command() []string {
	words := []string{"tc", "qdisc", "replace", "dev", s.name}
	if s.parent == netlink.HANDLE_ROOT {
		words = append(words, "root")
	} else {
		words = append(words, "parent", fmt.Sprintf("%x:%x", s.parent>>16, s.parent&0xffff))
	}
	if s.handle != 0 {
		words = append(words, "handle", fmt.Sprintf("%x:", s.handle>>16))
	}
	return append(words, s.kind)
}

func (s replaceQdisc) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	return c.replace(index, s.parent, s.handle, s.kind)
}

// deleteRoot deletes an interface's root qdisc. The default one, which has no handle, can't be deleted (ENOENT, EINVAL)
// and needn't be.
type deleteRoot struct{ name string }

func (s deleteRoot) Command() []string { return []string{"tc", "qdisc", "del", "dev", s.name, "root"} }

func (s deleteRoot) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	err = c.nl.QdiscDel(&netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Parent: netlink.HANDLE_ROOT}})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return failed("tc qdisc del root", s.name, err)
}

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

// addClsact hangs clsact on an interface: filters find a place there (clsact since Linux 4.5).
type addClsact struct{ name string }

func (s addClsact) Command() []string { return []string{"tc", "qdisc", "add", "dev", s.name, "clsact"} }

func (s addClsact) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	err = c.tc.Qdisc().Add(&tc.Object{
		Msg:       tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(index), Handle: clsactHandle, Parent: counters.HandleClsact},
		Attribute: tc.Attribute{Kind: "clsact"},
	})
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: "clsact (sch_ingress)", Err: err}
	}
	return failed("tc qdisc add clsact", s.name, err)
}

// deleteClsact takes clsact and its filters away, where they are.
type deleteClsact struct{ name string }

func (s deleteClsact) Command() []string {
	return []string{"tc", "qdisc", "del", "dev", s.name, "clsact"}
}

func (s deleteClsact) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	err = c.tc.Qdisc().Delete(&tc.Object{
		Msg:       tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(index), Handle: clsactHandle, Parent: counters.HandleClsact},
		Attribute: tc.Attribute{Kind: "clsact"},
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) { // there is none
		return nil
	}
	return failed("tc qdisc del clsact", s.name, err)
}

// countEgress hangs a matchall filter on the interface's clsact whose action counts each packet and lets it go on
// (matchall since Linux 4.8).
type countEgress struct{ name string }

func (s countEgress) Command() []string {
	return []string{"tc", "filter", "add", "dev", s.name, "egress", "prio", "1", "matchall", "action", "continue"}
}

func (s countEgress) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	action := &tc.Action{Kind: "gact", Gact: &tc.Gact{Parms: &tc.GactParms{Action: actUnspec}}}
	err = c.tc.Filter().Add(&tc.Object{
		Msg: tc.Msg{
			Family: unix.AF_UNSPEC, Ifindex: uint32(index), Parent: counters.ClsactEgress,
			Info: 1<<16 | uint32(htons(unix.ETH_P_ALL)), // priority 1
		},
		Attribute: tc.Attribute{Kind: "matchall", Matchall: &tc.Matchall{Actions: &[]*tc.Action{action}}},
	})
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: "matchall filter with a gact action (cls_matchall, act_gact)", Err: err}
	}
	return failed("tc filter add egress matchall action continue", s.name, err)
}

// orphan puts netem with a delay of 1 µs on the interface as its root qdisc: netem orphans each packet
// (skb_orphan_partial, net/sched/sch_netem.c), before it reaches the slave's own qdisc.
type orphan struct{ name string }

func (s orphan) Command() []string {
	return []string{"tc", "qdisc", "replace", "dev", s.name, "root", "handle", "1:", "netem", "limit", fmt.Sprint(netemLimit), "delay", "1us"}
}

func (s orphan) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	// Latency counts psched ticks of 64 ns (PSCHED_SHIFT 6, include/net/pkt_sched.h).
	const microsecond = 1000/64 + 1
	err = c.tc.Qdisc().Replace(&tc.Object{
		Msg: tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(index), Handle: netemHandle, Parent: tc.HandleRoot},
		Attribute: tc.Attribute{Kind: "netem", Netem: &tc.Netem{
			Qopt: tc.NetemQopt{Latency: microsecond, Limit: netemLimit},
		}},
	})
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: Netem, Err: err}
	}
	return failed("tc qdisc replace netem", s.name, err)
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

func (c *Client) nameOf(ifindex int) string {
	link, err := c.nl.LinkByIndex(ifindex)
	if err != nil {
		return fmt.Sprintf("interface %d", ifindex)
	}
	return link.Attrs().Name
}
