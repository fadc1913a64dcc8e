package traffic

import (
	"time"

	"bondrepro/internal/arrivals"
	"bondrepro/reproducer/result"
)

// Collector counts what arrives of runs whose numbers nobody knows before: it is the far end on another machine. Runs, Taken
// and Close may be called from any goroutine. It listens as Receivers do.
type Collector struct {
	intake
	accounts *arrivals.Accounts // mu is held
}

// Collect opens the sockets in the calling thread's network namespace and starts to count, as Listen does.
func Collect(cfg ReceiveConfig) (*Collector, error) { return collect(cfg, receiveBuffer) }

// collect gives each socket a receive buffer of so many bytes.
func collect(cfg ReceiveConfig, buffer int) (*Collector, error) {
	c := &Collector{accounts: arrivals.NewAccounts(cfg.Traffic, len(cfg.Ifindexes))}
	c.to = c.accounts
	if err := c.intake.open(cfg, buffer); err != nil {
		return nil, err
	}
	c.start()
	return c, nil
}

// Runs is what has come of each run so far, by the times of their first frames, and how many runs are forgotten.
func (c *Collector) Runs() (runs []result.ReceivedRun, forgotten uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drain()
	for _, a := range c.accounts.Summary() {
		runs = append(runs, result.ReceivedRun{Run: a.Run, First: c.wall(a.First), Last: c.wall(a.Last), Wire: a.Wire})
	}
	return runs, c.accounts.Forgotten()
}

// wall is a time of an arrival as the calendar has it.
func (c *Collector) wall(ns int64) time.Time { return time.Unix(0, ns+c.offset).UTC() }

// Taken is how much has been read from the sockets.
type Taken struct {
	Datagrams, Frames uint64
	Idle              time.Duration // since the last datagram; since the start where none came
}

// Taken tells how much has been read. It is cheap; Runs is not.
func (c *Collector) Taken() Taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.clock.mono
	for _, at := range c.last {
		last = max(last, at)
	}
	return Taken{Datagrams: c.tookDatagrams, Frames: c.tookFrames, Idle: time.Duration(c.clock.now() - last)}
}
