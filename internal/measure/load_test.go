package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/traffic/workload"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// A scenario can't import the workloads, which have the figures: the two tables say the same.
func TestMetricsOfWorkloads(t *testing.T) {
	var ours []scenarios.Metric
	for _, m := range workload.Metrics {
		ours = append(ours, scenarios.Metric{Name: m.Name, Unit: m.Unit, Better: scenarios.Direction(m.Better), Doc: m.Doc})
	}
	if !slices.Equal(ours, scenarios.LoadMetrics) {
		t.Errorf("the workloads' table and the scenarios' differ:\n%v\n%v", ours, scenarios.LoadMetrics)
	}
}

// loadOf is a short scenario of the kind, with assignments.
func loadOf(t *testing.T, kind string, sets ...string) scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("test.yaml", fmt.Appendf(nil, "workload: stream\ntopology: {kind: %s}\ntraffic: {duration: 200ms, warmup: 50ms}\n", kind))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range sets {
		if err := s.Set(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// needRoot: a user without rights has a namespace of his own through package netns only.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("makes network namespaces, which needs root")
	}
}

func sampleOf(t *testing.T, sc scenarios.Scenario) (result.Sample, error) {
	t.Helper()
	needRoot(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return MeasureLoad(ctx, Job{Arm: "x", Scenario: sc})
}

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		kind string
		sets []string
		has  string
	}{
		{"loopback", nil, "throughput"},
		{"loopback", []string{"workload=mixed", "load.connections=3", "offload={tso: off, gso: off}"}, "latency.p99"},
		{"veth", []string{"load.connections=2", "offload={tso: off, gso: off, gro: on}", "sysctl={net.ipv4.tcp_rmem: 4096 65536 65536}"}, "cpu.server.system"},
		{"veth", []string{"workload=rr", "load.request=8000", "load.response=8000", "load.connections=4"}, "latency.oneway"},
		{"veth", []string{"workload=rr", "load.protocol=udp"}, "datagrams.lost"},
		{"veth", []string{"workload=udp", "load.group=239.66.1.1", "load.rate=2kpps"}, "datagrams.lost"},
		{"veth", []string{"workload=udp", "load.rate=2kpps", "load.client_cpus=[0]"}, "throughput"},
	} {
		t.Run(c.kind+" "+strings.Join(c.sets, " "), func(t *testing.T) {
			sc := loadOf(t, c.kind, c.sets...)
			s, err := sampleOf(t, sc)
			if err != nil {
				t.Fatal(err)
			}
			if s.Failure != "" || s.Arm != "x" || s.Metrics["throughput"] <= 0 || s.TookS <= 0 {
				t.Errorf("got %+v", s)
			}
			if _, ok := s.Metrics[c.has]; !ok {
				t.Errorf("no %s in %v", c.has, s.Metrics)
			}
			for name := range s.Metrics {
				if why := sc.Lacks(name); why != "" {
					t.Errorf("%s is there, and the scenario says that it can't be: %s", name, why)
				}
			}
		})
	}
}

// What was asked for and can't be had is one sentence that names it.
func TestSampleRefuses(t *testing.T) {
	for _, c := range []struct {
		kind string
		set  string
		want string
	}{
		{"loopback", "offload.lro=on", "offload.lro"},
		{"veth", "offload.rx-nosuch=on", "it has no such feature"},
		{"veth", "offload.netns-local=on", "eth0"},
		{"loopback", "sysctl.net.nosuch=1", "sysctl.net.nosuch: a network namespace of this kernel has no such sysctl"},
		{"loopback", "sysctl.vm.swappiness=1", "sysctl.vm.swappiness: it is the whole machine's"},
		{"loopback", "sysctl.net.ipv4.ip_forward=perhaps", `sysctl.net.ipv4.ip_forward: "perhaps" can't be set: invalid argument`},
		{"loopback", "load.client_cpus=[1000]", "load.client_cpus: no thread can run on CPU 1000 here"},
		{"veth", "topology.mtu=68", ""},
	} {
		sc := loadOf(t, c.kind, c.set)
		_, err := sampleOf(t, sc)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.set, err)
			}
			continue
		}
		if f := AsFault(err); err == nil || f.Class != Refused || !strings.Contains(f.Text, c.want) || strings.Contains(f.Text, "\n") {
			t.Errorf("%s: got %v, want %s", c.set, err, c.want)
		}
	}
}

