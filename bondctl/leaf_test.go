package bondctl_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bondrepro/bondctl"
	"bondrepro/internal/traffic"
	"bondrepro/scenarios"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inNamespace runs f on a thread of its own in a private network namespace with a veth pair, near and far, both up.
func inNamespace(t *testing.T, queues int, f func(near netlink.Link)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Errorf("unshare: %v", err)
			return
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.NumTxQueues, attrs.NumRxQueues = "near", 9000, queues, queues
		err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "far"})
		for _, name := range []string{"lo", "far", "near"} {
			if l, e := netlink.LinkByName(name); err == nil {
				if err = e; err == nil {
					err = netlink.LinkSetUp(l)
				}
			}
		}
		if err == nil {
			var near netlink.Link
			if near, err = netlink.LinkByName("near"); err == nil {
				f(near)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}()
	<-done
}

// kinds lists an interface's qdiscs as "parent kind", sorted.
func kinds(t *testing.T, l netlink.Link) string {
	t.Helper()
	qdiscs, err := netlink.QdiscList(l)
	if err != nil {
		t.Error(err)
	}
	var all []string
	for _, q := range qdiscs {
		all = append(all, netlink.HandleStr(q.Attrs().Parent)+" "+q.Type())
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// A line that is made by tbf has it under every TX queue with an equal share, and the qdisc asked for below it; a slow
// one lets some packets pass and holds the others, charged to their socket. Made anew, nothing of it is left.
func TestLeavesOfALine(t *testing.T) {
	for _, c := range []struct {
		queues       int
		shaped, open string
		rate         uint64 // bytes/s of each tbf
	}{
		{1, "20:1 pfifo_fast, root tbf", "root pfifo_fast", 50000},
		{2, "10:1 tbf, 10:2 tbf, 20:1 pfifo_fast, 21:1 pfifo_fast, root mq", "10:1 pfifo_fast, 10:2 pfifo_fast, root mq", 25000},
	} {
		inNamespace(t, c.queues, func(near netlink.Link) {
			client, err := bondctl.Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			index := near.Attrs().Index
			if err := client.ReplaceQdisc(index, c.queues, bondctl.Leaf{Kind: "pfifo_fast", LineRate: 400_000}); err != nil {
				t.Error(err)
				return
			}
			if got := kinds(t, near); got != c.shaped {
				t.Errorf("%d queues: %s, want %s", c.queues, got, c.shaped)
			}
			if _, err := traffic.MeasureTruesize(traffic.Config{Traffic: scenarios.Default().Traffic, Ifindex: index}); err != nil {
				t.Errorf("%d queues: %v", c.queues, err)
			}
			qdiscs, err := netlink.QdiscList(near)
			if err != nil {
				t.Error(err)
			}
			for _, q := range qdiscs {
				if tbf, ok := q.(*netlink.Tbf); ok && tbf.Rate != c.rate {
					t.Errorf("%d queues: tbf of %d bytes/s, want %d", c.queues, tbf.Rate, c.rate)
				}
			}
			var slow *bondctl.LineRateError
			if err := client.ReplaceQdisc(index, c.queues, bondctl.Leaf{Kind: "pfifo_fast", LineRate: 100_000}); !errors.As(err, &slow) {
				t.Errorf("%d queues, a line too slow for tbf: %v", c.queues, err)
			}
			if err := client.ReplaceQdisc(index, c.queues, bondctl.Leaf{Kind: "pfifo_fast"}); err != nil {
				t.Error(err)
			}
			if got := kinds(t, near); got != c.open {
				t.Errorf("%d queues, open: %s, want %s", c.queues, got, c.open)
			}
		})
	}
}
