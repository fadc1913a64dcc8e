package reproducer

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"bondrepro/internal/measure"
	"bondrepro/internal/testbed"
	"bondrepro/scenarios"
)

func TestChooseTestbed(t *testing.T) {
	can := func(context.Context) error { return nil }
	cannot := func(context.Context) error {
		return &testbed.UnusableError{Err: errors.New("this kernel (6.18.0) has no bonding")}
	}
	never := func(context.Context) error { t.Error("the running kernel was tried"); return nil }
	stuck, _, err := scenarios.Load("bond-stuck-queue")
	if err != nil {
		t.Fatal(err)
	}
	load := func(kind string) scenarios.Scenario {
		s, err := scenarios.Parse("load.yaml", []byte("workload: stream\ntopology: {kind: "+kind+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		name    string
		options Options
		usable  func(context.Context) error
		bed     string
		why     string
	}{
		{"nothing asked, the kernel can", Options{}, can, "netns", "auto: the running kernel can make the bond"},
		{"auto, the kernel can't", Options{Testbed: "auto"}, cannot, "vm", "auto: this kernel (6.18.0) has no bonding, so a guest is booted"},
		{"a fault that needs a lockless queue", Options{Scenario: stuck}, never, "vm",
			"auto: the scenario is about slaves.qdisc.stuck, and pfifo_fast is not lockless below the tbf that makes the line in netns, so a guest is booted"},
		{"no bond is needed", Options{Scenario: load("veth")}, can, "netns", "auto: the running kernel can, in namespaces of its own"},
		{"two NICs", Options{Scenario: load("joined")}, never, "vm", "auto: two NICs are to be joined, so a guest is booted"},
		{"vm", Options{Testbed: "vm"}, never, "vm", "asked for"},
		{"netns", Options{Testbed: "netns"}, never, "netns", "asked for"},
		{"a kernel is named", Options{Kernel: "bzImage"}, never, "vm", "auto: --kernel is for a guest"},
		{"a module is named", Options{Modules: map[string]string{"bonding": "bonding.ko"}}, never, "vm", "auto: --module is for a guest"},
		{"modules are named", Options{ModulesDir: "DIR"}, never, "vm", "auto: --modules is for a guest"},
		{"a QEMU is named", Options{QEMU: "qemu"}, never, "vm", "auto: --qemu is for a guest"},
		{"frames are wanted", Options{Pcap: "wire.pcapng"}, never, "vm", "auto: --pcap is for a guest"},
	} {
		if c.options.Scenario.Name == "" {
			c.options.Scenario = scenarios.Default()
		}
		bed, why, err := chooseTestbed(t.Context(), c.options, c.usable)
		if err != nil || bed != c.bed || why != c.why {
			t.Errorf("%s: %s (%s), %v; want %s (%s)", c.name, bed, why, err, c.bed, c.why)
		}
	}
	var usage *UsageError
	if _, _, err := chooseTestbed(t.Context(), Options{Testbed: "netns", Scenario: stuck}, never); !errors.As(err, &usage) || !strings.Contains(err.Error(), "lockless") {
		t.Errorf("netns for a fault that needs a lockless queue: %v", err)
	}
	ours := errors.New("a fault of ours")
	if _, _, err := chooseTestbed(t.Context(), Options{}, func(context.Context) error { return ours }); !errors.Is(err, ours) {
		t.Errorf("a fault of ours became %v", err)
	}
	_, _, err = chooseTestbed(t.Context(), Options{Testbed: "moon"}, never)
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "moon") {
		t.Errorf("an unknown testbed: %v, want a usage error that names it", err)
	}
}

// What the arms need together: a control in another mode has its needs, too.
func TestBedOptionsCoverBothArms(t *testing.T) {
	sc := scenarios.Default()
	o := bedOptions(Options{Scenario: sc})
	if o.NICs != 2 || o.Queues != 1 || o.Partner || o.LinkSpeed != 0 || o.IPv6 {
		t.Errorf("the default needs %+v", o)
	}
	sc.Control = map[string]any{"topology.bond.mode": "802.3ad", "topology.slaves.qdisc": "fq", "traffic.groups": []any{"ff0e::1"}}
	o = bedOptions(Options{Scenario: sc})
	if !o.Partner || o.LinkSpeed == 0 || !o.IPv6 || len(o.Qdiscs) != 2 || o.Qdiscs[1] != "fq" {
		t.Errorf("with a control in 802.3ad, fq and IPv6: %+v", o)
	}
}

func TestAutoSenders(t *testing.T) {
	p := &place{}
	s := experimentAt(t, p).session // truesize 8448, ring 256
	sc := scenarios.Default()
	sc.Traffic.Senders = scenarios.AutoSenders
	if got := s.settleSenders(sc).Traffic.Senders; got != 38 || s.Preflight(s.settleSenders(sc)).Tight {
		t.Errorf("%d senders, want 38: a queue of 1000 packets, 26 each", got)
	}
	sc.Traffic.Senders = 48
	if got := s.settleSenders(sc).Traffic.Senders; got != 48 || !s.Preflight(sc).Exceeds {
		t.Errorf("%d senders, want the 48 that were asked for, which do not fit", got)
	}
	sc.Traffic.Senders, sc.Topology.Slaves.TxQueueLen = scenarios.AutoSenders, 1
	s.known[chargingOf(sc)] = measure.Probe{Truesize: s.knownOf(sc).Truesize} // no ring
	if got := s.settleSenders(sc).Traffic.Senders; got != 1 {
		t.Errorf("%d senders where not even one fits, want 1", got)
	}
}

// refusing is a place that can't do what is asked.
type refusing struct {
	place
	closed *bool
}

func (p *refusing) Probe(context.Context, measure.Job) (measure.Probe, error) {
	return measure.Probe{}, &measure.Fault{Class: measure.Refused, Text: "SO_SNDBUFFORCE: operation not permitted"}
}

func (p *refusing) Close() error { *p.closed = true; return nil }

// What auto chose may turn out to be unable: then a guest is booted, and why is said. What was asked for is refused.
func TestAutoFallsBackToAGuest(t *testing.T) {
	saved := maps.Clone(beds)
	t.Cleanup(func() { beds = saved })
	closed := false
	guest := &place{}
	var kernel string
	beds = map[string]func(context.Context, testbed.Options) (testbed.Testbed, error){
		testbedNetns: func(context.Context, testbed.Options) (testbed.Testbed, error) {
			return &refusing{closed: &closed}, nil
		},
		testbedVM: func(_ context.Context, o testbed.Options) (testbed.Testbed, error) {
			kernel = o.Kernel
			return guest, nil
		},
	}
	s := &Session{options: Options{Scenario: scenarios.Default(), Progress: func(string) {}}}
	if err := s.openChosen(t.Context(), testbedNetns, "auto: it can"); err != nil {
		t.Fatal(err)
	}
	if !closed || s.config.Testbed != testbedVM || kernel != DefaultKernel || s.knownOf(s.options.Scenario).Truesize == 0 || s.config.TestbedWhy !=
		"auto: the running kernel can't measure this (SO_SNDBUFFORCE: operation not permitted), so a guest is booted" {
		t.Errorf("closed %v, testbed %s (%s), kernel %q", closed, s.config.Testbed, s.config.TestbedWhy, kernel)
	}
	for range 2 {
		if err := s.Close(); err != nil || guest.closed != 1 {
			t.Errorf("the guest was closed %d times, want once (%v)", guest.closed, err)
		}
	}

	s = &Session{options: Options{Scenario: scenarios.Default(), Testbed: testbedNetns, Progress: func(string) {}}}
	var usage *UsageError
	if err := s.openChosen(t.Context(), testbedNetns, "asked for"); !errors.As(err, &usage) || s.config.Testbed != testbedNetns {
		t.Errorf("asked for netns: %v in %s, want a usage error", err, s.config.Testbed)
	}
}
