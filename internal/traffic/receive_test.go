package traffic

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

const testPayload = 1000 // bytes

// 25 groups do not fit in one socket of IPv4 (igmp_max_memberships).
func TestEachLineIsCounted(t *testing.T) {
	betweenNamespaces(t, 2, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(25)
		r := p.listen(t, traffic)
		r.Begin(7)
		for seq := range uint64(100) {
			if seq == 50 {
				continue // lost
			}
			p.send(t, int(seq%2), traffic.Groups[seq%25], stamp.Header{Run: 7, Sender: 0, Seq: seq})
		}
		// The sender 1: a duplicate, one late on its line and one late on another line.
		for _, x := range []struct {
			line, seq uint64
		}{{0, 0}, {0, 1}, {0, 1}, {0, 4}, {0, 3}, {0, 7}, {1, 6}, {1, 8}} {
			p.send(t, int(x.line), traffic.Groups[24], stamp.Header{Run: 7, Sender: 1, Seq: x.seq})
		}
		w := settled(t, r)
		want := []result.WireSender{
			{Index: 0, Unique: 99, Beyond: 100},
			{Index: 1, Unique: 7, Duplicates: 1, Reordered: 1, Crossed: 2, Beyond: 9},
		}
		if d := cmp.Diff(want, w.Senders); d != "" {
			t.Errorf("senders (-want +got):\n%s", d)
		}
		for i, ours := range []uint64{49 + 6, 50 + 2} {
			s := w.Slaves[i]
			if s.Ours != ours || s.Stale != 0 || s.Overflow != 0 {
				t.Errorf("line %d: %+v, want %d of ours", i, s, ours)
			}
			if last := len(s.CumBytes) - 1; last < 0 || s.CumBytes[last] != ours*uint64(testPayload+p.family.overhead) {
				t.Errorf("line %d: %v bytes, want the layer-2 bytes of %d frames", i, s.CumBytes, ours)
			}
			if n := s.Ours + sum(s.Foreign); s.Frames != n {
				t.Errorf("line %d: %d frames, want %d", i, s.Frames, n)
			}
			if len(s.Flows) != []int{25 + 1, 25 + 1}[i] {
				t.Errorf("line %d: %d flows: %v", i, len(s.Flows), s.Flows)
			}
		}
		for _, f := range w.Slaves[0].Flows {
			if want := map[bool]uint64{true: 6, false: 2}[f.Sender == 1]; f.Frames != want && f.Group != 0 {
				t.Errorf("flow %+v, want %d frames", f, want)
			}
		}
	})
}

func sum(foreign map[string]uint64) (n uint64) {
	for _, x := range foreign {
		n += x
	}
	return n
}

func TestFramesOfAnotherRunAreStale(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(1)
		r := p.listen(t, traffic)
		r.Begin(7)
		p.send(t, 0, traffic.Groups[0], stamp.Header{Run: 7})
		if s := settled(t, r).Slaves[0]; s.Ours != 1 || s.Stale != 0 {
			t.Errorf("run 7: %+v", s)
		}
		p.send(t, 0, traffic.Groups[0], stamp.Header{Run: 7, Seq: 1}) // Begin forgets it, read or not
		r.Begin(8)
		for seq := range uint64(3) {
			p.send(t, 0, traffic.Groups[0], stamp.Header{Run: 7, Seq: 2 + seq})
		}
		p.send(t, 0, traffic.Groups[0], stamp.Header{Run: 8})
		for range 2 {
			if s := settled(t, r).Slaves[0]; s.Ours != 1 || s.Stale != 3 {
				t.Errorf("run 8: %+v, want 1 of ours and 3 stale", s)
			}
		}
	})
}

