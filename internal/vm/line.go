package vm

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lineQueue is SO_SNDBUF of the NIC's end, in bytes as given to setsockopt(2). It is all that a line holds
	// beyond the NIC's ring: some 15 frames of 4000 bytes. When it is full, QEMU completes no packet until it
	// is down to a quarter (unix_writable, net/unix/af_unix.c).
	lineQueue = 64 << 10
	// catchUp is how much of the line's time may be made up for after a late wake-up.
	catchUp = 20 * time.Millisecond
	// nap is added to each wait for the line to become free: the few frames it makes late come together.
	nap = 50 * time.Microsecond
	// longestWait bounds each wait, after which the rate is looked at again and a stop is seen.
	longestWait = 5 * time.Millisecond
	// frameMax is the largest frame, in bytes: no offload makes one larger on a line without virtio headers.
	frameMax = 64 << 10
)

// line is one NIC's other end.
type line struct {
	wire   *Wire
	index  int
	fd     int           // datagram socket, one frame a datagram
	rate   atomic.Uint64 // bits of a float64: bits a second
	last   atomic.Int64  // when the latest frame was taken, ns since Wire.start
	closed atomic.Bool

	mu      sync.Mutex
	checker checker
}

// linePair makes the two ends of a line: a connected pair, because only then does poll(2) tell QEMU the truth
// about when it may send again, and nothing is left in the file system.
func linePair() (ours, theirs int, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("make the socket pair of a line: %w", err)
	}
	timeout := unix.NsecToTimeval(int64(longestWait))
	if err := errors.Join(
		unix.SetsockoptInt(p[1], unix.SOL_SOCKET, unix.SO_SNDBUF, lineQueue),
		unix.SetsockoptTimeval(p[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
	); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return -1, -1, fmt.Errorf("set up the socket pair of a line: %w", err)
	}
	return p[0], p[1], nil
}

func (l *line) close() { unix.Close(l.fd) }

// read takes frames until closed is set. It has a thread of its own: Go's timers wake up to 1 ms late, which is
// 31 frames of 4000 bytes at 1 Gbit/s.
func (l *line) read() {
	runtime.LockOSThread() // never unlocked: the thread's timer slack is not for others
	const slack = 1000     // ns, prctl(2)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
	var (
		buf   = make([]byte, frameMax)
		meter meter
	)
	for !l.closed.Load() {
		rate := math.Float64frombits(l.rate.Load())
		if wait := meter.wait(l.wire.now(), rate); wait > 0 {
			sleep(min(wait, longestWait))
			continue
		}
		n, err := unix.Read(l.fd, buf)
		if err != nil || n == 0 {
			if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				sleep(longestWait) // QEMU is gone, or is resetting the device: the machine's owner notices
			}
			continue
		}
		now := l.wire.now()
		meter.take(now, n, rate)
		l.frame(buf[:n], now)
	}
}

// frame counts one frame.
func (l *line) frame(b []byte, now int64) {
	l.mu.Lock()
	l.checker.frame(b, now, &l.wire.run.first)
	l.mu.Unlock()
	l.last.Store(now)
	if c := l.wire.pcap.Load(); c != nil {
		c.frame(l.index, b, l.wire.start.UnixNano()+now)
	}
}

// meter is the token bucket of one line, as the time at which the line is free again. Times are in ns.
type meter struct{ free int64 }

// wait is how long to wait before the next frame may be taken.
func (m *meter) wait(now int64, rate float64) time.Duration {
	switch {
	case math.IsInf(rate, 1):
		m.free = now
		return 0
	case rate == 0:
		m.free = now
		return longestWait
	case m.free <= now:
		return 0
	}
	return time.Duration(m.free-now) + nap
}

// take books a frame of n bytes.
func (m *meter) take(now int64, n int, rate float64) {
	if math.IsInf(rate, 1) || rate == 0 {
		return
	}
	m.free = max(m.free, now-int64(catchUp)) + int64(float64(n)*8/rate*1e9)
}

func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // EINTR: woken early, the caller looks again
}
