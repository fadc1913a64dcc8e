// Package judge says what a recording means: the ledger of packets, the oracle for lost back-pressure, the
// guards, the diagnosis and the verdict. It is pure: no system call, no clock, no randomness, so that the
// same recording judged again gives the same judgement.
package judge

import (
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// ringReserve is 2 + MAX_SKB_FRAGS (17 unless the kernel was built with more), and the packet that reached it.
const ringReserve = 20

// Preflight works out whether honest back-pressure can hold what the senders may have in flight. truesize is
// what a packet is charged to its socket, in bytes (0: not known, then nothing is predicted); ring is the
// number of TX descriptors of one slave.
//
// A socket may send while sk_wmem_alloc < sk_sndbuf (sock_alloc_send_pskb, net/core/sock.c), so that each has
// at most sndbuf/truesize + 1 packets in flight. They are held against one slave's queue and ring in every
// mode: active-backup uses one slave, a hash may pick one for all, and where a mode alternates (balance-rr)
// or copies (broadcast) the packets in flight gather in the slowest slave, to whose pace the senders are held.
//
// A driver does not fill its ring: with fewer than 2 + MAX_SKB_FRAGS descriptors free virtio_net stops its queue (start_xmit,
// drivers/net/virtio_net.c), and others do alike. Nor can the ring be relied on (result.Preflight, Tight): of 312 packets in
// a queue of 100 and a ring of 256 a few were dropped on a good kernel.
func Preflight(sc scenarios.Scenario, truesize, ring int) result.Preflight {
	pf := result.Preflight{
		Senders:    int(sc.Traffic.Senders),
		SndBuf:     int(sc.Traffic.Socket.SndBuf),
		Truesize:   truesize,
		TxQueueLen: sc.Topology.Slaves.TxQueueLen,
		Ring:       ring,
		Reserve:    min(ring, ringReserve),
	}
	if force := sc.Traffic.Socket.SndBufForce; force > 0 {
		pf.SndBuf = int(force)
	}
	if truesize > 0 {
		pf.PerSender = pf.SndBuf/truesize + 1
		pf.Sum = pf.Senders * pf.PerSender
		pf.Exceeds = pf.Sum > pf.Room()
		pf.Tight = !pf.Exceeds && pf.Sum > pf.TxQueueLen
	}
	return pf
}