// What does not fit in the receive buffer is counted, also when no datagram comes after it, and belongs to its run.
func TestOverflowIsCounted(t *testing.T) {
	betweenNamespaces(t, 2, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(1)
		r := p.listen(t, traffic, 4096)
		for run := range uint32(3) {
			const sent = 200
			r.Begin(run + 1)
			r.mu.Lock() // the reader reads nothing
			for seq := range uint64(sent) {
				p.send(t, 0, traffic.Groups[0], stamp.Header{Run: run + 1, Seq: seq})
			}
			r.mu.Unlock()
			w := settled(t, r)
			if s := w.Slaves[0]; s.Overflow == 0 || s.Ours == 0 || s.Ours+s.Overflow != sent {
				t.Errorf("run %d: %d of %d arrived and %d overflowed", run, s.Ours, sent, s.Overflow)
			}
			if s := w.Slaves[1]; s.Overflow != 0 {
				t.Errorf("run %d: the idle line has overflowed: %+v", run, s)
			}
		}
	})
}

// The count that comes with a datagram is used as well: it tells of a wrap that happens between two looks.
func TestDropsComeWithADatagram(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(1)
		r := p.listen(t, traffic, 4096)
		r.Begin(1)
		r.mu.Lock()
		defer r.mu.Unlock()
		for range 2 {
			for range 100 {
				p.send(t, 0, traffic.Groups[0], stamp.Header{Run: 1})
			}
			r.pass()
		}
		s := r.sockets[0]
		if all, err := readDrops(s.fd); err != nil || s.drops.seen == 0 || s.drops.seen >= all {
			t.Errorf("a datagram told of %d drops and the socket of %d (%v): want some, then more", s.drops.seen, all, err)
		}
		r.drain()
		if l := r.run.Summary(r.lines).Slaves[0]; l.Ours+l.Overflow != 200 {
			t.Errorf("%d arrived and %d overflowed of 200", l.Ours, l.Overflow)
		}
	})
}

func TestDropCountsWrap(t *testing.T) {
	d := drops{seen: 0xfffffff0}
	for _, c := range []struct {
		now  uint32
		more uint64
	}{{0xfffffff8, 8}, {0xfffffff4, 0}, {4, 12}, {0xffffffff, 0}, {4, 0}, {5, 1}} {
		if got := d.advance(c.now); got != c.more {
			t.Errorf("%#x: %d more, want %d", c.now, got, c.more)
		}
	}
}

// Another socket on the same port is a member of more groups, and hears its own.
func TestGroupsOfOthersAreNotHeard(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(26)
		theirs := traffic.Groups[25]
		traffic.Groups = traffic.Groups[:25]
		r := p.listen(t, traffic)
		var others []int
		var err error
		p.away(func() {
			other := traffic
			other.Groups = append(scenarios.Groups{theirs}, traffic.Groups[:3]...)
			others, err = openMembers(other, p.rx[0], receiveBuffer)
		})
		for _, fd := range others {
			defer unix.Close(fd)
		}
		if err != nil {
			t.Error(err)
			return
		}
		r.Begin(7)
		for seq := range uint64(20) {
			p.send(t, 0, theirs, stamp.Header{Run: 7, Seq: seq})
			p.send(t, 0, traffic.Groups[seq], stamp.Header{Run: 7, Seq: seq})
		}
		if w := settled(t, r); w.Slaves[0].Ours != 20 || w.Senders[0].Duplicates != 0 || w.Slaves[0].Foreign["damaged"] != 0 {
			t.Errorf("%+v, %+v: want 20 of ours, once", w.Slaves[0], w.Senders)
		}
		if n := newDatagramSlots().receive(others[0]); n < 20 {
			t.Errorf("the other socket has heard %d datagrams: what is tested here did not arrive", n)
		}
	})
}

// A membership limit of 3 takes nine sockets; each datagram comes once all the same, and in order.
func TestGroupsSpreadOverSockets(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		if p.family == &inet6 {
			t.Skip("IPv6 bounds the memberships of a socket by memory only")
		}
		p.away(func() { sysctlSet(t, "net.ipv4.igmp_max_memberships", "3") })
		traffic := p.traffic(25)
		r := p.listen(t, traffic)
		if n := len(r.sockets); n != 9+1 {
			t.Errorf("%d sockets, want 9 and the packet socket", n)
		}
		r.Begin(7)
		const sent = 5000
		for seq := range uint64(sent) {
			p.send(t, 0, traffic.Groups[seq%25], stamp.Header{Run: 7, Seq: seq})
		}
		if got := settled(t, r).Senders[0]; got != (result.WireSender{Unique: sent, Beyond: sent}) {
			t.Errorf("%+v, want %d in order", got, sent)
		}
	})
}

