package traffic

import (
	"context"
	"fmt"
	"time"

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
	// VLAN is the 802.1Q id that the datagrams' frames have; 0: none. Members are then the interfaces of that VLAN, one on
	// each of Ifindexes: datagrams are heard by them, all other frames by Ifindexes.
	VLAN    int
	Members []int
	// WithoutFrames leaves out what is no datagram of the groups, where there is no right to see it (CAP_NET_RAW).
	WithoutFrames bool
}

// Receivers count what arrives at the far ends of the slaves: datagrams by UDP sockets that are members of the scenario's
// groups, all other frames by packet sockets. Begin, WaitIdle and End may be called from any goroutine.
//
// Each arrival has the time at which the kernel took it from its interface, and all are counted in that order, over all
// lines. Datagrams in the scenario's groups count once however many sockets share the groups. Datagrams to the scenario's
// port and a group that is not the scenario's are not seen at all.
type Receivers struct {
	intake
	run   *arrivals.Run // mu is held
	lines oneRun        // likewise
}

// oneRun counts one run, whose number is known.
type oneRun []*arrivals.Line

func (r oneRun) Datagram(line int, d stamp.Datagram, kind stamp.Kind, size int, at int64) {
	r[line].Datagram(d, kind, size, at)
}

func (r oneRun) Foreign(line int, kind stamp.Kind, size int, at int64) {
	r[line].Foreign(kind, size, at)
}

func (r oneRun) Overflow(line int, n uint64) { r[line].Overflow(n) }

// Listen opens the sockets in the calling thread's network namespace and starts to read; the receivers belong to that
// namespace whatever thread uses them. The interfaces must exist; lo is brought up, for awaitStamps. What can't be honoured
// is an *OptionError. Frames count as stale until Begin names a run.
func Listen(cfg ReceiveConfig) (*Receivers, error) { return listen(cfg, receiveBuffer) }

// listen gives each socket a receive buffer of so many bytes.
func listen(cfg ReceiveConfig, buffer int) (*Receivers, error) {
	r := &Receivers{}
	if err := r.intake.open(cfg, buffer); err != nil {
		return nil, err
	}
	r.renew(0)
	r.start()
	return r, nil
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
	r.to = r.lines
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
