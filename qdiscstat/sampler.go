package qdiscstat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bondrepro/qdiscstat/counters"
)

// pollAttempts bounds how often an interrupted poll is tried again at once before it counts as missed.
const pollAttempts = 5

// Sampler polls qdiscs at an interval.
type Sampler struct {
	Conn     *Conn
	Interval time.Duration // greater than 0 unless Count is 1
	Count    int           // samples to take; 0: until the context ends
	Devices  []int         // interface indices to keep; none: all
}

// Sample is one poll. Qdiscs is reused by the next one: copy what is to stay.
type Sample struct {
	At     time.Time // just before the poll
	Qdiscs []counters.Qdisc
	Missed int // polls missed since the last sample: they came too late or were interrupted each time
}

// Run hands a sample to each at once and then at every interval, in the calling goroutine. It returns nil
// after Count samples and when ctx ends, else the first error of a poll or of each. Polls that each is too slow
// for are counted as missed, not made up for.
func (s *Sampler) Run(ctx context.Context, each func(*Sample) error) error {
	if s.Interval <= 0 && s.Count != 1 {
		return fmt.Errorf("sample qdiscs: the interval %v is not greater than 0", s.Interval)
	}
	var sample Sample
	next := time.Now()
	for taken := 0; ctx.Err() == nil; {
		sample.At = time.Now()
		err := s.poll(&sample)
		switch {
		case errors.Is(err, ErrInterrupted):
			sample.Missed++
		case err != nil:
			return err
		default:
			if err := each(&sample); err != nil {
				return err
			}
			sample.Missed = 0
			if taken++; taken == s.Count {
				return nil
			}
		}
		next = next.Add(s.Interval)
		if late := time.Since(next); late >= s.Interval {
			n := late / s.Interval
			sample.Missed += int(n)
			next = next.Add(n * s.Interval)
		}
		sleep(ctx, time.Until(next))
	}
	return nil
}

// poll fills the sample, trying again at once when the dump was interrupted.
func (s *Sampler) poll(sample *Sample) (err error) {
	for range pollAttempts {
		sample.Qdiscs, err = s.Conn.Qdiscs(sample.Qdiscs[:0])
		if !errors.Is(err, ErrInterrupted) {
			break
		}
	}
	if len(s.Devices) > 0 {
		sample.Qdiscs = slices.DeleteFunc(sample.Qdiscs, func(q counters.Qdisc) bool {
			return !slices.Contains(s.Devices, q.Ifindex)
		})
	}
	return err
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
