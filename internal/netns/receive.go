package netns

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/internal/traffic"
	"bondrepro/reproducer/result"
)

const (
	// quiet is how long the lines must bring nothing before a run's count is closed.
	quiet = 100 * time.Millisecond
	// idleLimit is how long they may go on.
	idleLimit = 30 * time.Second
)

// measure runs the job and adds what came out of the lines.
func (c *child) measure(ctx context.Context, job measure.Job) (rec result.Recording, err error) {
	ends, err := c.farEnds(job.Slaves)
	if err != nil {
		return rec, err
	}
	var receivers *traffic.Receivers
	err = c.far.do(func() (err error) {
		receivers, err = traffic.Listen(traffic.ReceiveConfig{Ifindexes: ends, Traffic: job.Scenario.Traffic})
		return err
	})
	if err != nil {
		return rec, err
	}
	defer func() {
		if closed := receivers.Close(); err == nil {
			err = closed
		}
	}()
	receivers.Begin(job.Run)
	if rec, err = measure.Measure(ctx, job); err != nil {
		return rec, err
	}
	limited, cancel := context.WithTimeout(ctx, idleLimit)
	defer cancel()
	if err := receivers.WaitIdle(limited, quiet); err != nil {
		return rec, err
	}
	wire := receivers.End()
	rec.Wire = &wire
	return rec, nil
}

// farEnds are the ifindexes at the other ends of the slaves with these addresses.
func (c *child) farEnds(macs []string) ([]int, error) {
	ends := make([]int, 0, len(macs))
	for _, mac := range macs {
		i := slices.IndexFunc(c.pairs, func(p pair) bool { return p.mac.String() == mac })
		if i < 0 {
			return nil, fmt.Errorf("no veth pair has the address %s", mac)
		}
		ends = append(ends, c.ends[i])
	}
	return ends, nil
}
