package traffic

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// The senders' threads are woken one after another: they are given this long in all, and this long each, to be asleep
// until the moment of the first send.
const (
	startLead = time.Millisecond
	wakeLead  = 50 * time.Microsecond
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
	members members
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
	if err := checkReach(cfg.Traffic, cfg.Ifindex); err != nil {
		_ = g.Close()
		return nil, err
	}
	if cfg.Traffic.Join {
		if g.members, err = join(cfg.Traffic, cfg.Ifindex); err != nil {
			_ = g.Close()
			return nil, err
		}
	}
	return g, nil
}

func openSender(cfg Config, index int) (*sender, error) {
	t := cfg.Traffic
	kind := unix.SOCK_DGRAM | unix.SOCK_CLOEXEC
	if !t.Socket.Blocking {
		kind |= unix.SOCK_NONBLOCK
	}
	fd, err := unix.Socket(familyOf(t).domain, kind, unix.IPPROTO_UDP)
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

// bindAny gives a socket its source port now and not with its first send, so that it can be told.
func bindAny(fd int, f *family) (port int, err error) {
	refused := &OptionError{Field: "traffic.senders", Option: "bind", Value: "a source port"}
	if refused.Err = unix.Bind(fd, f.unixAddr(netip.AddrPortFrom(f.any, 0))); refused.Err != nil {
		return 0, refused
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return portOf(name), nil
}

func portOf(name unix.Sockaddr) int {
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return name.Port
	case *unix.SockaddrInet6:
		return name.Port
	}
	return 0
}

func newSender(cfg Config, index, fd int) (*sender, error) {
	t, f := cfg.Traffic, familyOf(cfg.Traffic)
	if err := applyAll(fd, t, cfg.Ifindex); err != nil {
		return nil, err
	}
	sndbuf, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return nil, os.NewSyscallError("getsockopt SO_SNDBUF", err)
	}
	port, err := bindAny(fd, f)
	if err != nil {
		return nil, err
	}
	s := &sender{index: index, t: t, family: f, fd: fd, port: port, sndbuf: sndbuf, q: newErrqueue(fd, f)}
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
	s.w = newSocketWriter(fd, f, s.m, flags)
	return s, nil
}

// Start starts the senders, each on its own thread, and returns at the moment of the first send. They begin together, as
// they begin each burst: asleep until the same moment. They send for the scenario's duration, or until ctx is done. Until Wait returns, GOMAXPROCS is at least their number and two.
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
			sleepUntil(g.start)
			s.loop(g.start, g.start+int64(g.cfg.Traffic.Duration))
		})
	}
	ready.Wait()
	g.start = g.clock.now() + int64(startLead) + int64(len(g.senders))*int64(wakeLead)
	close(g.begin)
	sleepUntil(g.start)
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
		if err := s.family.multicastInterface(s.fd, ifindex); err != nil {
			return fmt.Errorf("sender %d: %s interface %d: %w", s.index, s.family.ifName, ifindex, err)
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

// Close closes the sockets, which ends memberships. The senders must have ended.
func (g *Group) Close() error {
	var first error
	fds := g.members
	for _, s := range g.senders {
		fds = append(fds, s.fd)
	}
	for _, fd := range fds {
		if err := unix.Close(fd); err != nil && first == nil {
			first = os.NewSyscallError("close", err)
		}
	}
	g.senders, g.members = nil, nil
	return first
}
