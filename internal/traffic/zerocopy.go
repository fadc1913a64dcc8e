package traffic

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// inflight follows the buffers that MSG_ZEROCOPY has handed to the kernel. The kernel numbers such sends from 0 and
// gives the numbers back when it is done with their bytes (Documentation/networking/msg_zerocopy.rst); until then a
// buffer must not be written. A packet that a qdisc drops has a number too, a send that never got a packet has none.
//
// Each number outstanding takes option memory, and a send that finds none is told ENOBUFS, the errno of a qdisc's
// drop. So no more than limit are let out: ENOBUFS stays what the ledger takes it for.
type inflight struct {
	limit   int
	pending []bool // by number modulo its length, a power of two
	count   int
	next    uint32
}

// newInflight lets limit numbers out.
func newInflight(limit int) *inflight {
	slots := 1
	for slots < limit {
		slots *= 2
	}
	return &inflight{limit: limit, pending: make([]bool, slots)}
}

// zerocopyLimit is how many sends of so many bytes each of the senders may have outstanding, from the option memory
// of a socket and the pages the user may lock (mm_account_pinned_pages, net/core/skbuff.c), both in bytes.
func zerocopyLimit(optmem, memlock uint64, size, senders int) int {
	const (
		perNumber = 1024 // no less than SKB_TRUESIZE(0) on 64-bit kernels
		page      = 4096
		most      = 256
	)
	locked := uint64(size/page+2) * page * uint64(senders)
	return int(max(min(optmem/perNumber, memlock/locked, most), 2) - 1)
}

// optmemMax is net.core.optmem_max in bytes, or its default before 6.7 in a namespace that does not show it.
func optmemMax() uint64 {
	n, err := strconv.ParseUint(sysctl("net.core.optmem_max"), 10, 64)
	if err != nil {
		return 20480
	}
	return n
}

// memlockMax is RLIMIT_MEMLOCK in bytes; it does not bind a process with CAP_IPC_LOCK, which is not asked for.
func memlockMax() uint64 {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r); err != nil {
		return 0
	}
	return r.Cur
}

// slot is the buffer of the next send.
func (f *inflight) slot() int { return int(f.next) % len(f.pending) }

// full tells that the next send must wait: its buffer is still in use, or option memory may not suffice.
func (f *inflight) full() bool { return f.count >= f.limit || f.pending[f.slot()] }

// sent notes that the kernel has numbered a send.
func (f *inflight) sent() {
	f.pending[f.slot()] = true
	f.count++
	f.next++
}

// completed notes the numbers from..to.
func (f *inflight) completed(from, to uint32) {
	for n := from; ; n++ {
		if i := int(n) % len(f.pending); f.pending[i] {
			f.pending[i] = false
			f.count--
		}
		if n == to {
			return
		}
	}
}

// waitErrqueue waits for a message in the error queue of a socket, ms at most. POLLERR is always polled for (poll(2)).
func waitErrqueue(fd, ms int) {
	fds := [1]unix.PollFd{{Fd: int32(fd)}}
	_, _ = unix.Poll(fds[:], ms) // woken, late or interrupted: the caller looks at the queue again
}
