package traffic

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

const (
	// drainEvery is after how many sends the error queue is read: well below what a receive buffer of the default
	// size holds of timestamps.
	drainEvery = 32
	// errorPause keeps a sender whose every send fails from spinning.
	errorPause = time.Millisecond
	// longestSleep is how late a sender that waits for its schedule sees that it is to end.
	longestSleep = 50 * time.Millisecond
	// A refused non-blocking sender first gives way to others, as a program that polls in a loop does, so that a fast
	// line does not run dry; on a slow line it then sleeps for a moment between two tries.
	refusedYields = 64
	refusedSleep  = 20 * time.Microsecond
	// timerSlack makes sleeps end when they should: 50 µs late is the default (prctl(2)).
	timerSlack = time.Nanosecond
)

// sender is one socket and what is sent through it.
type sender struct {
	index   int
	t       scenarios.Traffic
	family  *family
	fd      int
	port    int // UDP source port
	sndbuf  int // as SO_SNDBUF reads back
	w       writer
	m       *messages
	q       *errqueue
	zc      *inflight // nil without zerocopy
	clock   clock
	stop    *atomic.Bool
	maxOutq atomic.Int64

	account   account
	pacer     pacer
	burst     burst
	end       int64 // CLOCK_MONOTONIC, ns
	seq       uint64
	undrained int           // sends since the error queue was read; grows only where something is expected there
	elapsed   time.Duration // from the start to the end of the last call
}

// loop sends from start until end or until it is stopped. Its thread is its own and ends with it.
func (s *sender) loop(start, end int64) {
	s.end = end
	s.pacer = newPacer(s.t.Rate, s.t.Payload+s.family.overhead, s.m.segments, int(s.t.Senders), s.index, start)
	s.burst = newBurst(s.t.Burst, s.m.segments, start)
	var refusedAt int64 // since when a non-blocking socket refuses
	refusals := 0
	for {
		now := s.clock.now()
		if s.over(now) {
			break
		}
		if due := max(s.pacer.next(now), s.burst.next(now)); due > now {
			sleepUntil(min(due, now+int64(longestSleep), s.end))
			continue
		}
		if s.zc != nil && s.zc.full() {
			s.awaitBuffer()
			continue
		}
		done, then := s.try(now)
		if done > 0 && refusedAt != 0 {
			s.account.waited(s.clock.now() - refusedAt)
			refusedAt, refusals = 0, 0
		}
		switch {
		case then == pause:
			s.recover()
		case then == wait && s.t.Socket.Blocking:
			s.block()
		case then == wait:
			if refusedAt == 0 {
				refusedAt = s.clock.now()
				s.outq()
			}
			refusals++
			giveWay(refusals)
		}
	}
	now := s.clock.now()
	if refusedAt != 0 {
		s.account.waited(now - refusedAt)
	}
	s.elapsed = time.Duration(now - start)
}

func (s *sender) over(now int64) bool { return now >= s.end || s.stop.Load() }

// try sends the next batch without waiting.
func (s *sender) try(now int64) (done int, then next) {
	k := s.burst.room(len(s.m.batch))
	s.m.prepare(k, s.slot(), s.seq, now)
	n, errno := s.w.write(k)
	full := n > 0 && n < k && s.outq() >= s.sndbuf
	done, then = s.account.note(k, n, errno, full)
	s.advance(done)
	return done, then
}

// block sends the next message and waits for the send buffer as long as that takes.
func (s *sender) block() {
	s.outq()
	start := s.clock.now()
	s.m.prepare(1, s.slot(), s.seq, start)
	done, then := 0, wait
	for done == 0 && then != pause && !s.over(s.clock.now()) {
		n, errno := s.w.writeHead()
		done, then = s.account.note(1, n, errno, false)
	}
	s.account.waited(s.clock.now() - start)
	s.advance(done)
	if then == pause {
		s.recover()
	}
}

// awaitBuffer waits until the kernel gives a zerocopy buffer back. What holds it back is packets in flight, as with a
// full send buffer, and it counts as such a wait.
func (s *sender) awaitBuffer() {
	start := s.clock.now()
	for s.drain(); s.zc.full() && !s.over(s.clock.now()); s.drain() {
		waitErrqueue(s.fd, int(sendTimeout.Milliseconds()))
	}
	s.account.waited(s.clock.now() - start)
}

// recover reads the error queue, which clears an error that an earlier packet left pending, and pauses.
func (s *sender) recover() {
	s.drain()
	time.Sleep(errorPause)
}

func (s *sender) slot() int {
	if s.zc == nil {
		return 0
	}
	return s.zc.slot()
}

// advance uses up the numbers of n messages.
func (s *sender) advance(n int) {
	s.seq += uint64(n * s.m.segments)
	s.m.sent(n)
	s.pacer.sent(n)
	s.burst.sent(n)
	if s.zc != nil && n > 0 {
		s.zc.sent()
	}
	if s.zc != nil || bool(s.t.Socket.TxTimestamping) {
		if s.undrained += n; s.undrained >= drainEvery {
			s.drain()
		}
	}
}

func (s *sender) drain() {
	s.q.drain()
	s.undrained = 0
}

// outq reads SIOCOUTQ and keeps the greatest: what the sampler sees, and what is there when a wait begins.
func (s *sender) outq() int {
	n := s.w.outq()
	for old := s.maxOutq.Load(); int64(n) > old && !s.maxOutq.CompareAndSwap(old, int64(n)); old = s.maxOutq.Load() {
	}
	return n
}

// report is the sender's account so far; not while it sends.
func (s *sender) report() result.Sender {
	s.drain()
	r := s.account.sender()
	r.Index, r.Seqs, r.SndBuf, r.Port, r.MaxOutq = s.index, s.seq, s.sndbuf, s.port, int(s.maxOutq.Load())
	r.ElapsedMS = float64(s.elapsed) / float64(time.Millisecond)
	r.Timestamps, r.ZeroCopied, r.Copied = s.q.timestamps, s.q.zerocopied, s.q.copied
	return r
}

func giveWay(refusals int) {
	if refusals > refusedYields {
		ts := unix.NsecToTimespec(int64(refusedSleep))
		_ = unix.Nanosleep(&ts, nil) // interrupted is early, and early is fine
		return
	}
	// Through Syscall, so that the runtime may hand its processor on meanwhile.
	_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}

// ownThread binds the calling goroutine to a thread that ends with it.
func ownThread() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) // a refusal costs 50 µs of exactness
}
