package testbed

import (
	"context"
	"time"

	"bondrepro/internal/ports"
	"bondrepro/reproducer/result"
)

// counters are what the ports' drivers count; a port that is gone counts nothing.
func (h *host) counters() []map[string]uint64 {
	var all []map[string]uint64
	for _, f := range h.facts {
		c, err := ports.Counters(f.Name)
		if err != nil {
			c = nil
		}
		all = append(all, c)
	}
	return all
}

// waitLag waits until the ports' own counters have all that was sent.
func (h *host) waitLag(ctx context.Context) {
	var lag time.Duration
	for _, f := range h.facts {
		lag = max(lag, result.CounterLag(f.Driver))
	}
	select {
	case <-ctx.Done():
	case <-time.After(lag):
	}
}

// moved are the counters of each port that moved over a run: a driver may have a thousand.
func (h *host) moved(before, after []map[string]uint64) []result.PortCounters {
	var all []result.PortCounters
	for i, f := range h.facts {
		c := result.PortCounters{Name: f.Name, WaitedMS: float64(result.CounterLag(f.Driver).Milliseconds()), Before: map[string]uint64{}, After: map[string]uint64{}}
		for name, n := range after[i] {
			if before[i][name] != n {
				c.Before[name], c.After[name] = before[i][name], n
			}
		}
		all = append(all, c)
	}
	return all
}
