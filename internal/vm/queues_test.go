package vm_test

import (
	"context"
	"math"
	"testing"
	"time"

	"bondrepro/internal/vm"
	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
)

// queues is how many queues the NICs of these tests have, and how many senders fill them.
const queues = 4

// ringSize is how many descriptors each queue of virtio_net has in QEMU.
const ringSize = 256

// NICs of several queues: nothing is lost or counted twice, the line's rate holds over all queues together, and a
// line that is full pushes back into each queue's qdisc.
func TestQueues(t *testing.T) {
	m := boot(t, func(c *vm.Config) {
		c.NICs, c.Queues, c.LinkSpeed = 2, queues, 10000
		c.Cables = [][2]int{{0, 1}}
	})
	t.Run("cable", func(t *testing.T) {
		testCable(t, m, 0, 1)
		testCable(t, m, 1, 0)
	})
	t.Run("rate", func(t *testing.T) { testQueuesRate(t, m) })
	t.Run("a stopped line fills rings and qdiscs", func(t *testing.T) { testQueuesPushBack(t, m) })
	t.Run("a full line costs no CPU", func(t *testing.T) { testFullLine(t, m) })
}

// spread sends from as many threads as there are queues, checks that every frame came once, and gives the rate.
func spread(t *testing.T, m *vm.Machine, run uint32, count uint64, rate float64) float64 {
	t.Helper()
	m.Wire().SetRates([]float64{rate, 0})
	m.Wire().Begin(run, vm.Traffic(queues), 0)
	if err := call(t, m, "spray", sprayJob{Run: run, Senders: queues, Count: count, Payload: 4000}, nil); err != nil {
		t.Fatal(err)
	}
	return achieved(allCame(t, m, count).Slaves[0])
}

// allCame waits for quiet and checks that count frames of each sender came, in order.
func allCame(t *testing.T, m *vm.Machine, count uint64) result.Wire {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	if err := m.Wire().WaitIdle(ctx, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	got := m.Wire().End()
	for _, s := range got.Senders {
		if s.Unique != count || s.Beyond != count || s.Duplicates+s.Reordered+s.Copies != 0 {
			t.Errorf("%+v, want %d in order", s, count)
		}
	}
	if got.Slaves[0].Ours != queues*count || got.Slaves[0].Stale != 0 {
		t.Errorf("%d frames on the line, want %d", got.Slaves[0].Ours, queues*count)
	}
	return got
}

func testQueuesRate(t *testing.T, m *vm.Machine) {
	const count = 2000
	open := spread(t, m, 1, count, math.Inf(1))
	rate := open / 4
	got := spread(t, m, 2, count, rate)
	t.Logf("open line: %.0f Mbit/s; %.2f of %.2f Mbit/s", open/1e6, got/1e6, rate/1e6)
	if got > 1.03*rate || got < 0.8*rate {
		t.Errorf("%.2f Mbit/s, want %.2f", got/1e6, rate/1e6)
	}
}

func leaves(t *testing.T, m *vm.Machine, nic int) (qs []counters.Qdisc) {
	t.Helper()
	if err := call(t, m, "qdiscs", nic, &qs); err != nil {
		t.Fatal(err)
	}
	if len(qs) != queues {
		t.Fatalf("%d leaf qdiscs: %+v", len(qs), qs)
	}
	return qs
}

func testQueuesPushBack(t *testing.T, m *vm.Machine) {
	const count = 600
	before := leaves(t, m, 0)
	m.Wire().SetRates([]float64{0, 0})
	time.Sleep(20 * time.Millisecond) // a read that had begun may still take a frame
	m.Wire().Begin(3, vm.Traffic(queues), 0)
	job := sprayJob{Run: 3, Senders: queues, Count: count, Payload: 4000, Buffered: true}
	if err := call(t, m, "spray", job, nil); err != nil {
		t.Fatal(err)
	}
	for i, q := range leaves(t, m, 0) {
		t.Logf("queue %d: %s, %d packets wait, %d requeues", i, q.Kind, q.Qlen, q.Requeues)
		if least := count - ringSize; int(q.Qlen) < least || q.Qlen >= count {
			t.Errorf("%d packets wait in qdisc %d of a stopped line, want %d to %d", q.Qlen, i, least, count-1)
		}
	}
	if got := m.Wire().End().Slaves[0].Frames; got != 0 {
		t.Errorf("%d frames came over a stopped line", got)
	}
	m.Wire().SetRates([]float64{math.Inf(1), 0})
	allCame(t, m, count)
	for i, q := range leaves(t, m, 0) {
		sent := q.Packets - before[i].Packets
		if sent != count || q.Drops != before[i].Drops || q.Qlen != 0 {
			t.Errorf("qdisc %d sent %d packets, dropped %d, has %d, want %d and nothing else", i, sent, q.Drops-before[i].Drops, q.Qlen, count)
		}
	}
}
