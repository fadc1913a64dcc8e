package workload

import (
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// longestSleep is how late a paced sender sees that it is to end.
const longestSleep = 50 * time.Millisecond

// sendDatagrams sends one after the other, as fast as it can or every period.
func sendDatagrams(payload int, period time.Duration, refused *lostCount) loop {
	buf := make([]byte, payload)
	return func(w *worker) error {
		base, start := time.Now(), monotonic()
		var due time.Duration // since start
		for !w.turn() {
			if period > 0 {
				if now := time.Since(base); due > now {
					sleepUntil(start + int64(min(due, now+longestSleep)))
					continue
				}
				due += period
			}
			n, err := write(w.fd, buf)
			switch err {
			case nil:
				w.bytes.Add(uint64(payload))
			case unix.ENOBUFS:
				refused.n.Add(1)
			default:
				return w.fail("send", n, err)
			}
			w.operations.Add(1)
		}
		return nil
	}
}

// receiveDatagrams counts what arrives.
func receiveDatagrams(payload int) loop {
	buf := make([]byte, payload+1) // so that a longer one is seen to be none of ours
	return func(w *worker) error {
		for {
			n, err := read(w.fd, buf)
			if err != nil {
				return w.fail("receive", n, err)
			}
			if n == payload {
				w.bytes.Add(uint64(n))
				w.operations.Add(1)
			}
			if w.turn() && n == 0 { // shut down; before that it is a stranger's datagram
				return nil
			}
		}
	}
}

// period is the time between two datagrams of one sender; 0: unpaced.
func period(rate scenarios.Rate, payload, senders int) time.Duration {
	pps := rate.PacketsPerSecond
	if rate.BitsPerSecond > 0 {
		pps = rate.BitsPerSecond / (8 * float64(payload))
	}
	if pps == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) * float64(senders) / pps)
}

// monotonic is CLOCK_MONOTONIC in ns.
func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails for a bad argument only
	return ts.Nano()
}

// sleepUntil sleeps to an absolute time, so that a late sleep adds nothing to the next. Early is fine.
func sleepUntil(ns int64) {
	ts := unix.NsecToTimespec(ns)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
}