// Sockets that hold more than one pass reads are counted in the order of arrival, too.
func TestLongQueuesAreCountedInOrder(t *testing.T) {
	betweenNamespaces(t, 2, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(25)
		r := p.listen(t, traffic)
		r.Begin(7)
		r.mu.Lock() // the reader reads nothing
		defer r.mu.Unlock()
		const sent = 1000
		for seq := range uint64(sent) {
			p.send(t, int(seq%2), traffic.Groups[seq%25], stamp.Header{Run: 7, Seq: seq})
			p.send(t, 1, traffic.Groups[0], stamp.Header{Run: 7, Sender: 1, Seq: seq}) // line 1 is the longer
		}
		time.Sleep(3 * hold)
		for emptied := false; !emptied; {
			var complete int64
			complete, emptied = r.pass()
			r.pending.releaseOld(complete - int64(hold))
		}
		r.drain()
		want := []result.WireSender{{Unique: sent, Beyond: sent}, {Index: 1, Unique: sent, Beyond: sent}}
		if d := cmp.Diff(want, r.run.Summary(r.lines).Senders); d != "" {
			t.Errorf("senders (-want +got):\n%s", d)
		}
	})
}

// When the realtime clock is set back, what came before is not held until it is that late again.
func TestAStepOfTheClock(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		r := p.listen(t, p.traffic(1))
		r.Begin(7)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pass()
		const step = int64(time.Hour)
		r.offset += step
		r.pending.waiting = append(r.pending.waiting, arrival{at: time.Now().UnixNano() + step, kind: stamp.ARP, size: 42})
		complete, _ := r.pass()
		r.pending.releaseOld(complete - int64(hold))
		w := r.run.Summary(r.lines)
		if n := w.Slaves[0].Foreign["arp"]; n != 1 {
			t.Errorf("%d frames from before the step are counted, want 1", n)
		}
		if at := r.offset; (time.Duration(at) - time.Duration(time.Now().UnixNano()-r.clock.now())).Abs() > time.Minute {
			t.Errorf("the offset of the clocks is still that of before the step")
		}
	})
}

// Several senders over several lines: everything arrives, and nothing out of order.
func TestReceiversAgreeWithTheSenders(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(25)
		traffic.Senders, traffic.Batch = 4, 4
		traffic.Duration = scenarios.Duration(300 * time.Millisecond)
		traffic.Rate = scenarios.Rate{PacketsPerSecond: 20000}
		traffic.Socket = scenarios.Socket{Blocking: true, SndBuf: 65536}
		r := p.listen(t, traffic)
		r.Begin(7)
		senders := run(t, Config{Traffic: traffic, Run: 7, Ifindex: p.tx[0].Attrs().Index})
		w := settled(t, r)
		for i, s := range senders {
			want := result.WireSender{Index: i, Unique: s.OK, Beyond: s.Seqs}
			if s.OK == 0 || w.Senders[i] != want {
				t.Errorf("sender %d: %+v, want %+v", i, w.Senders[i], want)
			}
		}
		if s := w.Slaves[0]; s.Overflow != 0 || s.Ours+sum(s.Foreign) != s.Frames {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaitIdle(t *testing.T) {
	betweenNamespaces(t, 3, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(1)
		r := p.listen(t, traffic)
		r.Begin(1)
		wait := func(quiet time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			return r.WaitIdle(ctx, quiet)
		}
		p.transmit(t, ethernet(unix.ETH_P_ARP, make([]byte, 28)))
		if err := wait(time.Minute); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "none came") {
			t.Errorf("with no datagram: %v", err)
		}
		// A datagram that came a moment ago, and always will have.
		r.mu.Lock()
		r.last[1] = r.clock.now() + int64(time.Minute)
		r.mu.Unlock()
		if err := wait(time.Millisecond); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("with a busy line: %v", err)
		}
		r.mu.Lock()
		r.last[1] = 0
		r.mu.Unlock()
		if err := r.WaitIdle(t.Context(), time.Millisecond); err != nil {
			t.Errorf("with quiet lines: %v", err)
		}
		before := r.clock.now()
		p.send(t, 2, traffic.Groups[0], stamp.Header{Run: 1})
		if line, last, _ := r.latest(); line != 2 || last < before {
			t.Errorf("a datagram on line 2 was noted on line %d at %d, sent after %d", line, last, before)
		}
	})
}

