package traffic

import (
	"math"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
)

// read is the reader: one for all lines, on a thread of its own, until wake is readable.
func (r *intake) read() {
	ownThread()
	// On a busy machine it is to come before the senders, or the sockets overflow (8 unpaced senders on 2 loaded CPUs: in half
	// of the runs, and with this in none). It needs a right.
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -10)
	fds := []unix.PollFd{{Fd: int32(r.wake), Events: unix.POLLIN}}
	for _, s := range r.sockets {
		fds = append(fds, unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN})
	}
	pause := unix.NsecToTimespec(int64(nap))
	for waiting := false; ; {
		timeout := -1
		if waiting {
			timeout = int(hold.Milliseconds())
		}
		_, _ = unix.Poll(fds, timeout) // interrupted is early, and early is fine
		if fds[0].Revents != 0 {
			return
		}
		r.mu.Lock()
		complete, emptied := r.pass()
		r.pending.releaseOld(complete - int64(hold))
		waiting = len(r.pending.waiting) > 0
		r.mu.Unlock()
		if emptied {
			_ = unix.Nanosleep(&pause, nil) // likewise
		}
	}
}

// pass reads once from each socket. What was queued before complete, CLOCK_REALTIME in ns, has been read now; emptied
// tells that every socket was empty in its turn.
func (r *intake) pass() (complete int64, emptied bool) {
	now := r.tick()
	complete, emptied = now, true
	for _, s := range r.sockets {
		slots := r.slotsOf(s)
		n, last := slots.receive(s.fd), now
		for i := range n {
			last = r.take(s, slots, i, now)
		}
		if n == len(slots.headers) {
			complete, emptied = min(complete, last), false
		}
	}
	return complete, emptied
}

func (r *intake) slotsOf(s *receiver) *slots {
	if s.sniffs {
		return r.frames
	}
	return r.datagrams
}

// drain reads and counts all that came before it is called, and what the sockets have dropped.
func (r *intake) drain() {
	for before := time.Now().UnixNano(); ; {
		if complete, emptied := r.pass(); emptied || complete >= before {
			break
		}
	}
	r.pending.release(math.MaxInt64)
	for _, s := range r.sockets {
		if n, err := readDrops(s.fd); err == nil { // it could be read when the socket was opened
			r.lost(s.line, s.sniffs, s.drops.advance(n), r.clock.now())
		}
	}
}

// tick reads the clocks. When the realtime clock has been set, times before and after do not compare: what is pending is
// counted before any of the new times comes in.
func (r *intake) tick() (realtime int64) {
	now := time.Now()
	realtime = now.UnixNano()
	offset := realtime - r.clock.mono - int64(now.Sub(r.clock.base))
	if time.Duration(offset-r.offset).Abs() > hold/2 {
		r.pending.release(math.MaxInt64)
	}
	r.offset = offset
	return realtime
}

// take adds what is in a slot to what is pending, and returns when it came: now, where the kernel does not say.
func (r *intake) take(s *receiver, slots *slots, i int, now int64) (at int64) {
	m := slots.message(i)
	if m.at == 0 {
		m.at = now
	}
	a := arrival{at: m.at, line: s.line, size: m.size}
	if m.counted {
		a.lost = s.drops.advance(m.drops)
	}
	if s.sniffs {
		r.tookFrames++
		a.kind = r.sniffed(m.data)
	} else {
		r.tookDatagrams++
		a.datagram, a.kind, a.size = true, r.kind, m.size+r.overhead
		a.filled, a.to = copy(a.head[:], m.data), netip.AddrPortFrom(m.to, uint16(r.traffic.Port))
		r.last[s.line] = r.clock.now()
	}
	r.pending.waiting = append(r.pending.waiting, a)
	return m.at
}

// count counts an arrival whose turn it is.
func (r *intake) count(a *arrival) {
	at := a.at - r.offset
	if a.datagram {
		r.to.Datagram(a.line, stamp.Datagram{Payload: a.head[:a.filled], To: a.to}, a.kind, a.size, at)
	} else {
		r.to.Foreign(a.line, a.kind, a.size, at)
	}
	r.lost(a.line, !a.datagram, a.lost, at)
}

// lost counts what a socket of a line had no room for. A packet socket does not tell what it drops: that is a frame of an
// unknown kind.
func (r *intake) lost(line int, sniffs bool, n uint64, at int64) {
	if !sniffs {
		r.to.Overflow(line, n)
		return
	}
	for range n {
		r.to.Foreign(line, stamp.Other, 0, at)
	}
}
