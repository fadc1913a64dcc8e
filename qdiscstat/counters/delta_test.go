package counters_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bondrepro/qdiscstat/counters"
)

func TestDelta(t *testing.T) {
	const top = math.MaxUint32
	for _, c := range []struct {
		name          string
		before, after counters.Qdisc
		want          counters.Diff
		reset         bool
	}{
		{
			name:   "plain",
			before: counters.Qdisc{Bytes: 100, Packets: 1, Drops: 2, Requeues: 3, Overlimits: 4},
			after:  counters.Qdisc{Bytes: 350, Packets: 3, Drops: 5, Requeues: 7, Overlimits: 9},
			want:   counters.Diff{Bytes: 250, Packets: 2, Drops: 3, Requeues: 4, Overlimits: 5},
		},
		{
			name:   "every 32-bit counter wraps",
			before: counters.Qdisc{Bytes: 100, Packets: top, Drops: top - 1, Requeues: top - 2, Overlimits: top - 3},
			after:  counters.Qdisc{Bytes: 200, Packets: 0, Drops: 0, Requeues: 0, Overlimits: 0},
			want:   counters.Diff{Bytes: 100, Packets: 1, Drops: 2, Requeues: 3, Overlimits: 4},
		},
		{
			name:   "packets outgrow 32 bits: the kernel starts to send 64",
			before: counters.Qdisc{Bytes: 100, Packets: top - 1},
			after:  counters.Qdisc{Bytes: 900, Packets: top + 9, Packets64: true},
			want:   counters.Diff{Bytes: 800, Packets: 10},
		},
		{
			name:   "64-bit packets",
			before: counters.Qdisc{Packets: 1 << 40, Packets64: true},
			after:  counters.Qdisc{Packets: 1<<40 + 1<<33, Packets64: true},
			want:   counters.Diff{Packets: 1 << 33},
		},
		{
			name:   "bytes went down: replaced, what the new one counted stands",
			before: counters.Qdisc{Bytes: 1000, Packets: 10, Drops: 5},
			after:  counters.Qdisc{Bytes: 300, Packets: 3, Drops: 1},
			want:   counters.Diff{Bytes: 300, Packets: 3, Drops: 1}, reset: true,
		},
		{
			name:   "64-bit packets fell below 32 bits: replaced",
			before: counters.Qdisc{Bytes: 1000, Packets: 1 << 32, Packets64: true},
			after:  counters.Qdisc{Bytes: 2000, Packets: 20},
			want:   counters.Diff{Bytes: 2000, Packets: 20}, reset: true,
		},
		{
			name:   "another handle: replaced, though everything went up",
			before: counters.Qdisc{Handle: 0x80010000, Bytes: 10, Packets: 1},
			after:  counters.Qdisc{Handle: 0x80020000, Bytes: 50, Packets: 5},
			want:   counters.Diff{Bytes: 50, Packets: 5}, reset: true,
		},
		{
			name:   "another kind: replaced",
			before: counters.Qdisc{Kind: "pfifo_fast", Drops: 3},
			after:  counters.Qdisc{Kind: "fq_codel", Drops: 4},
			want:   counters.Diff{Drops: 4}, reset: true,
		},
	} {
		got, reset := counters.Delta(c.before, c.after)
		if got != c.want || reset != c.reset {
			t.Errorf("%s: %+v reset %v, want %+v reset %v", c.name, got, reset, c.want, c.reset)
		}
	}
}

// A counter that is fed at random and read through 32 bits adds up again, and no step is absurdly large.
func TestDeltasAddUp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var packets, drops uint64
	var sum counters.Diff
	last := counters.Qdisc{}
	for range 1000 {
		step := uint64(r.Uint32())
		packets, drops = packets+step, drops+step/3
		now := counters.Qdisc{Bytes: packets * 60, Packets: uint64(uint32(packets)), Drops: uint32(drops)}
		diff, reset := counters.Delta(last, now)
		if reset {
			t.Fatalf("a wrap was taken for a replacement: %+v to %+v", last, now)
		}
		sum.Add(diff)
		last = now
	}
	if sum.Packets != packets || sum.Drops != drops || sum.Bytes != packets*60 {
		t.Errorf("sum %+v, want %d packets, %d drops", sum, packets, drops)
	}
}
