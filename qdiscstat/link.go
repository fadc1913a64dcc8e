package qdiscstat

import (
	"fmt"

	"bondrepro/qdiscstat/counters"

	"golang.org/x/sys/unix"
)

// ifStatsMsgLen is the size of struct if_stats_msg (include/uapi/linux/if_link.h): u8 family, u8 and u16 of
// padding, u32 ifindex, u32 filter_mask.
const ifStatsMsgLen = 12

// Link reads the counters of one interface: RTM_GETSTATS with IFLA_STATS_LINK_64 (Linux 4.7).
func (c *Conn) Link(ifindex int) (counters.Link, error) {
	const filter = 1 << (unix.IFLA_STATS_LINK_64 - 1) // IFLA_STATS_FILTER_BIT
	payload := c.request(unix.RTM_GETSTATS, 0, ifStatsMsgLen)
	native.PutUint32(payload[4:], uint32(ifindex))
	native.PutUint32(payload[8:], filter)

	link, found := counters.Link{}, false
	err := c.roundTrip("read link counters", func(msgType uint16, msg []byte) {
		if msgType == unix.RTM_NEWSTATS && !found {
			link, found = decodeLink(msg)
		}
	})
	if err != nil {
		return counters.Link{}, err
	}
	if !found {
		return counters.Link{}, fmt.Errorf("read link counters of interface %d: the kernel sent none", ifindex)
	}
	return link, nil
}

// decodeLink reads the payload of one RTM_NEWSTATS message. struct rtnl_link_stats64 begins with u64
// rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors, rx_dropped, tx_dropped.
func decodeLink(msg []byte) (counters.Link, bool) {
	if len(msg) < ifStatsMsgLen {
		return counters.Link{}, false
	}
	a := attrs{rest: msg[ifStatsMsgLen:]}
	for a.next() {
		if a.typ != unix.IFLA_STATS_LINK_64 {
			continue
		}
		return counters.Link{
			Ifindex:   int(int32(u32(msg, 4))),
			RxPackets: u64(a.data, 0),
			TxPackets: u64(a.data, 8),
			RxBytes:   u64(a.data, 16),
			TxBytes:   u64(a.data, 24),
			RxErrors:  u64(a.data, 32),
			TxErrors:  u64(a.data, 40),
			RxDropped: u64(a.data, 48),
			TxDropped: u64(a.data, 56),
		}, true
	}
	return counters.Link{}, false
}
