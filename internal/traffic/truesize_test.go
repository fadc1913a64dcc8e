package traffic

import (
	"errors"
	"testing"
	"time"

	"bondrepro/scenarios"
)

func TestTruesize(t *testing.T) {
	inBoth(t, func(t *testing.T, l line) {
		if _, err := MeasureTruesize(l.config(nil)); !errors.Is(err, ErrNotCharged) {
			t.Errorf("on a line that takes everything: %v, want ErrNotCharged", err)
		}
		l.throttle(t, 1000, 1000)
		small, err := MeasureTruesize(l.config(func(s *scenarios.Traffic) { s.Payload = 1400 }))
		if err != nil {
			t.Fatal(err)
		}
		if small != 2304 {
			t.Errorf("1400 bytes are charged %d, other kernels charge 2304", small)
		}
		gso, err := MeasureTruesize(l.config(func(s *scenarios.Traffic) {
			s.Payload, s.Socket.GSO = 1400, 10
			// Neither could be had here, and neither is asked for.
			s.Burst, s.Join = scenarios.Burst{Packets: 1, Every: scenarios.Duration(time.Hour)}, true
			sysctlSet(t, "net.ipv4.igmp_max_memberships", "0")
		}))
		if err != nil {
			t.Fatal(err)
		}
		if gso < 14000 {
			t.Errorf("a send of 10 segments of 1400 bytes is charged %d", gso)
		}
	})
}

func TestTruesizeMustBePlausible(t *testing.T) {
	for _, c := range []struct {
		size, payload int
		ok            bool
	}{{2304, 1400, true}, {768, 32, true}, {1399, 1400, false}, {0, 1400, false}, {1 << 20, 1400, false}} {
		if got, err := checkTruesize(c.size, c.payload); (err == nil) != c.ok || c.ok && got != c.size {
			t.Errorf("%d bytes for a packet of %d: %d, %v", c.size, c.payload, got, err)
		}
	}
}
