package bondctl_test

import (
	"net/netip"
	"slices"
	"testing"

	"bondrepro/bondctl"

	"github.com/vishvananda/netlink"
)

// What each TX queue has is read from the qdiscs, whether there is one queue or several.
func TestInterfacesReadQdiscsAndAddresses(t *testing.T) {
	for _, queues := range []int{1, 2} {
		inNamespace(t, queues, func(near netlink.Link) {
			c, err := bondctl.Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			index, address := near.Attrs().Index, netip.MustParsePrefix("192.0.2.1/24")
			addr, err := netlink.ParseAddr(address.String())
			if err == nil {
				err = netlink.AddrAdd(near, addr)
			}
			if err != nil {
				t.Error(err)
			}
			together := map[int]string{1: "tbf", 2: "tbf for all queues together"}[queues]
			for _, step := range []struct {
				replace func() error
				want    string
			}{
				{func() error { return c.ReplaceQdisc(index, queues, bondctl.Leaf{Kind: "pfifo_fast"}) }, "pfifo_fast"},
				{func() error { return c.ReplaceQdisc(index, queues, bondctl.Leaf{Kind: "pfifo", LineRate: 1e6}) }, "tbf"},
				{func() error { return c.ReplaceQdisc(index, 1, bondctl.Leaf{Kind: "pfifo", LineRate: 1e6}) }, together},
			} {
				if err := step.replace(); err != nil {
					t.Error(err)
				}
				all, err := c.Interfaces()
				i := all["near"]
				if err != nil || i.Qdisc != step.want || i.Kind != "veth" || !i.Up || i.MTU != 9000 || i.Queues != queues || i.TxQueueLen == 0 || !slices.Contains(i.Addresses, address) {
					t.Errorf("%d queues: %+v, %v, want the qdisc %s", queues, i, err, step.want)
				}
			}
		})
	}
}
