package workload

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// inNamespace runs f on a thread of its own in a new network namespace whose lo is up. The thread ends with it.
func inNamespace(t testing.TB, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		onThread(func() {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				t.Errorf("unshare CLONE_NEWNET: %v", err)
				return
			}
			lo, err := netlink.LinkByName("lo")
			if err == nil {
				err = netlink.LinkSetUp(lo)
			}
			if err != nil {
				t.Errorf("lo: %v", err)
				return
			}
			f()
		})
	}()
	<-done
}

var (
	loopback  = netip.MustParseAddr("127.0.0.1")
	loopback6 = netip.MustParseAddr("::1")
	group     = netip.MustParseAddr("239.66.1.1")
)

// connected makes the connections of a spec in the calling thread's namespace; they are closed with the test.
func connected(t testing.TB, spec Spec, address netip.Addr) *Client {
	s, err := Listen(spec, address)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { s.Close() })
	c, err := s.Dial(t.Context())
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// dial makes the connections of a spec over the lo of a namespace of their own.
func dial(t testing.TB, spec Spec, address netip.Addr) (c *Client) {
	t.Helper()
	inNamespace(t, func() { c = connected(t, spec, address) })
	if c == nil {
		t.FailNow()
	}
	return c
}

// short is a spec that is measured for a moment.
func short(s Spec) Spec {
	s.Duration, s.Warmup = 100*time.Millisecond, 20*time.Millisecond
	return s
}

var everyKind = map[string]Spec{
	"stream": {Kind: Stream, Connections: 3, Write: 8000},
	"rr":     {Kind: RR, Connections: 5, Request: 8000, Response: 3},
	"rr udp": {Kind: RR, Protocol: OverUDP, Connections: 2, Request: 3, Response: 100},
	"mixed":  {Kind: Mixed, Connections: 4},
	"udp":    {Kind: UDP, Connections: 2, Payload: 1000},
	"group":  {Kind: UDP, Connections: 2, Group: group},
}

func TestEveryKindMeasures(t *testing.T) {
	for name, spec := range everyKind {
		t.Run(name, func(t *testing.T) {
			before := time.Now()
			o, err := dial(t, short(spec), loopback).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(before).Seconds()
			if o.Kind != spec.Kind || o.Connections != spec.Connections || o.Seconds < short(spec).Duration.Seconds() || o.Seconds > took {
				t.Errorf("outcome %+v after %v s", o, took)
			}
			if rate := 8 * float64(o.Bytes) / o.Seconds; o.Bytes == 0 || o.Throughput != rate {
				t.Errorf("throughput %v, want %v", o.Throughput, rate)
			}
			for _, side := range []*CPU{o.Client, o.Server} {
				if used := side.User + side.System; used <= 0 || used > took*float64(spec.Connections) {
					t.Errorf("CPU time %+v of %d threads in %v s", side, spec.Connections, took)
				}
				if side.Shared != nil {
					t.Errorf("softirq of a side that is not pinned: %+v", side.Shared)
				}
			}
		})
	}
}

