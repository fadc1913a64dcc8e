package traffic

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"bondrepro/scenarios"
)

// What a sender says of itself is what is on the wire.
func TestOnTheWire(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*scenarios.Traffic)
	}{
		{"one by one", func(s *scenarios.Traffic) {}},
		{"batches", func(s *scenarios.Traffic) { s.Batch = 4 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, l line) {
				cfg := l.config(func(s *scenarios.Traffic) {
					s.Groups, s.Rate = l.groups, scenarios.Rate{PacketsPerSecond: 500}
					c.change(s)
				})
				ear := l.listen(t)
				defer ear.close()
				s := run(t, cfg)[0]
				ear.hear(cfg.Run, cfg.Traffic.Payload)
				for _, g := range l.groups {
					if ear.to[netip.AddrPortFrom(netip.MustParseAddr(g), 6000)] == 0 {
						t.Errorf("nothing to %s: %v", g, ear.to)
					}
				}
				frame := ear.frame
				if len(frame) != cfg.Traffic.Payload+l.family.overhead {
					t.Fatalf("a frame of %d bytes for a payload of %d and an overhead of %d", len(frame), cfg.Traffic.Payload, l.family.overhead)
				}
				at := map[*family]struct{ hops, port int }{&inet4: {22, 34}, &inet6: {21, 54}}[l.family]
				if hops := frame[at.hops]; hops != 1 {
					t.Errorf("TTL or hop limit %d, want 1", hops)
				}
				if port := int(binary.BigEndian.Uint16(frame[at.port:])); port != s.Port || port == 0 {
					t.Errorf("source port %d, the sender says %d", port, s.Port)
				}
				if group := frame[0] & 1; group != 1 {
					t.Errorf("destination % x is no group address", frame[:6])
				}
			})
		})
	}
}

// Each sender has a port of its own from the time it is opened.
func TestPortsAreKnownBeforeTheFirstSend(t *testing.T) {
	inBoth(t, func(t *testing.T, l line) {
		g := opened(t, l.config(func(s *scenarios.Traffic) { s.Senders = 4 }))
		seen := map[int]bool{}
		for _, s := range g.Senders() {
			if s.Port == 0 || seen[s.Port] {
				t.Errorf("sender %d has port %d, those before have %v", s.Index, s.Port, seen)
			}
			seen[s.Port] = true
		}
	})
}
