package qdisctree_test

import (
	"strings"
	"testing"

	"bondrepro/internal/qdisctree"
)

const root = 0xffffffff

// asKernel is codel_time_to_us of what fq_codel_change keeps.
func asKernel(us uint32) uint32 { return uint32(uint64(us) * 1000 >> 10 << 10 / 1000) }

// Each time that fq_codel can dump is dumped again.
func TestCodelTime(t *testing.T) {
	for _, us := range []uint32{1, 2, 42, 1000, 1234, 5000, 99999, 100000, 123456, 4_000_000, 4_000_000_000} {
		dumped := asKernel(us)
		if again := asKernel(qdisctree.CodelTime(dumped)); again != dumped {
			t.Errorf("%d us are dumped as %d, and then as %d", us, dumped, again)
		}
	}
}

// A burst lets every packet pass that passed, and is dumped as before.
func TestBurst(t *testing.T) {
	for _, rate := range []uint64{1000, 125_000, 375_000, 12_345_678, 1_250_000_000, 10_000_000_000} {
		for _, size := range []uint32{1514, 1600, 9014, 20_001, 4_000_000} {
			ticks := qdisctree.Ticks(rate, size)
			if uint64(size)*1e9/rate > 4e9 {
				continue // longer than a burst may last
			}
			got, ok := qdisctree.Burst(rate, ticks)
			if !ok || got < size || qdisctree.Ticks(rate, got) != ticks {
				t.Errorf("%d bytes at %d bytes/s: %d, %v", size, rate, got, ok)
			}
		}
	}
	if got, ok := qdisctree.Burst(1000, 100); ok {
		t.Errorf("no number of bytes lasts 6400 ns at 1000 bytes/s, got %d", got)
	}
}

// What can't be put back is named.
func TestIrrestorable(t *testing.T) {
	tree := func(dflt string, qdiscs ...qdisctree.Qdisc) qdisctree.Tree {
		return qdisctree.Tree{Dev: "eth1", Up: true, MTU: 1500, TxQueueLen: 1000, Default: dflt, Qdiscs: qdiscs}
	}
	for _, c := range []struct {
		name string
		tree qdisctree.Tree
		want string // "" is none
	}{
		{"nothing", tree("fq"), ""},
		{"red", tree("fq", qdisctree.Qdisc{Kind: "red", Handle: 1 << 16, Parent: root}), "qdisc red (1: root): only"},
		{"clsact", tree("fq", qdisctree.Qdisc{Kind: "clsact", Handle: 0xffff0000, Parent: 0xfffffff1}), "qdisc clsact: remove it (tc qdisc del dev eth1 clsact)"},
		{"default", tree("pfifo_fast", qdisctree.Qdisc{Kind: "pfifo_fast", Parent: root}), ""},
		{"default unknown", tree("", qdisctree.Qdisc{Kind: "pfifo_fast", Parent: root}), ""},
		{"another default", tree("fq", qdisctree.Qdisc{Kind: "pfifo_fast", Parent: root}),
			"not what net.core.default_qdisc would make (fq): give it a handle (tc qdisc replace dev eth1 root handle 1: pfifo_fast)"},
		{"no queue", tree("fq", qdisctree.Qdisc{Kind: "noqueue", Parent: root}), ""},
		{"another default of a queue", tree("fq", qdisctree.Qdisc{Kind: "mq", Handle: 1 << 16, Parent: root}, qdisctree.Qdisc{Kind: "pfifo_fast", Parent: 1<<16 | 1}),
			"give it a handle (tc qdisc replace dev eth1 parent 1:1 pfifo_fast)"},
		{"another default of two queues", tree("fq", qdisctree.Qdisc{Kind: "mq", Parent: root}, qdisctree.Qdisc{Kind: "pfifo_fast", Parent: 2}, qdisctree.Qdisc{Kind: "pfifo_fast", Parent: 1}),
			"have the kernel make it anew"},
		{"queue without a qdisc", tree("fq", qdisctree.Qdisc{Kind: "mq", Handle: 1 << 16, Parent: root}, qdisctree.Qdisc{Kind: "fq", Handle: 2 << 16, Parent: 1<<16 | 2}),
			"qdisc mq (1: root) without a qdisc at 1:1"},
		{"size table", tree("fq", qdisctree.Qdisc{Kind: "pfifo", Handle: 1 << 16, Parent: root, Extras: []string{"size table"}}), "qdisc pfifo (1: root) with a size table"},
	} {
		got := c.tree.Irrestorable()
		if (len(got) == 0) != (c.want == "") || len(got) > 1 || !strings.Contains(strings.Join(got, ""), c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Qdiscs of one bucket of the kernel's hash table are made in the opposite order of the dump, but parents first.
func TestOrder(t *testing.T) {
	want := qdisctree.Tree{Dev: "eth1", Qdiscs: []qdisctree.Qdisc{
		{Kind: "mq", Handle: 0x100000, Parent: root},
		{Kind: "tbf", Handle: 0x210000, Parent: 0x100001},
		{Kind: "tbf", Handle: 0x230000, Parent: 0x100003},
		{Kind: "pfifo_fast", Handle: 0x839d0000, Parent: 0x230001}, // in one bucket with the next
		{Kind: "pfifo_fast", Handle: 0x839b0000, Parent: 0x210001},
	}}
	commands := strings.Join(qdisctree.Commands(want, qdisctree.Tree{Dev: "eth1"}), "\n")
	last := -1
	for _, handle := range []string{" 10: ", " 21: ", " 839b: ", " 839d: "} {
		at := strings.Index(commands, handle)
		if at <= last {
			t.Errorf("%s is not in its place in\n%s", handle, commands)
		}
		last = at
	}
}
