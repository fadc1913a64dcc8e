package traffic

import (
	"testing"
	"time"

	"bondrepro/scenarios"
)

// raceDetector tells that allocations are not ours alone: see race_test.go.
var raceDetector bool

// opened is a sender ready to send by hand.
func opened(t testing.TB, cfg Config) *Group {
	t.Helper()
	g, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	for _, s := range g.senders {
		s.end = s.clock.now() + int64(time.Minute)
	}
	return g
}

func TestSendingAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes sync.Pool allocate")
	}
	for _, c := range []struct {
		name   string
		change func(*scenarios.Traffic)
	}{
		{"one by one", func(s *scenarios.Traffic) {}},
		{"batches", func(s *scenarios.Traffic) { s.Batch = 16 }},
		{"timestamps", func(s *scenarios.Traffic) { s.Socket.TxTimestamping = true }},
		{"zerocopy", func(s *scenarios.Traffic) { s.Socket.ZeroCopy = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, l line) {
				g := opened(t, l.config(c.change))
				s, outqs := g.senders[0], make([]int, 0, 1)
				if n := testing.AllocsPerRun(500, func() {
					if s.zc != nil && s.zc.full() {
						s.awaitBuffer()
					}
					s.try(s.clock.now())
					outqs = g.Outq(outqs)
				}); n != 0 {
					t.Errorf("%v allocations a call", n)
				}
				if s.zc != nil && uint64(s.zc.next) != s.account.ok {
					t.Errorf("%d zerocopy numbers for %d sends", s.zc.next, s.account.ok)
				}
				if s.account.ok < 500 {
					t.Errorf("only %d sends were taken", s.account.ok)
				}
			})
		})
	}
}

// x/net allocates an error each time it fails; a socket that keeps refusing must not pay for that.
func TestRefusalsAllocateNothing(t *testing.T) {
	inBoth(t, func(t *testing.T, l line) {
		l.throttle(t, 1000, 1000)
		g := opened(t, l.config(func(s *scenarios.Traffic) { s.Socket.Blocking = false }))
		s := g.senders[0]
		for s.account.eagain == 0 {
			s.try(s.clock.now())
		}
		if n := testing.AllocsPerRun(500, func() { s.try(s.clock.now()) }); n != 0 {
			t.Errorf("%v allocations a refusal", n)
		}
		// AllocsPerRun rounds down, so that now and then an error of x/net would not show.
		if w := s.w.(*socketWriter); w.calm != 0 {
			t.Errorf("a socket that refuses counts as calm for %d calls", w.calm)
		}
		if s.account.eagain < 500 {
			t.Errorf("only %d refusals", s.account.eagain)
		}
	})
}
