package traffic

import (
	"math"
	"testing"
)

func TestZerocopyBuffersAreNotWrittenWhileInUse(t *testing.T) {
	f := newInflight(5) // 8 buffers
	f.next = math.MaxUint32 - 3
	held := map[int]uint32{}
	send := func() {
		if n, used := held[f.slot()]; used {
			t.Fatalf("the buffer of send %d is reused", n)
		}
		held[f.slot()] = f.next
		f.sent()
	}
	complete := func(from, to uint32) {
		for n := from; ; n++ {
			delete(held, int(n)%8)
			if n == to {
				break
			}
		}
		f.completed(from, to)
	}
	first := f.next
	for !f.full() {
		send()
	}
	if len(held) != 5 {
		t.Fatalf("%d sends outstanding, want the limit 5", len(held))
	}
	complete(first+1, first+4) // across the wrap; the first is still held
	for !f.full() {
		send()
	}
	if got := f.next - first; got != 8 {
		t.Errorf("stopped before send %d, want 8, whose buffer is in use", got)
	}
	complete(first, first)
	if f.full() {
		t.Error("still full after the oldest came back")
	}
}

func TestZerocopyLimit(t *testing.T) {
	for _, c := range []struct {
		name            string
		optmem, memlock uint64
		size, senders   int
		want            int
	}{
		{"default before 6.7", 20480, math.MaxUint64, 4000, 1, 19},
		{"plenty", 1 << 30, math.MaxUint64, 4000, 1, 255},
		{"pages that may be locked", 1 << 20, 8 << 20, 4000, 16, 63},
		{"next to nothing", 100, 100, 4000, 1, 1},
	} {
		if got := zerocopyLimit(c.optmem, c.memlock, c.size, c.senders); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
