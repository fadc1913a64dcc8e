package traffic

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// ErrNotCharged means that no packet stayed charged to its socket: the line was not stopped, or something orphans packets.
var ErrNotCharged = errors.New("no packet stayed charged to its socket (SIOCOUTQ): the line was not stopped, or packets are orphaned on their way")

// truesizeSends is how many packets at most measure a charge: enough to fill a driver's ring, of a kernel that orphans
// each packet just before its driver (fc6055a5ba31), and to reach the qdisc, where packets are still charged.
const truesizeSends = 4096

// MeasureTruesize returns the bytes a socket is charged for one send of cfg: the greatest step of SIOCOUTQ between two
// sends on a fresh socket with the scenario's options. The line must be stopped; the packets stay in it
// and carry cfg.Run. Send straight out of a slave: the bond may be what orphans. With GSO a send is one charge for all its segments.
func MeasureTruesize(cfg Config) (int, error) {
	cfg.Traffic.Senders, cfg.Traffic.Batch, cfg.Traffic.Socket.Blocking = 1, 1, false
	cfg.Traffic.Burst, cfg.Traffic.Join = scenarios.Burst{}, false
	g, err := Open(cfg)
	if err != nil {
		return 0, err
	}
	size, err := g.senders[0].truesize()
	if closed := g.Close(); err == nil {
		err = closed
	}
	return size, err
}

func (s *sender) truesize() (int, error) {
	size := 0
	before := s.outq()
	for range truesizeSends {
		if s.zc != nil && s.zc.full() {
			break
		}
		s.m.prepare(1, s.slot(), s.seq, s.clock.now())
		n, errno := s.w.write(1)
		if errno == unix.EAGAIN || errno == unix.ENOBUFS {
			break
		}
		if errno == unix.EIO && s.m.segments > 1 {
			return 0, &OptionError{Field: "traffic.socket.gso", Option: "UDP_SEGMENT", Value: fmt.Sprint(s.m.segments), Err: errno,
				Why: "the interface has no checksum offload, which GSO needs (udp_send_skb, net/ipv4/udp.c)"}
		}
		if n != 1 {
			return 0, fmt.Errorf("measuring truesize: send of %d bytes: %s", s.t.Payload, describe(errno))
		}
		s.advance(1)
		after := s.outq()
		size, before = max(size, after-before), after
	}
	return checkTruesize(size, s.t.Payload*s.m.segments)
}

// checkTruesize refuses what can't be one packet's charge: less than its bytes, or far more than any rounding up to
// pages and the skb itself (some 800 bytes) make of it.
func checkTruesize(size, payload int) (int, error) {
	const skb = 4096
	switch {
	case size == 0:
		return 0, ErrNotCharged
	case size < payload || size > 16*payload+skb:
		return 0, fmt.Errorf("a packet of %d bytes was charged %d: that is no truesize", payload, size)
	}
	return size, nil
}