func TestIPv6(t *testing.T) {
	for name, spec := range map[string]Spec{"rr": {Kind: RR}, "rr udp": {Kind: RR, Protocol: OverUDP}, "stream": {Kind: Stream}} {
		if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil {
			t.Skipf("this kernel has no IPv6: %v", err)
		}
		t.Run(name, func(t *testing.T) {
			if _, err := dial(t, short(spec), loopback6).Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// measured runs a workload as Run does and gives its counts.
func measured(t *testing.T, c *Client) *measurement {
	t.Helper()
	m := newMeasurement(c)
	defer raiseProcs(2 * len(c.pairs))()
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	_, _, err := m.watch(t.Context())
	m.stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEachTransactionIsCountedAtBothEnds(t *testing.T) {
	for _, name := range []string{"rr", "rr udp", "mixed"} {
		t.Run(name, func(t *testing.T) {
			spec := short(everyKind[name])
			spec.Warmup = 0
			m := measured(t, dial(t, spec, loopback))
			for i := range m.clients {
				// The last one may have been cut off on its way back.
				asked, answered := m.clients[i].operations.Load(), m.servers[i].operations.Load()
				if asked == 0 || answered-asked > 1 {
					t.Errorf("connection %d: %d transactions ended, %d were answered", i, asked, answered)
				}
				// Those that were under way when the phase changed are not in the histogram.
				if n := uint64(m.histograms[i].TotalCount()); n > asked || asked-n > 2 {
					t.Errorf("connection %d: %d latencies of %d transactions", i, n, asked)
				}
				if want := asked * uint64(spec.Request+spec.Response); spec.Kind == RR && m.clients[i].bytes.Load() != want {
					t.Errorf("connection %d: %d bytes, want %d", i, m.clients[i].bytes.Load(), want)
				}
			}
		})
	}
}

func TestDatagramsThatAreLostAreWhatTheKernelDropped(t *testing.T) {
	var o Outcome
	var dropped uint64
	inNamespace(t, func() {
		c := connected(t, Spec{Kind: UDP, Connections: 3, Payload: 1000, Duration: 100 * time.Millisecond}, loopback)
		if c == nil {
			return
		}
		for _, p := range c.pairs { // so that there is loss
			if err := unix.SetsockoptInt(p.server, unix.SOL_SOCKET, unix.SO_RCVBUF, 1); err != nil {
				t.Error(err)
			}
		}
		var err error
		if o, err = c.Run(t.Context()); err != nil {
			t.Error(err)
			return
		}
		dropped = udpCounter(t, "RcvbufErrors")
	})
	if t.Failed() {
		return
	}
	d := o.Datagrams
	if d.Lost != dropped || dropped == 0 || d.Sent != d.Received+d.Lost {
		t.Errorf("lost %d of %d, %d received; the kernel dropped %d", d.Lost, d.Sent, d.Received, dropped)
	}
	if o.Bytes > 1000*d.Received {
		t.Errorf("%d bytes measured, %d datagrams of 1000 received", o.Bytes, d.Received)
	}
}

// udpCounter is a figure of the calling thread's namespace.
func udpCounter(t *testing.T, name string) uint64 {
	text, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		t.Error(err)
		return 0
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if f[0] != "Udp:" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		n, err := strconv.ParseUint(f[slices.Index(names, name)], 10, 64)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	t.Error("no Udp in snmp")
	return 0
}

func TestRateIsNotExceeded(t *testing.T) {
	const pps = 2000
	spec := short(Spec{Kind: UDP, Connections: 2, Payload: 100, Rate: scenarios.Rate{PacketsPerSecond: pps}})
	start := time.Now()
	m := measured(t, dial(t, spec, loopback))
	most := pps*time.Since(start).Seconds() + float64(spec.Connections)
	if sent := m.sent(); float64(sent) > most || sent < 2 {
		t.Errorf("%d datagrams sent, at most %v are due", sent, most)
	}
}

// answerOnce answers one request, after other datagrams, and gives the request.
func answerOnce(t *testing.T, fd int, before ...[]byte) []byte {
	request := make([]byte, 100)
	n, err := unix.Read(fd, request)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, b := range append(before, request[:n]) {
		if _, err := unix.Write(fd, b); err != nil {
			t.Error(err)
		}
	}
	return request[:n]
}

func TestLateResponsesAreNotTakenForOthers(t *testing.T) {
	c := dial(t, Spec{Kind: RR, Protocol: OverUDP, Duration: 1}, loopback)
	p, ask := c.pairs[0], askDatagram(8, 8, &lostCount{})
	var first, second []byte
	var wg sync.WaitGroup
	wg.Go(func() {
		first = answerOnce(t, p.server, []byte("a stranger's"))
		second = answerOnce(t, p.server, first)
	})
	for range 2 {
		if n, op, _, err := ask(p.client); n != 16 {
			t.Errorf("%d bytes, %s: %v", n, op, err)
		}
	}
	wg.Wait()
	if slices.Equal(first, second) {
		t.Error("two requests have one number")
	}
	if n, _, err := unix.Recvfrom(p.client, make([]byte, 100), unix.MSG_DONTWAIT); err != unix.EAGAIN {
		t.Errorf("a response of %d bytes is left over (%v): another one was taken for it", n, err)
	}
}

func TestRequestsWithoutResponseAreLost(t *testing.T) {
	c := dial(t, Spec{Kind: RR, Protocol: OverUDP, Duration: 3 * lostAfter}, loopback)
	server := c.pairs[0].server
	var wg sync.WaitGroup
	wg.Go(func() { answerOnce(t, server) }) // only the first
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[1])
	defer unix.Close(server)
	c.pairs[0].server = ends[0]
	o, err := c.Run(t.Context())
	wg.Wait()
	if err != nil || o.Transactions != 1 || o.Datagrams.Lost == 0 || o.Datagrams.Sent < o.Datagrams.Received+o.Datagrams.Lost {
		t.Errorf("%d transactions, %+v (%v)", o.Transactions, o.Datagrams, err)
	}
}

func TestAStrangerIsTurnedAway(t *testing.T) {
	inNamespace(t, func() {
		s, err := Listen(short(Spec{Kind: RR, Connections: 2}), loopback)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		to, err := local(s.listener)
		if err != nil {
			t.Error(err)
		}
		stranger, err := open(loopback, unix.SOCK_STREAM)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(stranger)
		if err := connect(t.Context(), stranger, to); err != nil {
			t.Error(err)
		}
		c, err := s.Dial(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if o, err := c.Run(t.Context()); err != nil || o.Idle > 0 {
			t.Errorf("%d connections were idle (%v)", o.Idle, err)
		}
	})
}

func TestAClosedServerLeavesTheClientItsSockets(t *testing.T) {
	for name, spec := range everyKind {
		t.Run(name, func(t *testing.T) {
			inNamespace(t, func() {
				s, err := Listen(short(spec), loopback)
				if err != nil {
					t.Error(err)
					return
				}
				c, err := s.Dial(t.Context())
				s.Close()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				if _, err := c.Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestARunIsPossibleOnce(t *testing.T) {
	c := dial(t, short(Spec{Kind: RR}), loopback)
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); err == nil {
		t.Error("a second run is no error")
	}
}

func TestTinyDurations(t *testing.T) {
	for name, spec := range everyKind {
		for _, d := range []time.Duration{1, time.Microsecond, time.Millisecond} {
			t.Run(name+" "+d.String(), func(t *testing.T) {
				spec.Duration = d
				o, err := dial(t, spec, loopback).Run(t.Context())
				if err == nil && (o.Seconds < d.Seconds() || o.Bytes == 0) || err != nil && !errors.Is(err, ErrNothing) {
					t.Errorf("outcome %+v, error %v", o, err)
				}
			})
		}
	}
}
