package traffic

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/scenarios"
)

// intake is the sockets of receivers and the one reader of them all. What arrives goes to a count, in order.
type intake struct {
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
	to        counts
	last      []int64 // when a datagram was last read, by line; CLOCK_MONOTONIC, ns
	// tookDatagrams and tookFrames are how many have been read.
	tookDatagrams, tookFrames uint64
}

// counts is where arrivals are counted, in the order in which they came. Times are CLOCK_MONOTONIC, ns.
type counts interface {
	// Datagram counts a datagram that came on a line, in a frame of size bytes.
	Datagram(line int, d stamp.Datagram, kind stamp.Kind, size int, at int64)
	// Foreign counts another frame.
	Foreign(line int, kind stamp.Kind, size int, at int64)
	// Overflow counts datagrams that a socket of the line had no room for: before the datagram that is counted next, or
	// before now.
	Overflow(line int, n uint64)
}

// open opens the sockets with a receive buffer of so many bytes each. Nothing is read before start, which needs a count.
func (r *intake) open(cfg ReceiveConfig, buffer int) (err error) {
	if r.clock, err = newClock(); err != nil {
		return err
	}
	r.traffic, r.kind, r.overhead = cfg.Traffic, stamp.UDP4, familyOf(cfg.Traffic).overhead
	if cfg.Traffic.IPv6() {
		r.kind = stamp.UDP6
	}
	r.wake, r.last = -1, make([]int64, len(cfg.Ifindexes))
	r.datagrams, r.frames = newDatagramSlots(), newFrameSlots()
	r.pending.out = r.count
	if err := r.openSockets(cfg, buffer); err != nil {
		_ = r.closeSockets()
		return err
	}
	return nil
}

func (r *intake) openSockets(cfg ReceiveConfig, buffer int) (err error) {
	if r.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd for the receivers: %w", err)
	}
	for line, ifindex := range cfg.Ifindexes {
		members, err := openMembers(cfg.Traffic, cfg.heard(line), buffer)
		for _, fd := range members {
			r.sockets = append(r.sockets, &receiver{fd: fd, line: line})
		}
		if err != nil {
			return err
		}
		if cfg.WithoutFrames {
			continue
		}
		fd, err := openSniffer(cfg.Traffic, cfg.VLAN, ifindex, buffer)
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

// start begins to read.
func (r *intake) start() { r.reader.Go(r.read) }

// Close stops reading, waits for the reader's end and closes the sockets. It is called once.
func (r *intake) Close() error {
	if _, err := unix.Write(r.wake, []byte{7: 1}); err != nil {
		return fmt.Errorf("tell the receivers to end: %w", err)
	}
	r.reader.Wait()
	return r.closeSockets()
}

func (r *intake) closeSockets() error {
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
