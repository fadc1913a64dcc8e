package reproducer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"bondrepro/internal/judge"
	"bondrepro/internal/measure"
	"bondrepro/internal/testbed"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// preset is a scenario that comes with the program.
func preset(t *testing.T, name string) scenarios.Scenario {
	t.Helper()
	s, _, err := scenarios.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onPlace makes a session's testbed p until the test ends.
func onPlace(t *testing.T, p *place) {
	t.Helper()
	real := beds[testbedVM]
	beds[testbedVM] = func(context.Context, testbed.Options) (testbed.Testbed, error) { return p, nil }
	t.Cleanup(func() { beds[testbedVM] = real })
}

// A workload without a bond is neither probed nor calibrated; its arm goes to the place as it is.
func TestSampleOfALoad(t *testing.T) {
	p := &place{}
	onPlace(t, p)
	sc := preset(t, "gro-batch")
	s, err := Open(t.Context(), Options{Scenario: sc, Testbed: testbedVM})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.jobs) != 0 || len(s.Config().LineRate) != 0 {
		t.Errorf("jobs %v, line rate %v", p.jobs, s.Config().LineRate)
	}
	one, err := sc.With(sc.Cases[2], sc.Arms[1])
	if err != nil {
		t.Fatal(err)
	}
	sample, err := s.Sample(t.Context(), "on", one)
	if err != nil || sample.Arm != "on" || sample.Metrics["throughput"] != 1e9 {
		t.Errorf("got %+v, %v", sample, err)
	}
	job := p.jobs[0]
	if !job.Scenario.Equal(one) || job.Arm != "on" || len(job.Slaves) != 0 || one.Workload != "rr" || one.Offload["gro"] != "on" {
		t.Errorf("got %+v", job)
	}
	p.fails = &measure.Fault{Class: measure.Refused, What: "tbench", Text: "load.tool: tbench is not installed"}
	_, err = s.Sample(t.Context(), "on", one)
	var usage *UsageError
	if !errors.As(err, &usage) || LacksTool(err) != "tbench" {
		t.Errorf("got %v", err)
	}
	p.fails = &measure.Fault{Class: measure.Failed, Text: "out of memory"}
	_, err = s.Sample(t.Context(), "on", one)
	var kernel *KernelError
	if !errors.As(err, &kernel) || LacksTool(err) != "" {
		t.Errorf("got %v", err)
	}
}

// Over a bond a sample is a judged run's figures, or why a guard threw it out.
func TestSampleOfABond(t *testing.T) {
	rec := recording(t, "stock", result.ArmTest)
	sc := recorded(t, "stock").Arms[0].Scenario
	cut := rec
	cut.LineRate = []float64{2 * rec.LineRate[0], 2 * rec.LineRate[1]} // which the senders did not fill
	p := &place{answers: []answer{{rec: rec}, {rec: cut}}}
	onPlace(t, p)
	sc.Topology.Slaves.LineRate = scenarios.LineRates{BitsPerSecond: rec.LineRate}
	s, err := Open(t.Context(), Options{Scenario: sc, Testbed: testbedVM})
	if err != nil {
		t.Fatal(err)
	}
	sample, err := s.Sample(t.Context(), "a", sc)
	if err != nil || sample.Failure != "" || sample.Arm != "a" || sample.Metrics["rate.achieved"] <= 0 {
		t.Errorf("got %+v, %v", sample, err)
	}
	sample, err = s.Sample(t.Context(), "a", sc)
	if err != nil || !strings.HasPrefix(sample.Failure, "the run does not count: ") || len(sample.Failure) < 40 || sample.Metrics != nil {
		t.Errorf("got %+v, %v", sample, err)
	}
	if j := judge.Run(sc, s.Preflight(sc), cut); j.Valid {
		t.Error("the cut recording is valid")
	}
}

// The charge of a packet is measured once for each kind of packet.
func TestSampleProbesEachPacket(t *testing.T) {
	rec := recording(t, "stock", result.ArmTest)
	sc := recorded(t, "stock").Arms[0].Scenario
	p := &place{answers: []answer{{rec: rec}, {rec: rec}, {rec: rec}}}
	onPlace(t, p)
	sc.Topology.Slaves.LineRate = scenarios.LineRates{BitsPerSecond: rec.LineRate}
	s, err := Open(t.Context(), Options{Scenario: sc, Testbed: testbedVM})
	if err != nil {
		t.Fatal(err)
	}
	small := sc
	small.Traffic.Payload = 100
	for i, c := range []struct {
		sc     scenarios.Scenario
		probes int
	}{{sc, 1}, {small, 2}, {small, 2}} {
		if _, err := s.Sample(t.Context(), "a", c.sc); err != nil || p.probes != c.probes {
			t.Errorf("sample %d: %d probes, want %d (%v)", i, p.probes, c.probes, err)
		}
	}
}

// One place can measure every arm: what they need is asked for together.
func TestPlaceOfAllArms(t *testing.T) {
	sc := preset(t, "timestamp-ab")
	sc, err := sc.Compared(scenarios.Variants{
		{Name: "a", Set: map[string]any{"topology.slaves.qdisc": "fq"}},
		{Name: "b", Set: map[string]any{"topology.vlan": 7.0, "traffic.groups": []any{"ff05::1"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := bedOptions(Options{Scenario: sc})
	if !slices.Contains(o.Qdiscs, "fq") || !o.VLAN || !o.IPv6 || !slices.Equal(o.Kinds, []string{"bond"}) || o.NICs != 2 {
		t.Errorf("got %+v", o)
	}
	for kind, nics := range map[string]int{"loopback": 0, "veth": 0, "joined": 2} {
		o := bedOptions(Options{Scenario: scenarios.Scenario{Topology: scenarios.Topology{Kind: kind}}})
		if o.NICs != nics || !slices.Equal(o.Kinds, []string{kind}) {
			t.Errorf("%s: %+v", kind, o)
		}
	}
}

// What has no verdict is not run for one.
func TestNoVerdict(t *testing.T) {
	for _, name := range []string{"gro-batch", "timestamp-ab"} {
		_, err := Run(t.Context(), Options{Scenario: preset(t, name)})
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "compare") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
