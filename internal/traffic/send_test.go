package traffic

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// run opens, sends, waits until the sockets are charged nothing, and closes.
func run(t *testing.T, cfg Config) []result.Sender {
	t.Helper()
	g, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	g.Start(t.Context())
	g.Wait()
	drain(t, g)
	return g.Senders()
}

func drain(t *testing.T, g *Group) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, n := range g.Outq(nil) {
			left += n
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still charged to the sockets", left)
		}
	}
}

func TestEveryPacketArrivesOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*scenarios.Traffic)
	}{
		{"one by one", func(s *scenarios.Traffic) {}},
		{"batches", func(s *scenarios.Traffic) { s.Batch = 8 }},
		{"small batches, non-blocking", func(s *scenarios.Traffic) { s.Batch, s.Socket.Blocking = 3, false }},
		{"timestamps", func(s *scenarios.Traffic) { s.Socket.TxTimestamping = true }},
		{"zerocopy", func(s *scenarios.Traffic) { s.Socket.ZeroCopy = true }},
		{"gso", func(s *scenarios.Traffic) { s.Socket.GSO = 4 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, l line) {
				cfg := l.config(func(s *scenarios.Traffic) {
					s.Senders, s.Groups = 2, l.groups
					s.Rate = scenarios.Rate{PacketsPerSecond: 4000}
					c.change(s)
				})
				ear := l.listen(t)
				defer ear.close()
				senders := run(t, cfg)
				ear.hear(cfg.Run, cfg.Traffic.Payload)
				segments := uint64(max(cfg.Traffic.Socket.GSO, 1))
				for i, s := range senders {
					if s.OK == 0 || s.Seqs != segments*s.OK || len(s.Other) != 0 || s.Hidden+s.ENOBUFS != 0 {
						t.Errorf("sender %d: %+v: want every send taken", i, s)
					}
					for seq := range s.Seqs {
						if n := ear.got[uint16(i)][seq]; n != 1 {
							t.Fatalf("sender %d: number %d of %d arrived %d times", i, seq, s.Seqs, n)
						}
					}
					if got := uint64(len(ear.got[uint16(i)])); got != s.Seqs {
						t.Errorf("sender %d: %d numbers arrived, %d were used", i, got, s.Seqs)
					}
					if bool(cfg.Traffic.Socket.TxTimestamping) != (s.Timestamps == s.OK) {
						t.Errorf("sender %d: %d timestamps for %d sends", i, s.Timestamps, s.OK)
					}
					if cfg.Traffic.Socket.ZeroCopy && s.Copied+s.ZeroCopied != s.OK {
						t.Errorf("sender %d: %d + %d zerocopy completions for %d sends", i, s.Copied, s.ZeroCopied, s.OK)
					}
				}
				lo, hi := 1<<60, 0
				for _, n := range ear.to {
					lo, hi = min(lo, n), max(hi, n)
				}
				if len(ear.to) != 3 || hi-lo > 2*int(segments) {
					t.Errorf("packets by group %v, want three alike", ear.to)
				}
			})
		})
	}
}

// A socket with a small buffer is throttled by the line and loses nothing.
func TestBackPressure(t *testing.T) {
	for _, c := range []struct {
		name     string
		blocking bool
		batch    int
	}{{"blocking", true, 1}, {"blocking, batches", true, 16}, {"non-blocking", false, 1}, {"non-blocking, batches", false, 16}} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, l line) {
				l.throttle(t, 10e6/8, 1000)
				cfg := l.config(func(s *scenarios.Traffic) { s.Batch, s.Socket.Blocking = c.batch, c.blocking })
				s := run(t, cfg)[0]
				sent, dropped, _ := l.child(t)
				if dropped != 0 || s.ENOBUFS != 0 {
					t.Errorf("the qdisc dropped %d, the sender was told of %d; want none", dropped, s.ENOBUFS)
				}
				if s.OK != sent || s.OK == 0 {
					t.Errorf("%d sends were taken, %d packets passed the qdisc", s.OK, sent)
				}
				if s.BlockedMS < s.ElapsedMS/2 {
					t.Errorf("blocked %.0f of %.0f ms on a full line", s.BlockedMS, s.ElapsedMS)
				}
				if c.blocking != (s.EAGAIN == 0) {
					t.Errorf("%d refusals", s.EAGAIN)
				}
				if c.blocking && s.Calls > 3*s.OK {
					t.Errorf("%d calls for %d sends: it does not wait in the kernel", s.Calls, s.OK)
				}
				if s.MaxOutq < cfg.Traffic.Payload || s.MaxOutq > 2*s.SndBuf {
					t.Errorf("greatest outq %d with a send buffer of %d", s.MaxOutq, s.SndBuf)
				}
				if s.Seqs != s.OK+s.Hidden {
					t.Errorf("%d numbers used for %d sends and %d hidden", s.Seqs, s.OK, s.Hidden)
				}
			})
		})
	}
}

