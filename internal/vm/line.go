package vm

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bondrepro/internal/arrivals"

	"golang.org/x/sys/unix"
)

const (
	// CatchUp is how much of a line's time is made up for when the next frame came late: QEMU needs time to
	// fill a line again. It is also the burst after a pause of the sender.
	CatchUp = 20 * time.Millisecond
	// catchUpLate is that when the frame was there and we were late: the machine is busy, and the line was full.
	catchUpLate = 200 * time.Millisecond
	// nap is added to each wait for the line to become free: the few frames it makes late come together.
	nap = 50 * time.Microsecond
	// longestWait bounds each wait, after which the rate is looked at again and a stop is seen.
	longestWait = 5 * time.Millisecond
	// frameMax is the largest frame, in bytes: an Ethernet header, a VLAN's tag, and the greatest MTU of virtio_net
	// (MAX_MTU, drivers/net/virtio_net.c). No offload makes one larger on a line without virtio headers.
	frameMax = 14 + 4 + 65535
)

// line is one NIC's other end.
type line struct {
	wire   *Wire
	index  int
	port   port
	cabled *line         // gets the frames of the slow protocols; nil: nobody does
	rate   atomic.Uint64 // bits of a float64: bits a second
	last   atomic.Int64  // when the latest datagram was taken, ns since Wire.start
	closed atomic.Bool

	mu      sync.Mutex
	arrived *arrivals.Line
}

// read takes frames until closed is set. It has a thread of its own: Go's timers wake up to 1 ms late, which is
// 31 frames of 4000 bytes at 1 Gbit/s.
func (l *line) read() {
	runtime.LockOSThread() // never unlocked: the thread's timer slack and priority are not for others
	const slack = 1000     // ns, prctl(2)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -10) // needs a right; without it a busy machine delays the line
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
		n, waited, err := l.port.next(buf)
		if err != nil || n == 0 {
			if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				sleep(longestWait) // QEMU is gone, or is resetting the device: the machine's owner notices
			}
			continue
		}
		now := l.wire.now()
		meter.take(now, n, rate, waited)
		l.frame(buf[:n], now)
	}
}

// frame counts one frame.
func (l *line) frame(b []byte, now int64) {
	l.mu.Lock()
	traffic := l.arrived.Frame(b, now)
	l.mu.Unlock()
	if traffic {
		l.last.Store(now)
	}
	if l.cabled != nil && slow(b) {
		l.cabled.port.give(b)
	}
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

// take books a frame of n bytes. waited tells that the line was empty before it.
func (m *meter) take(now int64, n int, rate float64, waited bool) {
	if math.IsInf(rate, 1) || rate == 0 {
		return
	}
	credit := catchUpLate
	if waited {
		credit = CatchUp
	}
	m.free = max(m.free, now-int64(credit)) + int64(float64(n)*8/rate*1e9)
}

func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // EINTR: woken early, the caller looks again
}