func TestCloseLeavesNothing(t *testing.T) {
	betweenNamespaces(t, 2, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(25)
		threads := func() int { return count(t, "/proc/self/task") }
		files := func() int { return count(t, "/proc/self/fd") }
		again := func() {
			p.away(func() {
				r, err := Listen(ReceiveConfig{Ifindexes: p.rx, Traffic: traffic})
				if err != nil {
					t.Error(err)
					return
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				// The second line is none: what the first has opened is closed.
				if _, err := Listen(ReceiveConfig{Ifindexes: []int{p.rx[0], 1 << 20}, Traffic: traffic}); err == nil {
					t.Error("listened on an interface that does not exist")
				}
			})
		}
		again() // whatever is opened once and kept
		f, g, th := files(), runtime.NumGoroutine(), threads()
		for range 20 {
			again()
		}
		if n := files(); n != f {
			t.Errorf("%d descriptors, %d before", n, f)
		}
		if n := runtime.NumGoroutine(); n != g {
			t.Errorf("%d goroutines, %d before", n, g)
		}
		if n := threads(); n > th+5 { // the runtime may have started one for itself
			t.Errorf("%d threads, %d before", n, th)
		}
	})
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	return len(entries)
}

// Without CAP_NET_ADMIN over the whole machine a receive buffer is what net.core.rmem_max allows.
func TestReceivingWithoutTheRightToForce(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&header, &caps[0]); err != nil {
			t.Error(err)
			return
		}
		caps[0].Effective &^= 1 << unix.CAP_NET_ADMIN // of this thread, which ends with the test
		if err := unix.Capset(&header, &caps[0]); err != nil {
			t.Error(err)
			return
		}
		traffic := p.traffic(1)
		r := p.listen(t, traffic)
		got, err := unix.GetsockoptInt(r.sockets[0].fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		if err != nil || got >= 2*receiveBuffer || got < 65536 {
			t.Errorf("a receive buffer of %d bytes (%v): want less than was asked for", got, err)
		}
		r.Begin(1)
		p.send(t, 0, traffic.Groups[0], stamp.Header{Run: 1})
		if n := settled(t, r).Slaves[0].Ours; n != 1 {
			t.Errorf("%d datagrams arrived, want 1", n)
		}
	})
}

func TestReceivingAllocatesNothing(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(1)
		r := p.listen(t, traffic)
		r.Begin(1)
		r.mu.Lock()
		defer r.mu.Unlock()
		to := netip.AddrPortFrom(netip.MustParseAddr(traffic.Groups[0]), 6000)
		b, seq := make([]byte, testPayload), uint64(0)
		stamp.Put(b, stamp.Header{Run: 1})
		address := p.family.unixAddr(to)
		if err := p.family.multicastInterface(p.socket, p.tx[0].Attrs().Index); err != nil {
			t.Error(err)
		}
		send := func() {
			for range 100 {
				stamp.PutSeq(b, seq, 0)
				seq++
				if err := unix.Sendto(p.socket, b, 0, address); err != nil {
					t.Error(err)
				}
			}
		}
		sending := testing.AllocsPerRun(50, send)
		r.drain()
		both := testing.AllocsPerRun(50, func() { send(); r.drain() })
		if both != sending {
			t.Errorf("%v allocations for 100 datagrams", both-sending)
		}
		if n := r.run.Summary(r.lines).Slaves[0].Ours; n != seq {
			t.Errorf("%d of %d arrived", n, seq)
		}
	})
}
