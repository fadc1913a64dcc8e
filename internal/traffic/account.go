package traffic

import (
	"math/bits"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/reproducer/result"
)

// next is what a sender does after a call of sendmmsg.
type next int

const (
	goOn  next = iota // send the following message
	wait              // the send buffer is full: wait for room, the message is still to be sent
	pause             // an error that waiting for room does not cure: pause, the message is still to be sent
)

// account counts the sends of one socket. It makes no system call.
type account struct {
	blocking bool // a refusal is a probe of ours then, which no program would have seen
	ok       uint64
	eagain   uint64
	enobufs  uint64
	hidden   uint64
	other    map[syscall.Errno]uint64
	calls    uint64
	blocked  time.Duration
	waits    [64]uint64 // by the length of the wait in µs, as a number of bits
}

func newAccount(blocking bool) account {
	return account{blocking: blocking, other: map[syscall.Errno]uint64{}}
}

// note counts a call that was given k messages and returned n and errno (sendmmsg(2)), and returns how many of
// the messages are done with (each has used up its sequence number) and what to do next. full tells whether
// the socket was charged for its whole send buffer right after the call.
//
// A short count hides the errno of the message at which it stopped. The buffer is only emptied behind our back, so
// one that is full after the call was full in it: the refusal was EAGAIN (sock_alloc_send_pskb, net/core/sock.c).
// Otherwise it may have been EAGAIN or ENOBUFS. The message then counts as hidden and its sequence number is used
// up: sent again, the number might be seen twice; left out, it makes at most one gap too many.
func (a *account) note(k, n int, errno syscall.Errno, full bool) (done int, then next) {
	a.calls++
	switch {
	case n >= k:
		a.ok += uint64(k)
		return k, goOn
	case n > 0 && full:
		a.ok += uint64(n)
		a.refused()
		return n, wait
	case n > 0:
		a.ok += uint64(n)
		a.hidden++
		return n + 1, goOn
	}
	switch errno {
	case unix.EAGAIN:
		a.refused()
		return 0, wait
	case unix.ENOBUFS:
		a.enobufs++
		return 1, goOn
	case unix.EINTR:
		return 0, goOn
	}
	a.other[errno]++
	return 0, pause
}

func (a *account) refused() {
	if !a.blocking {
		a.eagain++
	}
}

// waited counts one wait for the send buffer.
func (a *account) waited(ns int64) {
	a.blocked += time.Duration(ns)
	us := (ns + 999) / 1000
	a.waits[bits.Len64(uint64(max(us-1, 0)))]++
}

// buckets are the waits up to the longest, in powers of two of µs.
func (a *account) buckets() []result.Bucket {
	last := len(a.waits) - 1
	for last >= 0 && a.waits[last] == 0 {
		last--
	}
	var bs []result.Bucket
	for i, n := range a.waits[:last+1] {
		bs = append(bs, result.Bucket{UpToUS: 1 << i, Count: n})
	}
	return bs
}

// sender writes the account as a recording has it.
func (a *account) sender() result.Sender {
	s := result.Sender{
		OK: a.ok, EAGAIN: a.eagain, ENOBUFS: a.enobufs, Hidden: a.hidden, Calls: a.calls,
		BlockedMS: float64(a.blocked) / float64(time.Millisecond), Blocked: a.buckets(),
	}
	for errno, n := range a.other {
		if s.Other == nil {
			s.Other = map[string]uint64{}
		}
		s.Other[errnoName(errno)] += n
	}
	return s
}

func errnoName(errno syscall.Errno) string {
	if name := unix.ErrnoName(errno); name != "" {
		return name
	}
	return errno.Error()
}
