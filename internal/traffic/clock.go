package traffic

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// clock reads CLOCK_MONOTONIC in ns. time.Since goes through the vdso, clock_gettime of x/sys does not.
type clock struct {
	base time.Time
	mono int64 // CLOCK_MONOTONIC at base
}

func newClock() (clock, error) {
	var ts unix.Timespec
	base := time.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return clock{}, fmt.Errorf("clock_gettime CLOCK_MONOTONIC: %w", err)
	}
	return clock{base: base, mono: ts.Nano()}, nil
}

func (c clock) now() int64 { return c.mono + int64(time.Since(c.base)) }

// wall is the moment of a reading of this clock as package time has it.
func (c clock) wall(ns int64) time.Time { return c.base.Add(time.Duration(ns - c.mono)) }

// sleepUntil sleeps to an absolute time of CLOCK_MONOTONIC, so that an interrupted or late sleep adds nothing to the next.
func sleepUntil(ns int64) {
	ts := unix.NsecToTimespec(ns)
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
	}
}
