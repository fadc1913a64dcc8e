package vm

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"bondrepro/internal/arrivals"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Wire is the other end of the machine's NICs, one line each: it takes frames at the line rate, so that a slow
// line fills the NIC's ring and stops its queue as a busy port does, and it counts and checks every frame.
type Wire struct {
	lines []*line
	run   *arrivals.Run
	pcap  atomic.Pointer[capture]
	start time.Time // what frames' times count from
}

// newWire takes the ports over. It reads nothing before serve. Cables are those of Config.
func newWire(ports []port, cables [][2]int) *Wire {
	w := &Wire{start: time.Now(), run: arrivals.NewRun(0, scenarios.Traffic{})}
	for i, p := range ports {
		l := &line{wire: w, index: i, port: p}
		l.rate.Store(math.Float64bits(math.Inf(1)))
		l.arrived = w.run.Line()
		w.lines = append(w.lines, l)
	}
	for _, c := range cables {
		a, b := w.lines[c[0]], w.lines[c[1]]
		a.cabled, b.cabled = b, a
	}
	return w
}

// serve starts one reader a line; the returned function stops them, waits for their end and closes the ports.
func (w *Wire) serve() (stop func()) {
	var readers sync.WaitGroup
	for _, l := range w.lines {
		readers.Go(l.read)
	}
	return func() {
		for _, l := range w.lines {
			l.closed.Store(true)
		}
		readers.Wait()
		for _, l := range w.lines {
			l.port.close()
		}
	}
}

// SetRates sets the line rates, bits a second of layer-2 bytes without FCS and gap, one a NIC: +Inf takes
// everything at once, 0 takes nothing. It may be called at any time. It panics when the number of rates is not
// that of NICs, or a rate is negative or no number.
func (w *Wire) SetRates(bitsPerSecond []float64) {
	if len(bitsPerSecond) != len(w.lines) {
		panic(fmt.Sprintf("vm: %d line rates for %d lines", len(bitsPerSecond), len(w.lines)))
	}
	for i, r := range bitsPerSecond {
		if !(r >= 0) {
			panic(fmt.Sprintf("vm: line rate %v", r))
		}
		w.lines[i].rate.Store(math.Float64bits(r))
	}
}

// Begin forgets all counts and starts to count a run, whose frames are in that VLAN (0: none). Frames of any other run are
// stale from now on; so call it when the lines are idle and before the first send.
func (w *Wire) Begin(number uint32, traffic scenarios.Traffic, vlan int) {
	w.run = arrivals.NewRun(number, traffic).InVLAN(vlan)
	for _, l := range w.lines {
		l.mu.Lock()
		l.arrived = w.run.Line()
		l.mu.Unlock()
	}
}

// idlePoll is how often WaitIdle looks.
const idlePoll = 5 * time.Millisecond

// WaitIdle waits until no line has taken a UDP datagram for quiet; LACPDUs and ARP probes go on for ever and do
// not count. A line whose rate is 0 is always idle. The error is ctx's, with the line that was not idle.
func (w *Wire) WaitIdle(ctx context.Context, quiet time.Duration) error {
	tick := time.NewTicker(idlePoll)
	defer tick.Stop()
	began := w.now()
	for {
		busy := -1
		now := w.now()
		for i, l := range w.lines {
			if max(l.last.Load(), began)+int64(quiet) > now {
				busy = i
			}
		}
		if busy < 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until no datagram came for %v (line %d took one %v ago): %w",
				quiet, busy, time.Duration(now-w.lines[busy].last.Load()).Round(time.Millisecond), ctx.Err())
		case <-tick.C:
		}
	}
}

// End gives what arrived since Begin. It may be called again; counting goes on.
func (w *Wire) End() result.Wire {
	counts := make([]*arrivals.Line, len(w.lines))
	for i, l := range w.lines {
		l.mu.Lock()
		defer l.mu.Unlock()
		counts[i] = l.arrived
	}
	return w.run.Summary(counts)
}

// Pcap writes every frame from now on to out, whole, as pcapng with one interface a line and nanoseconds.
// The returned function ends that, flushes, and gives the first error of writing. A slow writer slows the lines.
func (w *Wire) Pcap(out io.Writer) (stop func() error, err error) {
	c, err := newCapture(out, len(w.lines))
	if err != nil {
		return nil, fmt.Errorf("write pcap header: %w", err)
	}
	w.pcap.Store(c)
	return func() error {
		w.pcap.CompareAndSwap(c, nil)
		return c.close()
	}, nil
}

// now is the time since the wire was made, in ns.
func (w *Wire) now() int64 { return int64(time.Since(w.start)) }
