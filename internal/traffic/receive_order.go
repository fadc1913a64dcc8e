package traffic

import (
	"cmp"
	"net/netip"
	"slices"

	"bondrepro/internal/stamp"
)

// arrival is one datagram or frame on its way from a socket to its line's count.
type arrival struct {
	at       int64 // CLOCK_REALTIME, ns
	line     int
	size     int // bytes of layer 2, without FCS
	kind     stamp.Kind
	lost     uint64 // by the socket before this, and not told before
	datagram bool   // the rest is set
	to       netip.AddrPort
	head     [stamp.Size]byte
	filled   int // bytes of head
}

// inOrder puts arrivals of several sockets back into the order in which they came. Sockets are read one after the other,
// and on a virtual line the processors hand packets to a socket in another order than the qdisc gave them to the line: the
// kernel's time of each packet is taken before that (net_timestamp_check in netif_rx, net/core/dev.c). An arrival is held
// until nothing earlier is expected to be read any more.
type inOrder struct {
	out     func(*arrival)
	waiting []arrival // as read
	later   []arrival // spare
	keys    []place
}

// place is where in waiting an arrival is. Those of one time stay as they were read.
type place struct {
	at int64
	i  int
}

// releaseOld releases up to a time, but seldom: only when something has waited for twice as long as it must.
func (q *inOrder) releaseOld(until int64) {
	if len(q.waiting) > 0 && q.waiting[0].at < until-int64(hold) {
		q.release(until)
	}
}

// release gives out everything that came up to a time, in order.
func (q *inOrder) release(until int64) {
	q.keys = q.keys[:0]
	for i := range q.waiting {
		q.keys = append(q.keys, place{q.waiting[i].at, i})
	}
	slices.SortFunc(q.keys, func(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), a.i-b.i) })
	q.later = q.later[:0]
	for _, k := range q.keys {
		if k.at <= until {
			q.out(&q.waiting[k.i])
		} else {
			q.later = append(q.later, q.waiting[k.i])
		}
	}
	q.waiting, q.later = q.later, q.waiting
}
