package compare

import (
	"fmt"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"github.com/google/go-cmp/cmp"
)

// bond is a scenario over a bond.
func bond(t *testing.T, set ...string) scenarios.Scenario {
	t.Helper()
	return scenario(t, "name: b\nsummary: a bond\n", set...)
}

func sweep(t *testing.T, bench Bench, sc scenarios.Scenario, runs int, over ...string) result.Sweep {
	t.Helper()
	swept, err := ParseOver(over)
	if err != nil {
		t.Fatal(err)
	}
	o, points, err := SweepOptions{Base: Base{Scenario: sc}, Over: swept, Order: result.Order{Runs: runs}}.Points()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Sweep(t.Context(), bench, o, points)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSweepOverOneParameter(t *testing.T) {
	bench := &fake{measure: func(_ string, sc scenarios.Scenario, n int) (map[string]float64, error) {
		return map[string]float64{"throughput": float64(sc.Load.Connections)*1e9 + float64(n), "latency.max": 3}, nil
	}}
	s := sweep(t, bench, stream(t), 2, "load.connections=1,2,4")
	if got, want := strings.Join(bench.log, ", "), "boot , load.connections=1, load.connections=2, load.connections=4, load.connections=4, load.connections=2, load.connections=1"; got != want {
		t.Errorf("order: %s, want %s", got, want)
	}
	if d := cmp.Diff([]string{"throughput"}, s.Metrics); d != "" {
		t.Error(d)
	}
	if p := s.Points[1]; len(s.Points) != 3 || p.Values[0] != "2" || p.Figures["throughput"].Mean != 2e9+3.5 || p.Figures["throughput"].N != 2 {
		t.Errorf("%+v", s.Points)
	}
	if s.Crossings != nil {
		t.Errorf("a stream has no preflight sum: %+v", s.Crossings)
	}
	if s.Testbed != "netns" || s.Host == nil {
		t.Errorf("it does not say where: %+v", s)
	}
}

// Drops begin at 1100 packets here, and the sum predicts 1000. Where is told by the lowest value, in whatever order they are written.
func TestSweepCrossesTheLine(t *testing.T) {
	bench := &fake{measure: func(_ string, sc scenarios.Scenario, _ int) (map[string]float64, error) {
		drops := 0.0
		if n := int(sc.Traffic.Senders) * 100; n > 1100 && sc.Topology.Slaves.TxQueueLen < 5000 {
			drops = float64(n)
		}
		return map[string]float64{"rate.achieved": 1e8, "slaves.qdisc.dropped": drops}, nil
	}}
	s := sweep(t, bench, bond(t), 1, "traffic.senders=16,4,11", "topology.slaves.txqueuelen=1000,8000")
	want := []result.Crossing{
		{At: "1000", Measured: "16", Predicted: "11", Tight: "11"},
		{At: "8000", Measured: "", Predicted: "11", Tight: "11"},
	}
	if d := cmp.Diff(want, s.Crossings); d != "" {
		t.Error(d)
	}
	var values []string
	for _, p := range s.Points {
		values = append(values, strings.Join(p.Values, " "))
	}
	if d := cmp.Diff([]string{"16 1000", "16 8000", "4 1000", "4 8000", "11 1000", "11 8000"}, values); d != "" {
		t.Error(d)
	}
}

// A rate below the line's leaves the line empty, and such runs must count.
func TestSweepOverRatesLeavesTheLineEmpty(t *testing.T) {
	full := true
	bench := &fake{measure: func(_ string, sc scenarios.Scenario, _ int) (map[string]float64, error) {
		full = sc.Guards.LineFull
		return map[string]float64{"rate.achieved": 1}, nil
	}}
	sweep(t, bench, bond(t), 1, "traffic.rate=10mbit,20mbit")
	if full {
		t.Error("the guard line_full is on")
	}
	sweep(t, bench, bond(t), 1, "traffic.senders=1,2")
	if !full {
		t.Error("the guard line_full is off where the rate is not varied")
	}
}

func TestSweepsThatCanNotBe(t *testing.T) {
	for _, c := range []struct {
		over []string
		want string
	}{
		{nil, "there is nothing to sweep over: give --over PATH=VALUE,VALUE,…, or name a scenario that has a sweep"},
		{[]string{"load.connections"}, "--over load.connections: it must be PATH=VALUE,VALUE,…, as in traffic.senders=1,4,16"},
		{[]string{"load.connections=1"}, "--over load.connections=1: it has one value; a sweep needs two or more, as in traffic.senders=1,4,16"},
		{[]string{"load.connections=1,"}, "--over load.connections=1,: a value is missing, or is not YAML"},
		{[]string{"load.connections=4,1,4"}, "--over load.connections: the value 4 stands there twice"},
		{[]string{"load.connections=1,2", "load.connections=3,4"}, "--over load.connections=3,4: load.connections was given already"},
		{[]string{"load.connections=1,2", "load.write=3,4", "topology.mtu=1500,9000"}, "--over is given 3 times: a sweep has one or two parameters"},
		{[]string{"load.conections=1,2"}, `--over: "load.conections=1": there is no field "conections" in load; did you mean connections?`},
	} {
		over, err := ParseOver(c.over)
		if err == nil {
			_, _, err = SweepOptions{Base: Base{Scenario: stream(t)}, Over: over}.Points()
		}
		if text, _, _ := strings.Cut(fmt.Sprint(err), " (fields in"); text != c.want && !strings.Contains(c.want, "did you mean") {
			t.Errorf("%v:\n got %v\nwant %s", c.over, err, c.want)
		} else if !strings.Contains(text, "did you mean") && strings.Contains(c.want, "did you mean") {
			t.Errorf("%v: no suggestion: %v", c.over, err)
		}
	}
}

func TestSweepValuesMayHoldCommas(t *testing.T) {
	over, err := ParseOver([]string{"topology.slaves.line_rate=[60mbit, 100mbit],100mbit"})
	if err != nil || len(over[0].Values) != 2 {
		t.Fatalf("%+v, %v", over, err)
	}
	if d := cmp.Diff([]any{"60mbit", "100mbit"}, over[0].Values[0]); d != "" {
		t.Error(d)
	}
}
