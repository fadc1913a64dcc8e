package qdiscstat

import (
	"time"

	"bondrepro/qdiscstat/counters"

	"golang.org/x/sys/unix"
)

// Qdiscs appends every qdisc of the namespace to dst: one RTM_GETQDISC dump, that is what `tc qdisc show` lists.
// Default children of classful qdiscs but mq are invisible, as there. A qdisc that cannot be decoded is as full as
// can be and does not hide others. On an error (ErrInterrupted among them) dst is returned as it came.
func (c *Conn) Qdiscs(dst []counters.Qdisc) ([]counters.Qdisc, error) { return c.dump(dst, 0) }

// Of appends the qdiscs of one interface, which may be none. It too makes a whole dump: kernels ignore tcm_ifindex
// in one, and RTM_GETQDISC for a single qdisc answers only as a notification, which everyone who listens
// for replaced qdiscs would hear (qdisc_notify, net/sched/sch_api.c).
func (c *Conn) Of(dst []counters.Qdisc, ifindex int) ([]counters.Qdisc, error) {
	return c.dump(dst, ifindex)
}

// dump appends the qdiscs of one interface, or of all when ifindex is 0.
func (c *Conn) dump(dst []counters.Qdisc, ifindex int) ([]counters.Qdisc, error) {
	had := len(dst)
	err := c.eachQdisc(func(msg []byte) {
		if q, _, ok := decodeQdisc(msg, c.kinds); ok && (ifindex == 0 || q.Ifindex == ifindex) {
			dst = append(dst, q)
		}
	})
	if err != nil {
		return dst[:had], err
	}
	now := time.Now()
	for i := range dst[had:] {
		q := &dst[had+i]
		q.Dev = c.device(q.Ifindex, now)
	}
	return dst, nil
}

func (c *Conn) eachQdisc(got func(msg []byte)) error {
	c.request(unix.RTM_GETQDISC, unix.NLM_F_DUMP, tcmsgLen)
	return c.roundTrip("dump qdiscs", func(msgType uint16, msg []byte) {
		if msgType == unix.RTM_NEWQDISC {
			got(msg)
		}
	})
}

// Options fills the options of those of qs that still exist and are of a kind that is decoded. It is a call
// of its own, outside the polls, because it allocates.
func (c *Conn) Options(qs []counters.Qdisc) error {
	index := make(map[counters.Key]int, len(qs))
	for i := range qs {
		index[qs[i].Key()] = i
	}
	return c.eachQdisc(func(msg []byte) {
		q, raw, ok := decodeQdisc(msg, c.kinds)
		if !ok {
			return
		}
		if i, wanted := index[q.Key()]; wanted && qs[i].Handle == q.Handle {
			qs[i].Options = decodeOptions(q.Kind, raw)
		}
	})
}
