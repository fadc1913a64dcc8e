package traffic

import (
	"context"
	"testing"
	"time"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

func TestBurstSchedule(t *testing.T) {
	const start, period = 1000, 100
	type step struct {
		now        int64
		due        int64
		room, sent int // of 2 messages at once
	}
	for _, c := range []struct {
		name  string
		burst scenarios.Burst
		segs  int
		steps []step
	}{
		{"three packets", scenarios.Burst{Packets: 3, Every: period}, 1, []step{
			{1000, 1000, 2, 2}, {1010, 1000, 1, 1},
			{1010, 1100, 2, 0}, {1099, 1100, 2, 0}, // not yet
			{1100, 1100, 2, 2}, {1101, 1100, 1, 0}, // refused
			{1102, 1100, 1, 1}, {1103, 1200, 2, 0},
		}},
		{"longer than its period", scenarios.Burst{Packets: 2, Every: period}, 1, []step{
			{1000, 1000, 2, 1}, {1230, 1000, 1, 1}, {1250, 1300, 2, 2}, {1300, 1400, 2, 0},
		}},
		{"in sends of two packets", scenarios.Burst{Packets: 4, Every: period}, 2, []step{
			{1000, 1000, 2, 2}, {1001, 1100, 2, 0},
		}},
		{"none", scenarios.Burst{Every: period}, 1, []step{{1000, 1000, 2, 2}, {1234, 1234, 2, 2}}},
	} {
		b := newBurst(c.burst, c.segs, start)
		for i, s := range c.steps {
			if due, room := b.next(s.now), b.room(2); due != s.due || room != s.room {
				t.Fatalf("%s, step %d: due at %d with room for %d, want %d and %d", c.name, i, due, room, s.due, s.room)
			}
			b.sent(s.sent)
		}
	}
}

// Each burst lies in a period of its own, is whole, and begins with its period for all senders.
func TestBursts(t *testing.T) {
	const packets, every, periods, senders = 12, 200 * time.Millisecond, 5, 3
	for _, c := range []struct {
		name   string
		change func(*scenarios.Traffic)
	}{
		{"blocking", func(s *scenarios.Traffic) {}},
		{"non-blocking", func(s *scenarios.Traffic) { s.Socket.Blocking = false }},
		{"batches that do not divide it", func(s *scenarios.Traffic) { s.Batch = 5 }},
		{"gso", func(s *scenarios.Traffic) { s.Socket.GSO = 4 }},
		{"a full send buffer", func(s *scenarios.Traffic) { s.Socket.SndBuf = 4608 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, l line) {
				l.throttle(t, 10e6/8, 1000)
				cfg := l.config(func(s *scenarios.Traffic) {
					s.Senders, s.Payload, s.Duration = senders, 64, scenarios.Duration(periods*every)
					s.Burst = scenarios.Burst{Packets: packets, Every: scenarios.Duration(every)}
					c.change(s)
				})
				ear := l.listen(t)
				defer ear.close()
				g, err := Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = g.Close() }()
				g.Start(t.Context())
				g.Wait()
				drain(t, g)
				ear.hear(cfg.Run, cfg.Traffic.Payload)
				late, all := 0, 0
				for _, s := range g.Senders() {
					bursts := (s.Seqs + packets - 1) / packets
					if bursts < 2 || bursts > periods {
						t.Errorf("sender %d: %d bursts in %d periods", s.Index, bursts, periods)
					}
					last := int64(-1) // period of the burst before
					for seq := range s.Seqs {
						at := ear.sent[uint16(s.Index)][seq] - g.start
						period, within := at/int64(every), time.Duration(at%int64(every))
						if seq%packets == 0 {
							if period <= last || at < 0 {
								t.Fatalf("sender %d: number %d begins a burst in period %d, the burst before was in %d", s.Index, seq, period, last)
							}
							last = period
						}
						if all++; period != last || within > every/2 {
							late++
						}
					}
				}
				if late > all/2 { // a busy machine may be late now and then
					t.Errorf("%d of %d packets were sent after the first half of their period", late, all)
				}
			})
		})
	}
}

// A sender between two bursts ends when it is told to.
func TestBurstsEndWhenCancelled(t *testing.T) {
	inNamespace(t, func(t *testing.T, l line) {
		g, err := Open(l.config(func(s *scenarios.Traffic) {
			s.Senders, s.Duration = 2, scenarios.Duration(time.Hour)
			s.Burst = scenarios.Burst{Packets: 10, Every: scenarios.Duration(time.Hour)}
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		g.Start(ctx)
		time.AfterFunc(50*time.Millisecond, cancel)
		ended := make(chan []result.Sender, 1)
		go func() { ended <- g.Wait() }()
		select {
		case senders := <-ended:
			for _, s := range senders {
				if s.OK != 10 {
					t.Errorf("sender %d: %d sends, want its first burst of 10", s.Index, s.OK)
				}
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the senders did not end")
		}
	})
}
