package traffic

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Config is what a group of senders is to do.
type Config struct {
	Traffic scenarios.Traffic
	Run     uint32 // the number every payload carries
	Ifindex int    // of the interface to send out of: the bond
}

// Group is the senders of one run. Open, Start, Wait and Close are called once each and follow one another; Outq and
// Bypass may be called at any time between Open and Close.
type Group struct {
	cfg     Config
	clock   clock
	senders []*sender
	stop    atomic.Bool
	running sync.WaitGroup
	release []func() // undoes what Start did beside starting senders
	begin   chan struct{}
	start   int64 // CLOCK_MONOTONIC, ns; written before begin is closed
}

// Open opens the socket of each sender in the calling thread's network namespace, sets its options and reads each back.
// What can't be honoured is an *OptionError.
func Open(cfg Config) (*Group, error) {
	clock, err := newClock()
	if err != nil {
		return nil, err
	}
	if err := checkTraffic(cfg.Traffic); err != nil {
		return nil, err
	}
	g := &Group{cfg: cfg, clock: clock, begin: make(chan struct{})}
	for i := range int(cfg.Traffic.Senders) {
		s, err := openSender(cfg, i)
		if err != nil {
			_ = g.Close()
			return nil, err
		}
		s.clock, s.stop = clock, &g.stop
		g.senders = append(g.senders, s)
	}
	return g, nil
}

// checkTraffic refuses what no socket option would.
func checkTraffic(t scenarios.Traffic) error {
	for _, c := range []struct {
		field string
		value int
		low   int
		high  int
	}{
		{"traffic.senders", int(t.Senders), 1, math.MaxUint16},
		{"traffic.batch", t.Batch, 1, 1024}, // UIO_MAXIOV: sendmmsg(2) sends no more at once
		{"traffic.port", t.Port, 1, math.MaxUint16},
	} {
		if c.value < c.low || c.value > c.high {
			return &OptionError{Field: c.field, Value: fmt.Sprint(c.value), Why: fmt.Sprintf("it must be %d to %d", c.low, c.high)}
		}
	}
	if len(t.Groups) == 0 {
		return &OptionError{Field: "traffic.groups", Value: "an empty list", Why: "at least one group is needed"}
	}
	if bool(t.Socket.ZeroCopy) && t.Batch > 1 {
		return &OptionError{Field: "traffic.batch", Value: fmt.Sprint(t.Batch),
			Why: "with zerocopy it must be 1, as a batch that ends short does not tell which buffers the kernel still uses"}
	}
	return checkPayload(t)
}

func openSender(cfg Config, index int) (*sender, error) {
	t := cfg.Traffic
	kind := unix.SOCK_DGRAM | unix.SOCK_CLOEXEC
	if !t.Socket.Blocking {
		kind |= unix.SOCK_NONBLOCK
	}
	fd, err := unix.Socket(unix.AF_INET, kind, unix.IPPROTO_UDP)
	if err != nil {
		return nil, &OptionError{Field: "traffic.senders", Option: "socket", Value: fmt.Sprintf("socket %d of %d", index+1, t.Senders), Err: err}
	}
	s, err := newSender(cfg, index, fd)
	if err != nil {
		_ = unix.Close(fd) // nothing was sent through it
		return nil, err
	}
	return s, nil
}

func newSender(cfg Config, index, fd int) (*sender, error) {
	t := cfg.Traffic
	if err := applyAll(fd, t, cfg.Ifindex); err != nil {
		return nil, err
	}
	sndbuf, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return nil, os.NewSyscallError("getsockopt SO_SNDBUF", err)
	}
	s := &sender{index: index, t: t, fd: fd, sndbuf: sndbuf, q: newErrqueue(fd)}
	s.account = newAccount(t.Socket.Blocking)
	slots, flags := t.Batch, 0
	if t.Socket.ZeroCopy {
		size := t.Payload * max(int(t.Socket.GSO), 1)
		s.zc = newInflight(zerocopyLimit(optmemMax(), memlockMax(), size, int(t.Senders)))
		s.q.completed = s.zc.completed
		slots, flags = len(s.zc.pending), unix.MSG_ZEROCOPY
	}
	if s.m, err = newMessages(t, cfg.Run, index, t.Batch, slots); err != nil {
		return nil, err
	}
	s.w = newSocketWriter(fd, s.m, flags)
	return s, nil
}

// Start starts the senders, each on its own thread, and returns at the moment of the first send. They send for the
// scenario's duration, or until ctx is done. Until Wait returns, GOMAXPROCS is at least their number and two.
func (g *Group) Start(ctx context.Context) {
	unwatch := context.AfterFunc(ctx, func() { g.stop.Store(true) })
	g.release = []func(){raiseProcs(len(g.senders)), func() { unwatch() }}
	var ready sync.WaitGroup
	for _, s := range g.senders {
		ready.Add(1)
		g.running.Go(func() {
			ownThread()
			ready.Done()
			<-g.begin
			s.loop(g.start, g.start+int64(g.cfg.Traffic.Duration))
		})
	}
	ready.Wait()
	g.start = g.clock.now()
	close(g.begin)
}

// BeganAt is the moment of the first send. It is known once Start has returned.
func (g *Group) BeganAt() time.Time { return g.clock.wall(g.start) }

// Outq appends to dst[:0] the bytes each sender's socket is charged for now (SIOCOUTQ), and returns it. It allocates
// nothing when dst has room for all senders.
func (g *Group) Outq(dst []int) []int {
	dst = dst[:0]
	for _, s := range g.senders {
		dst = append(dst, s.outq())
	}
	return dst
}

// Bypass makes every sender send out of another interface from now on.
func (g *Group) Bypass(ifindex int) error {
	for _, s := range g.senders {
		if err := multicastInterface(packetConn(s.fd), ifindex); err != nil {
			return fmt.Errorf("sender %d: IP_MULTICAST_IF interface %d: %w", s.index, ifindex, err)
		}
	}
	return nil
}

// Wait waits until every sender has ended and returns Senders. That is at most 100 ms after the duration or the
// end of the context given to Start.
func (g *Group) Wait() []result.Sender {
	g.running.Wait()
	for _, undo := range g.release {
		undo()
	}
	return g.Senders()
}

// Senders is the account of each sender that has ended. Timestamps and zerocopy completions come in for as long as
// packets are in flight: call it again after the drain for the final figures.
func (g *Group) Senders() []result.Sender {
	all := make([]result.Sender, 0, len(g.senders))
	for _, s := range g.senders {
		all = append(all, s.report())
	}
	return all
}

// Close closes the sockets. The senders must have ended.
func (g *Group) Close() error {
	var first error
	for _, s := range g.senders {
		if err := unix.Close(s.fd); err != nil && first == nil {
			first = os.NewSyscallError("close", err)
		}
	}
	g.senders = nil
	return first
}
