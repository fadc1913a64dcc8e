package bondctl

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Leaf is the qdisc of each TX queue of an interface.
type Leaf struct {
	Kind string // pfifo_fast, pfifo, fq, …
	// LineRate shapes all queues of the interface together to so many bits a second of layer-2 bytes without FCS: each
	// gets tbf with an equal share, and Kind as tbf's child. 0 does not shape.
	LineRate float64
	// CatchUp is how much of the line's time is made up for when tbf's timer or the sender came late: on a busy machine
	// a line would else be slower than its rate. So much also passes at once after a pause.
	CatchUp time.Duration
}

const (
	mqHandle = 0x00100000 // 10:
	// tbfHandle is that of the first queue's tbf; the next follow: 20:, 21:, …
	tbfHandle = 0x00200000
	// tbfLeast is the least burst, bytes: tbf drops what is larger (net/sched/sch_tbf.c, tbf_enqueue).
	tbfLeast = 2 * 65536
	// tbfLongest is the most that a burst may last (tbf_change: ~0U ns).
	tbfLongest = math.MaxUint32 * time.Nanosecond
	// tbfSlowest is the slowest line, bits/s, whose burst holds the largest frame.
	tbfSlowest = 65536 * 8 / 4.29
)

// ReplaceQdisc installs the leaf anew as the root qdisc of an interface with one TX queue, or on every child of
// mq of one with several. It is `tc qdisc del dev DEV root; tc qdisc add dev DEV root KIND`: a mere replace
// by the same kind keeps the old qdisc and its counters (net/sched/sch_api.c, tc_modify_qdisc).
func (c *Client) ReplaceQdisc(ifindex, queues int, leaf Leaf) error {
	root := &netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ifindex, Parent: netlink.HANDLE_ROOT}}
	// The default qdisc can't be deleted (ENOENT, EINVAL) and needn't be.
	if err := c.nl.QdiscDel(root); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return failed("tc qdisc del root", c.nameOf(ifindex), err)
	}
	if queues <= 1 {
		return c.addLeaf(ifindex, 0, netlink.HANDLE_ROOT, leaf)
	}
	if err := c.replace(ifindex, netlink.HANDLE_ROOT, mqHandle, "mq"); err != nil {
		return err
	}
	leaf.LineRate /= float64(queues)
	for q := range queues {
		if err := c.addLeaf(ifindex, q, mqHandle|uint32(q+1), leaf); err != nil {
			return err
		}
	}
	return nil
}

// addLeaf installs the qdisc of one TX queue.
func (c *Client) addLeaf(ifindex, queue int, parent uint32, leaf Leaf) error {
	if leaf.LineRate == 0 {
		return c.replace(ifindex, parent, 0, leaf.Kind)
	}
	if leaf.LineRate < tbfSlowest {
		return &LineRateError{Interface: c.nameOf(ifindex), Rate: leaf.LineRate}
	}
	handle := tbfHandle + uint32(queue)<<16
	tbf := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ifindex, Parent: parent, Handle: handle},
		// Limit 0: tbf makes no bfifo of its own. It must not be changed later: before Linux 5.15 a change with a
		// pfifo_fast as its child ends in a NULL pointer (net/sched/sch_fifo.c, fifo_set_limit).
		Rate: uint64(leaf.LineRate / 8), Buffer: tbfBuffer(leaf),
	}
	err := c.nl.QdiscReplace(tbf)
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: "tbf", Err: err}
	}
	if err != nil {
		return failed(fmt.Sprintf("tc qdisc replace tbf rate %.0fbit", leaf.LineRate), c.nameOf(ifindex), err)
	}
	return c.replace(ifindex, handle|1, 0, leaf.Kind)
}

// tbfBuffer is the burst as the kernel takes it: the time it lasts at the rate, in psched ticks of 64 ns
// (PSCHED_SHIFT 6, include/net/pkt_sched.h). A line slower than 244 kbit/s has less than tbfLeast.
func tbfBuffer(leaf Leaf) uint32 {
	seconds := min(max(leaf.CatchUp.Seconds(), tbfLeast*8/leaf.LineRate), tbfLongest.Seconds())
	return uint32(seconds * 1e9 / 64)
}
