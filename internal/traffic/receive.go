package traffic

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/internal/arrivals"
	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

const (
	// hold is how long an arrival waits for earlier ones that are read later: see inOrder.
	hold = 10 * time.Millisecond
	// nap is taken when all sockets are empty, so that one wake-up serves several datagrams and senders are left alone.
	// A receive buffer that only rmem_max bounds holds some 60 datagrams of 4000 bytes: 8 Gbit/s over a nap.
	nap = 250 * time.Microsecond
	// idlePoll is how often WaitIdle looks.
	idlePoll = 5 * time.Millisecond
	// receiveBuffer is what each socket gets where CAP_NET_ADMIN holds in the initial user namespace; else it is as much
	// as net.core.rmem_max allows. The kernel doubles it (socket(7)).
	receiveBuffer = 64 << 20
)

// ReceiveConfig says where to listen, and for what.
type ReceiveConfig struct {
	Ifindexes []int             // one interface a line, in the order of result.Wire.Slaves
	Traffic   scenarios.Traffic // its groups, port and number of senders
}

// Receivers count what arrives at the far ends of the slaves: datagrams by UDP sockets that are members of the scenario's
// groups, all other frames by packet sockets. Begin, WaitIdle and End may be called from any goroutine.
//
// Each arrival has the time at which the kernel took it from its interface, and all are counted in that order, over all
// lines. Datagrams in the scenario's groups count once however many sockets share the groups. Datagrams to the scenario's
// port and a group that is not the scenario's are not seen at all.
type Receivers struct {
	traffic  scenarios.Traffic
	kind     stamp.Kind // of the datagrams
	overhead int        // bytes that a datagram's frame has beside the payload
	clock    clock
	sockets  []*receiver
	wake     int // eventfd: readable when the reader is to end
	reader   sync.WaitGroup

	mu        sync.Mutex // of all below, and of reading from the sockets
	datagrams *slots
	frames    *slots
	pending   inOrder
	offset    int64 // CLOCK_REALTIME less CLOCK_MONOTONIC, ns
	run       *arrivals.Run
	lines     []*arrivals.Line
	last      []int64 // when a datagram was last read, by line; CLOCK_MONOTONIC, ns
}

// Listen opens the sockets in the calling thread's network namespace and starts to read; the receivers belong to that
// namespace whatever thread uses them. The interfaces must exist; lo is brought up, for awaitStamps. What can't be honoured
// is an *OptionError. Frames count as stale until Begin names a run.
func Listen(cfg ReceiveConfig) (*Receivers, error) { return listen(cfg, receiveBuffer) }

// listen gives each socket a receive buffer of so many bytes.
func listen(cfg ReceiveConfig, buffer int) (*Receivers, error) {
	clock, err := newClock()
	if err != nil {
		return nil, err
	}
	r := &Receivers{
		traffic: cfg.Traffic, kind: stamp.UDP4, overhead: familyOf(cfg.Traffic).overhead,
		clock: clock, wake: -1, last: make([]int64, len(cfg.Ifindexes)),
		datagrams: newDatagramSlots(), frames: newFrameSlots(),
	}
	if cfg.Traffic.IPv6() {
		r.kind = stamp.UDP6
	}
	r.pending.out = r.count
	if err := r.open(cfg, buffer); err != nil {
		r.closeSockets()
		return nil, err
	}
	r.renew(0)
	r.reader.Go(r.read)
	return r, nil
}

func (r *Receivers) open(cfg ReceiveConfig, buffer int) (err error) {
	if r.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd for the receivers: %w", err)
	}
	for line, ifindex := range cfg.Ifindexes {
		members, err := openMembers(cfg.Traffic, ifindex, buffer)
		for _, fd := range members {
			r.sockets = append(r.sockets, &receiver{fd: fd, line: line})
		}
		if err != nil {
			return err
		}
		fd, err := openSniffer(cfg.Traffic, ifindex, buffer)
		if err != nil {
			return err
		}
		r.sockets = append(r.sockets, &receiver{fd: fd, line: line, sniffs: true})
	}
	for _, s := range r.sockets {
		if _, err := readDrops(s.fd); err != nil {
			return fmt.Errorf("count what a receiver of line %d drops: %w", s.line, err)
		}
	}
	return awaitStamps()
}

// Begin forgets all counts and starts to count a run. Frames of any other run are stale from now on; so call it when the
// lines are idle and before the first send.
func (r *Receivers) Begin(run uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drain() // what came and what was dropped before
	r.renew(run)
}

func (r *Receivers) renew(run uint32) {
	r.run = arrivals.NewRun(run, r.traffic)
	r.lines = r.lines[:0]
	for range r.last {
		r.lines = append(r.lines, r.run.Line())
	}
}

// WaitIdle waits until no datagram to the scenario's groups has come on any line for quiet; LACPDUs and ARP probes go on
// for ever and do not count. The error is ctx's, with the line that was not idle.
func (r *Receivers) WaitIdle(ctx context.Context, quiet time.Duration) error {
	tick := time.NewTicker(idlePoll)
	defer tick.Stop()
	began := r.clock.now()
	for {
		line, last, now := r.latest()
		if max(last, began)+int64(quiet) <= now {
			return nil
		}
		select {
		case <-ctx.Done():
			why := "none came meanwhile"
			if last > began {
				why = fmt.Sprintf("line %d received one %v ago", line, time.Duration(now-last).Round(time.Millisecond))
			}
			return fmt.Errorf("wait until no datagram came for %v (%s): %w", quiet, why, ctx.Err())
		case <-tick.C:
		}
	}
}

// latest is the line that received a datagram last, and when; 0 when none has. It reads first, so that a reader that was
// held up does not look like a quiet line.
func (r *Receivers) latest() (line int, last, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drain()
	for i, at := range r.last {
		if at > last {
			line, last = i, at
		}
	}
	return line, last, r.clock.now()
}

// End gives what arrived since Begin and before this call. It may be called again; counting goes on.
func (r *Receivers) End() result.Wire {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drain()
	return r.run.Summary(r.lines)
}

// Close stops reading, waits for the reader's end and closes the sockets. It is called once.
func (r *Receivers) Close() error {
	if _, err := unix.Write(r.wake, []byte{7: 1}); err != nil {
		return fmt.Errorf("tell the receivers to end: %w", err)
	}
	r.reader.Wait()
	return r.closeSockets()
}

func (r *Receivers) closeSockets() error {
	var first error
	for _, s := range r.sockets {
		if err := unix.Close(s.fd); err != nil && first == nil {
			first = fmt.Errorf("close a receiver of line %d: %w", s.line, err)
		}
	}
	r.sockets = nil
	if r.wake >= 0 {
		if err := unix.Close(r.wake); err != nil && first == nil {
			first = fmt.Errorf("close the receivers' eventfd: %w", err)
		}
		r.wake = -1
	}
	return first
}
