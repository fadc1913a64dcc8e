package report

import (
	"slices"
	"testing"

	"bondrepro/reproducer/result"
)

// A weakness that no command mends says what to do itself.
func TestWeakTexts(t *testing.T) {
	got := weakTexts([]result.Weakness{
		{Code: "cpus", Text: "a machine with 4 or more helps"},
		{Interface: "eth1", Code: "flow_control", Text: "eth1 obeys pause frames", Command: "ethtool -A eth1 rx off"},
		{Interface: "eth1", Code: "mtu", Text: "the MTU is small", Command: "ip link set eth1 mtu 9000"},
	})
	want := []string{
		"a machine with 4 or more helps", "eth1 obeys pause frames: ethtool -A eth1 rx off", "eth1: the MTU is small: ip link set eth1 mtu 9000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPortTexts(t *testing.T) {
	got := portTexts([]result.Port{
		{Name: "eth1", Driver: "igb", SpeedMbit: 1000, Queues: make([]result.PortQueue, 1), Pause: &result.PortPause{RX: true}},
		{Name: "v0", Kind: "veth", Queues: make([]result.PortQueue, 2)},
	})
	want := []string{"eth1: igb, 1000 Mbit/s, 1 TX queue, flow control on", "v0: veth, 2 TX queues"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
