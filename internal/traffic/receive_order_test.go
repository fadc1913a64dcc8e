package traffic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestInOrder(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	var out []arrival
	q := inOrder{out: func(a *arrival) { out = append(out, *a) }}
	const n = 10000
	for i := range n {
		// Read at i, came up to 50 earlier; size tells one from the other.
		q.waiting = append(q.waiting, arrival{at: int64(i - random.IntN(50)), size: i})
		if i%100 == 99 {
			q.release(int64(i - 50))
			if last := out[len(out)-1].at; last > int64(i-50) {
				t.Fatalf("after %d: released what came at %d", i, last)
			}
		}
	}
	q.release(math.MaxInt64)
	if len(out) != n || len(q.waiting) != 0 {
		t.Fatalf("%d released and %d waiting of %d", len(out), len(q.waiting), n)
	}
	for i, a := range out[1:] {
		if b := out[i]; a.at < b.at || a.at == b.at && a.size < b.size {
			t.Fatalf("%d: what came at %d and was read at %d follows %d, %d", i+1, a.at, a.size, b.at, b.size)
		}
	}
	seen := map[int]bool{}
	for _, a := range out {
		seen[a.size] = true
	}
	if len(seen) != n {
		t.Errorf("%d different arrivals released, want %d", len(seen), n)
	}
}

func TestReleaseOldWaits(t *testing.T) {
	var out []int64
	q := inOrder{out: func(a *arrival) { out = append(out, a.at) }}
	q.releaseOld(math.MaxInt64) // nothing is there
	h := int64(hold)
	for _, at := range []int64{100, 300, 200} {
		q.waiting = append(q.waiting, arrival{at: at})
	}
	q.releaseOld(100 + h)
	if len(out) != 0 {
		t.Errorf("released %v too soon", out)
	}
	q.releaseOld(101 + h)
	if want := []int64{100, 200, 300}; !slices.Equal(out, want) {
		t.Errorf("released %v, want %v", out, want)
	}
}
