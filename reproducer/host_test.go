package reproducer

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/testbed"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

func TestHostFlags(t *testing.T) {
	ports := HostOptions{Slaves: []string{"eth1", "eth2"}}
	for _, c := range []struct {
		name, bed string
		host      HostOptions
		want      string // in the error; "" where there is none
	}{
		{"two ports", testbedHost, ports, ""},
		{"a bond", testbedHost, HostOptions{Bond: "bond0", Yes: true, Control: true}, ""},
		{"no ports in another testbed", testbedVM, HostOptions{}, ""},
		{"no ports", testbedHost, HostOptions{}, "--slaves eth1,eth2"},
		{"ports, auto", testbedAuto, ports, "--testbed host"},
		{"a bond, netns", testbedNetns, HostOptions{Bond: "bond0"}, "--bond names real ports"},
		{"both", testbedHost, HostOptions{Slaves: ports.Slaves, Bond: "bond0", Yes: true}, "name one of them"},
		{"a bond without --yes", testbedHost, HostOptions{Bond: "bond0"}, "--yes"},
		{"--control with ports", testbedHost, HostOptions{Slaves: ports.Slaves, Control: true}, "--no-control"},
		{"--yes with ports", testbedHost, HostOptions{Slaves: ports.Slaves, Yes: true}, "--yes is for --bond"},
		{"twice", testbedHost, HostOptions{Slaves: []string{"eth1", "eth1"}}, "once"},
		{"an empty name", testbedHost, HostOptions{Slaves: []string{"eth1", ""}}, "named"},
		{"--take-addresses in a guest", testbedVM, HostOptions{TakeAddresses: true}, "for real ports"},
	} {
		err := c.host.check(c.bed)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestGuestFlagsWithPorts(t *testing.T) {
	_, _, err := chooseTestbed(t.Context(), Options{Testbed: testbedHost, Kernel: "bzImage", Host: HostOptions{Slaves: []string{"eth1", "eth2"}}}, nil)
	var usage *UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "--kernel can't be honoured") {
		t.Errorf("--kernel with real ports: %v", err)
	}
}

func TestOnPorts(t *testing.T) {
	slaves, bond := HostOptions{Slaves: []string{"eth1", "eth2", "eth3"}}, HostOptions{Bond: "bond0", Yes: true}
	asked := bond
	asked.Control = true
	for _, c := range []struct {
		name   string
		host   HostOptions
		set    []string
		change func(*scenarios.Scenario)
		want   string // in the error
		count  int
		none   bool // no control
	}{
		{name: "as many slaves as ports", host: slaves, count: 3},
		{name: "a number of slaves", host: slaves, set: []string{"topology.slaves.count=2"}, want: "topology.slaves.count=2 can't be honoured"},
		{name: "a rate for each of two slaves", host: slaves, want: "--slaves names 3", change: func(sc *scenarios.Scenario) {
			sc.Topology.Slaves.LineRate = scenarios.LineRates{BitsPerSecond: []float64{1e9, 1e9}}
		}},
		{name: "a control on other lines", host: slaves, want: "--no-control", change: func(sc *scenarios.Scenario) {
			sc.Control = map[string]any{"topology.slaves.line_rate": "1gbit"}
		}},
		{name: "a bond has no control", host: bond, count: 2, none: true},
		{name: "unless asked", host: asked, count: 2},
		{name: "a control that changes the bond", host: asked, want: "leave --control out", change: func(sc *scenarios.Scenario) {
			sc.Control = map[string]any{"topology.slaves.txqueuelen": 8.0}
		}},
		{name: "a topology of its own", host: bond, set: []string{"topology.mtu=1500"}, want: "measured as it is"},
	} {
		sc := scenarios.Default()
		if c.change != nil {
			c.change(&sc)
		}
		o, err := Options{Scenario: sc, Set: c.set, Host: c.host}.onPorts()
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		case err != nil || o.Scenario.Topology.Slaves.Count != c.count || o.NoControl != c.none:
			t.Errorf("%s: %d slaves, no control %v, %v", c.name, o.Scenario.Topology.Slaves.Count, o.NoControl, err)
		}
	}
}

// ports are a place of real ports that play recordings back.
type ports struct {
	place
	left   []string
	failed error
}

var _ testbed.Real = (*ports)(nil)

func (p *ports) Fit(sc scenarios.Scenario) scenarios.Scenario { return sc }
func (p *ports) LineRates() ([]float64, string)               { return []float64{152e6, 152e6}, "of the links" }
func (p *ports) Left() []string                               { return p.left }
func (p *ports) Close() error                                 { return errors.Join(p.place.Close(), p.failed) }

// A machine that could not be put back is exit code 128 beside its verdict; a port that is gone is only told.
func TestRunOnPortsThatAreNotPutBack(t *testing.T) {
	saved := maps.Clone(beds)
	t.Cleanup(func() { beds = saved })
	notBack := &exitcode.Error{Code: exitcode.Usage, Err: &testbed.NotRestoredError{Err: errors.New("eth1: mtu: it was 1500 and is 9000")}}
	for _, c := range []struct {
		name   string
		left   []string
		failed error
	}{{"all is back", nil, nil}, {"a port is gone", []string{"eth1 is gone"}, nil}, {"an MTU is not back", nil, notBack}} {
		stock, control := answer{rec: recording(t, "stock", "test")}, answer{rec: recording(t, "stock", "control")}
		bed := &ports{place: place{answers: []answer{stock, stock, control}}, left: c.left, failed: c.failed}
		beds = map[string]func(context.Context, testbed.Options) (testbed.Testbed, error){
			testbedHost: func(context.Context, testbed.Options) (testbed.Testbed, error) { return bed, nil },
		}
		r, err := Run(t.Context(), Options{
			Scenario: recorded(t, "stock").Config.Scenario, Testbed: testbedHost, Host: HostOptions{Slaves: []string{"eth0", "eth1"}},
		})
		var left *NotRestoredError
		if r.Judgement.Verdict != result.Good || bed.closed != 1 || errors.As(err, &left) != (c.failed != nil) || c.failed != nil && exitcode.Of(err) != exitcode.Usage {
			t.Errorf("%s: %s, closed %d times, %v", c.name, r.Judgement.Verdict, bed.closed, err)
		}
		told := len(r.Warnings) > 0 && strings.Contains(r.Warnings[len(r.Warnings)-1].Text, "eth1 is gone")
		if told != (len(c.left) > 0) || r.Config.LineRateWhy != "of the links" {
			t.Errorf("%s: warnings %v, line rate %s", c.name, r.Warnings, r.Config.LineRateWhy)
		}
	}
}
