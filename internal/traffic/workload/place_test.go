package workload

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bondrepro/internal/osrun"
)

var (
	nearAddress = netip.MustParseAddr("10.66.0.1")
	farAddress  = netip.MustParseAddr("10.66.0.2")
)

// inTwo runs near and far in two namespaces that a veth pair joins, one after the other: far first. Then it says how
// many packets the near end of the pair has sent.
func inTwo(t *testing.T, far, near func()) (packets uint64) {
	t.Helper()
	inNamespace(t, func() {
		// The thread of the far namespace is still there while near runs: packets need no thread.
		ready, end, ended := make(chan int), make(chan struct{}), make(chan struct{})
		go inFar(t, ready, end, ended, far)
		defer func() { close(end); <-ended }()
		tid, ok := <-ready
		if !ok {
			return
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "near"
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "far", PeerNamespace: netlink.NsPid(tid)}); err != nil {
			t.Errorf("veth pair: %v", err)
			return
		}
		address(t, "near", nearAddress)
		ready <- 0
		if _, ok := <-ready; !ok { // far has failed
			return
		}
		awaitCarrier(t, "near")
		near()
		link, err := netlink.LinkByName("near")
		if err != nil {
			t.Error(err)
			return
		}
		packets = link.Attrs().Statistics.TxPackets
	})
	return packets
}

func inFar(t *testing.T, ready chan int, end, ended chan struct{}, far func()) {
	defer close(ended)
	inNamespace(t, func() {
		defer close(ready)
		ready <- unix.Gettid()
		<-ready
		address(t, "far", farAddress)
		awaitCarrier(t, "far")
		if far(); t.Failed() {
			return
		}
		ready <- 0
		<-end
	})
}

// address gives an interface an address and sets it up.
func address(t *testing.T, name string, a netip.Addr) {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(24, 32)}})
	}
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// awaitCarrier waits until linkwatch has seen the carrier: before that the qdisc is noop, which loses packets.
func awaitCarrier(t *testing.T, name string) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		link, err := netlink.LinkByName(name)
		if err == nil && link.Attrs().OperState == netlink.OperUp {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Errorf("%s is not up (%v)", name, err)
			return
		}
	}
}

func TestEachEndIsInTheNamespaceItWasMadeIn(t *testing.T) {
	for name, spec := range everyKind {
		t.Run(name, func(t *testing.T) {
			var s *Server
			var o Outcome
			packets := inTwo(t, func() {
				var err error
				if s, err = Listen(short(spec), farAddress); err != nil {
					t.Error(err)
				}
			}, func() {
				defer s.Close()
				c, err := s.Dial(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				if o, err = c.Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
			// TSO makes packets of up to 64 KiB.
			if n := packets; n < o.Bytes/(2*64<<10) || n < 10 {
				t.Errorf("%d bytes arrived, %d packets went over the pair", o.Bytes, n)
			}
		})
	}
}

func TestAToolsServerIsInTheNamespaceItWasStartedIn(t *testing.T) {
	if _, err := osrun.Look("iperf3"); err != nil {
		t.Skip("iperf3 is not installed")
	}
	var s *Tool
	packets := inTwo(t, func() {
		var err error
		if s, err = ListenTool(t.Context(), "iperf3", Spec{Duration: time.Second}, farAddress); err != nil {
			t.Error(err)
		}
	}, func() {
		defer s.Close()
		if _, err := s.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if packets < 10 {
		t.Errorf("%d packets went over the pair", packets)
	}
}

func TestDatagramsOnTheirWayAreWaitedFor(t *testing.T) {
	var s *Server
	var o Outcome
	inTwo(t, func() {
		var err error
		if s, err = Listen(Spec{Kind: UDP, Payload: 1000, Duration: 100 * time.Millisecond}, farAddress); err != nil {
			t.Error(err)
		}
	}, func() {
		defer s.Close()
		link, err := netlink.LinkByName("near")
		if err != nil {
			t.Error(err)
			return
		}
		// A sender's buffer fills a line of 8 Mbit/s for a tenth of a second and more.
		line := &netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT}, Rate: 1e6, Buffer: 1e5, Limit: 1e6}
		if err := netlink.QdiscAdd(line); err != nil {
			t.Errorf("tbf: %v", err)
			return
		}
		c, err := s.Dial(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if o, err = c.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if d := o.Datagrams; d == nil || d.Lost != 0 || d.Sent == 0 {
		t.Errorf("datagrams %+v, none is lost on this line", d)
	}
}
