package workload

import (
	"context"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
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

var loopback = netip.MustParseAddr("127.0.0.1")

// dial makes the connections of a spec over lo; they are closed with the test.
func dial(t testing.TB, spec Spec, address netip.Addr) (c *Client) {
	t.Helper()
	inNamespace(t, func() {
		s, err := Listen(spec, address)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { s.Close() })
		if c, err = s.Dial(); err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { c.Close() })
	})
	if c == nil {
		t.FailNow()
	}
	return c
}

func short(s Spec) Spec {
	s.Duration, s.Warmup = 200*time.Millisecond, 50*time.Millisecond
	return s
}

func TestEachKindMeasures(t *testing.T) {
	for name, spec := range map[string]Spec{
		"stream": {Kind: Stream, Connections: 3, Write: 8000},
		"rr":     {Kind: RR, Connections: 5, Request: 8000, Response: 8000},
		"rr udp": {Kind: RR, Protocol: OverUDP, Connections: 2, Request: 100, Response: 3},
		"mixed":  {Kind: Mixed, Connections: 4},
		"udp":    {Kind: UDP, Connections: 2, Payload: 1000},
		"group":  {Kind: UDP, Connections: 2, Group: netip.MustParseAddr("239.66.1.1")},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := dial(t, short(spec), loopback).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			t.Log(o)
			for name, v := range o.Metrics() {
				t.Log(name, v)
			}
			t.Log(runtime.NumGoroutine())
		})
	}
}
