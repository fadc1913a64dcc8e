package netns

import (
	"context"
	"encoding/json"
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

// tryReceivers opens the receivers of a job and closes them: what they need of the kernel is known before anything is
// measured.
func (c *child) tryReceivers(body json.RawMessage) error {
	var job measure.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return err
	}
	job.Scenario.Traffic.Senders = max(job.Scenario.Traffic.Senders, 1) // "auto" is settled by the probe
	receivers, err := c.listen(job)
	if err != nil {
		return err
	}
	return receivers.Close()
}

// listen opens the receivers at the far ends of the job's slaves.
func (c *child) listen(job measure.Job) (receivers *traffic.Receivers, err error) {
	ends, err := c.farEnds(job.Slaves)
	if err != nil {
		return nil, err
	}
	vlan := job.Scenario.Topology.VLAN
	err = c.far.do(func() error {
		members, err := farVLAN(ends, vlan)
		if err != nil {
			return err
		}
		receivers, err = traffic.Listen(traffic.ReceiveConfig{Ifindexes: ends, Traffic: job.Scenario.Traffic, VLAN: vlan, Members: members})
		return err
	})
	return receivers, err
}

// measure runs the job and adds what came out of the lines.
func (c *child) measure(ctx context.Context, job measure.Job) (rec result.Recording, err error) {
	receivers, err := c.listen(job)
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