// The machine's own interfaces and sysctls are as they were after a sample.
func TestSampleLeavesNothing(t *testing.T) {
	needRoot(t)
	state := func() string {
		interfaces, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		forward, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
		if err != nil {
			t.Fatal(err)
		}
		features, err := bondctl.Offload("lo", []string{"tso", "gso", "gro"})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(interfaces, string(forward), features)
	}
	before := state()
	for _, kind := range []string{"loopback", "veth"} {
		if _, err := sampleOf(t, loadOf(t, kind, "offload={tso: off, gro: off}", "sysctl={net.ipv4.ip_forward: 1}", "topology.mtu=1400")); err != nil {
			t.Fatal(err)
		}
	}
	if after := state(); after != before {
		t.Errorf("was %s and is %s", before, after)
	}
}

// A sample ends soon after its context.
func TestSampleIsCancelled(t *testing.T) {
	needRoot(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	_, err := MeasureLoad(ctx, Job{Scenario: loadOf(t, "veth", "traffic.duration=60s")})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// An external tool is a sample like ours, and one that is not installed is named.
func TestSampleOfATool(t *testing.T) {
	sc := loadOf(t, "veth", "workload=external", "load.tool=iperf3", "traffic.duration=1s", "traffic.warmup=0s")
	t.Run("installed", func(t *testing.T) {
		s, err := sampleOf(t, sc)
		if tool := LacksTool(err); tool != "" {
			t.Skipf("%s is not installed: %v", tool, err)
		}
		if err != nil || s.Metrics["throughput"] <= 0 {
			t.Errorf("got %+v, %v", s, err)
		}
	})
	t.Run("not installed", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := sampleOf(t, sc); LacksTool(err) != "iperf3" || AsFault(err).Class != Refused {
			t.Errorf("got %v", err)
		}
	})
}

// Features of a device that outlives the sample are put back.
func TestOffloadIsPutBack(t *testing.T) {
	needRoot(t)
	e := &ends{}
	s, err := e.space()
	if err != nil {
		t.Fatal(err)
	}
	read := func() (on map[string]bool) {
		if err := s.do(func() (err error) { on, err = bondctl.Offload("lo", []string{"tso", "gro"}); return err }); err != nil {
			t.Fatal(err)
		}
		return on
	}
	before := read()
	if err := s.do(func() error { return e.setOffload(s, "lo", map[string]bool{"tso": false, "gro": false}) }); err != nil {
		t.Fatal(err)
	}
	if now := read(); now["tx-tcp-segmentation"] || now["rx-gro"] || maps.Equal(now, before) {
		t.Errorf("not set: %v", now)
	}
	put := e.closers[len(e.closers)-1] // the first one closes the namespace
	if err := put(); err != nil || !maps.Equal(read(), before) {
		t.Errorf("%v, and was %v (%v)", read(), before, err)
	}
	if err := e.closers[0](); err != nil {
		t.Error(err)
	}
}

// Likewise those of a bond's slaves; a bond that was there is nobody's to change.
func TestOffloadOfSlavesIsPutBack(t *testing.T) {
	needRoot(t)
	s, err := newSpace()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	err = s.do(func() error {
		p := &place{spec: bondctl.Spec{Slaves: []string{"lo"}, Offload: map[string]bool{"tso": false}}}
		before, err := bondctl.Offload("lo", []string{"tso"})
		if err := errors.Join(err, p.remember(), bondctl.SetOffload("lo", p.spec.Offload), p.putBack()); err != nil {
			return err
		}
		if after, err := bondctl.Offload("lo", []string{"tso"}); err != nil || !maps.Equal(after, before) || !after["tx-tcp-segmentation"] {
			t.Errorf("%v, and was %v (%v)", after, before, err)
		}
		p.leaves, p.before = true, nil
		if err := p.remember(); len(p.before) != 0 {
			t.Errorf("a bond that was there: %v", p.before)
			return err
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