// A socket with a buffer larger than the queue loses packets, and is told of each.
func TestDropsAreTold(t *testing.T) {
	for _, batch := range []int{1, 16} {
		inBoth(t, func(t *testing.T, l line) {
			l.throttle(t, 10e6/8, 50)
			cfg := l.config(func(s *scenarios.Traffic) { s.Batch, s.Senders, s.Socket.SndBufForce = batch, 2, 8<<20 })
			ear := l.listen(t)
			defer ear.close()
			var ok, enobufs, hidden, seqs, arrived uint64
			for i, s := range run(t, cfg) {
				ok, enobufs, hidden, seqs = ok+s.OK, enobufs+s.ENOBUFS, hidden+s.Hidden, seqs+s.Seqs
				if i == 0 {
					ear.hear(cfg.Run, cfg.Traffic.Payload)
				}
				arrived += uint64(len(ear.got[uint16(i)]))
			}
			sent, dropped, backlog := l.child(t)
			if dropped == 0 {
				t.Fatalf("batch %d: nothing was dropped", batch)
			}
			if into := sent + dropped + backlog; ok+enobufs > into || ok+enobufs+hidden < into {
				t.Errorf("batch %d: ok %d + ENOBUFS %d (+ hidden %d), but %d packets entered the qdisc", batch, ok, enobufs, hidden, into)
			}
			if batch == 1 && hidden != 0 {
				t.Errorf("%d hidden with batch 1", hidden)
			}
			if gaps := seqs - arrived; gaps < dropped || gaps > dropped+hidden {
				t.Errorf("batch %d: %d numbers are missing, %d drops were counted and %d sends hidden", batch, gaps, dropped, hidden)
			}
		})
	}
}

func TestEndsWhenCancelled(t *testing.T) {
	for _, blocking := range []bool{true, false} {
		inNamespace(t, func(t *testing.T, l line) {
			l.throttle(t, 1000, 1000) // a packet a second
			g, err := Open(l.config(func(s *scenarios.Traffic) {
				s.Socket.Blocking, s.Duration, s.Senders = blocking, scenarios.Duration(time.Hour), 4
			}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			g.Start(ctx)
			for deadline := time.Now().Add(10 * time.Second); slices.Min(g.Outq(nil)) < 60000; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the senders did not fill their buffers")
				}
			}
			cancel()
			ended := make(chan []result.Sender, 1)
			go func() { ended <- g.Wait() }()
			select {
			case senders := <-ended:
				if s := senders[0]; s.OK == 0 || s.Seqs != s.OK {
					t.Errorf("blocking %v: %+v", blocking, s)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the senders did not end")
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBypass(t *testing.T) {
	for name, calm := range map[string]int{"x/net": calmCalls, "sendmmsg": 0} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, l line) {
				cfg := l.config(func(s *scenarios.Traffic) {
					s.Groups, s.Rate = l.groups[1:2], scenarios.Rate{PacketsPerSecond: 100} // of link-local scope with IPv6
				})
				if l.family == &inet6 {
					addIPv6(t, l.rx, "2001:db8::2/64")
				}
				g, err := Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				g.senders[0].w.(*socketWriter).calm = calm
				if err := g.Bypass(l.rx.Attrs().Index); err != nil {
					t.Fatal(err)
				}
				ear := l.listen(t)
				defer ear.close()
				g.Start(t.Context())
				s := g.Wait()[0]
				if err := g.Bypass(9999); err == nil {
					t.Error("an interface that is not there was accepted")
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
				ear.hear(cfg.Run, cfg.Traffic.Payload)
				if n := len(ear.got[0]); s.OK == 0 || n != 0 || len(s.Other) != 0 {
					t.Errorf("%+v: and %d packets went out of the first interface", s, n)
				}
			})
		})
	}
}

// The sampler must get to run beside many senders, and nothing of that may be left behind.
func TestProcsAreRaisedAndRestored(t *testing.T) {
	inNamespace(t, func(t *testing.T, l line) {
		before := runtime.GOMAXPROCS(0)
		senders := before + 3
		g, err := Open(l.config(func(s *scenarios.Traffic) { s.Senders = scenarios.Senders(senders) }))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		g.Start(ctx)
		during := runtime.GOMAXPROCS(0)
		cancel()
		g.Wait()
		if after := runtime.GOMAXPROCS(0); during <= senders || after != before {
			t.Errorf("GOMAXPROCS %d before, %d beside %d senders, %d after", before, during, senders, after)
		}
	})
}

// The moment that Start returns at is that of the first send.
func TestNothingIsSentBeforeTheStart(t *testing.T) {
	inNamespace(t, func(t *testing.T, l line) {
		cfg := l.config(func(s *scenarios.Traffic) {
			s.Senders, s.Duration, s.Payload = 4, scenarios.Duration(20*time.Millisecond), 32
		})
		ear := l.listen(t)
		defer ear.close()
		g, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close() }()
		g.Start(t.Context())
		if back := time.Since(g.BeganAt()); back < 0 {
			t.Errorf("Start returned %v before the first send", -back)
		}
		g.Wait()
		ear.hear(cfg.Run, cfg.Traffic.Payload)
		for i, s := range g.Senders() {
			if first, heard := ear.sent[uint16(i)][0]; s.OK > 0 && (!heard || first < g.start) {
				t.Errorf("sender %d began %v before the start (heard: %v)", i, time.Duration(g.start-first), heard)
			}
		}
	})
}
