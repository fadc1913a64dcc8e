package bondctl

import (
	"context"
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
	// psched is the kernel's tick for such times, ns (PSCHED_SHIFT 6, include/net/pkt_sched.h).
	psched = 64
	// tbfSlowest is the slowest line, bits/s, whose burst holds the largest frame.
	tbfSlowest = 65536 * 8 / 4.29
)

// ReplaceQdisc installs the leaf anew as the root qdisc of an interface with one TX queue, or on every child of mq of
// one with several.
func (c *Client) ReplaceQdisc(ifindex, queues int, leaf Leaf) error {
	steps, err := qdiscSteps(c.nameOf(ifindex), Interface{Queues: queues, Rooted: true}, leaf)
	if err != nil {
		return err
	}
	return c.do(context.Background(), steps...)
}

// qdiscSteps give each TX queue of an interface its leaf anew: a mere replace by the same kind keeps the old qdisc, its
// counters and its size (net/sched/sch_api.c, tc_modify_qdisc).
func qdiscSteps(name string, there Interface, leaf Leaf) (steps []Step, err error) {
	if there.Rooted {
		steps = append(steps, deleteRoot{name})
	}
	if there.Queues <= 1 || leaf.Kind == "noqueue" {
		return leafSteps(steps, name, 0, netlink.HANDLE_ROOT, leaf)
	}
	steps = append(steps, replaceQdisc{name, netlink.HANDLE_ROOT, mqHandle, "mq"})
	leaf.LineRate /= float64(there.Queues)
	for q := range there.Queues {
		if steps, err = leafSteps(steps, name, q, mqHandle|uint32(q+1), leaf); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// leafSteps append the qdisc of one TX queue.
func leafSteps(steps []Step, name string, queue int, parent uint32, leaf Leaf) ([]Step, error) {
	if leaf.LineRate == 0 {
		return append(steps, replaceQdisc{name, parent, 0, leaf.Kind}), nil
	}
	if leaf.LineRate < tbfSlowest {
		return nil, &LineRateError{Interface: name, Rate: leaf.LineRate}
	}
	handle := tbfHandle + uint32(queue)<<16
	return append(steps, shape{name, parent, handle, leaf}, replaceQdisc{name, handle | 1, 0, leaf.Kind}), nil
}

// shape makes a line with tbf.
type shape struct {
	name           string
	parent, handle uint32
	leaf           Leaf
}

func (s shape) Command() []string {
	words := replaceQdisc{s.name, s.parent, s.handle, "tbf"}.Command()
	burst := s.leaf.LineRate / 8 * float64(tbfBuffer(s.leaf)) * psched / 1e9
	return append(words, "rate", fmt.Sprintf("%.0fbit", s.leaf.LineRate), "burst", fmt.Sprintf("%.0f", burst), "limit", "0")
}

func (s shape) run(_ context.Context, c *Client) error {
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	err = c.nl.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Parent: s.parent, Handle: s.handle},
		// Limit 0: tbf makes no bfifo of its own. It must not be changed later: before Linux 5.15 a change with a
		// pfifo_fast as its child ends in a NULL pointer (net/sched/sch_fifo.c, fifo_set_limit).
		Rate: uint64(s.leaf.LineRate / 8), Buffer: tbfBuffer(s.leaf),
	})
	if errors.Is(err, unix.ENOENT) {
		return &UnsupportedError{What: "tbf", Err: err}
	}
	return failed(fmt.Sprintf("tc qdisc replace tbf rate %.0fbit", s.leaf.LineRate), s.name, err)
}

// tbfBuffer is the burst as the kernel takes it: the time it lasts at the rate, in psched ticks.
// A line slower than 244 kbit/s has less than tbfLeast.
func tbfBuffer(leaf Leaf) uint32 {
	seconds := min(max(leaf.CatchUp.Seconds(), tbfLeast*8/leaf.LineRate), tbfLongest.Seconds())
	return uint32(seconds * 1e9 / psched)
}
