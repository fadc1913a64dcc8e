package workload

import (
	"errors"
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

// overLine runs a workload over a line of so many bytes a second.
func overLine(t *testing.T, spec Spec, rate uint64) (o Outcome, err error) {
	t.Helper()
	var s *Server
	inTwo(t, func() {
		if s, err = Listen(spec, farAddress); err != nil {
			t.Error(err)
		}
	}, func() {
		defer s.Close()
		c, failed := s.Dial(t.Context())
		if failed != nil {
			t.Error(failed)
			return
		}
		defer c.Close()
		link, failed := netlink.LinkByName("near")
		if failed == nil {
			const ticks, frame = 15625000, 1600 // a second in tbf's unit; a frame that fits
			line := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT}
			failed = netlink.QdiscAdd(&netlink.Tbf{QdiscAttrs: line, Rate: rate, Buffer: uint32(ticks * frame / rate), Limit: 1e7})
		}
		if failed != nil {
			t.Errorf("tbf: %v", failed)
			return
		}
		o, err = c.Run(t.Context())
	})
	return o, err
}

// A sender's buffer fills a line of 8 Mbit/s for a tenth of a second and more.
func TestDatagramsOnTheirWayAreWaitedFor(t *testing.T) {
	o, err := overLine(t, Spec{Kind: UDP, Payload: 1000, Duration: 100 * time.Millisecond}, 1e6)
	if d := o.Datagrams; err != nil || d.Lost != 0 || d.Sent == 0 {
		t.Errorf("datagrams %+v, none is lost on this line (%v)", d, err)
	}
}

// The senders wait for room in their buffers: a datagram of 60 000 bytes takes the line 3 s, and there are ten of them.
func TestALineThatStandsStillDoesNotHoldARun(t *testing.T) {
	for name, spec := range everyKind {
		t.Run(name, func(t *testing.T) {
			spec.Connections, spec.Payload = 10, 60000
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if _, err := overLine(t, short(spec), 20000); err != nil && !errors.Is(err, ErrNothing) {
					t.Error(err)
				}
			}()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("it still runs")
			}
		})
	}
}
