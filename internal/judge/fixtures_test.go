package judge

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

var update = flag.Bool("update", false, "write the results that the tests of internal/report print")

// fixtures are results for the tests of internal/report, which must not import this package.
var fixtures = []struct {
	name          string
	set           []string
	test, control []sim
}{
	{"good", nil, []sim{clean, clean}, []sim{shown}},
	{"bad-kernel", nil, []sim{bad}, []sim{shown}},
	{"bad-configuration", []string{"traffic.senders=64"}, []sim{config}, []sim{shown}},
	{"bad-broadcast", []string{"topology.bond.mode=broadcast", "topology.slaves.line_rate=[60mbit, 100mbit]"}, []sim{{func() *plan {
		p := broadcast(stock())
		p.rates = []float64{60e6, 100e6}
		p.drops = []int{3710, 0}
		return p
	}, nil}}, []sim{shown}},
	{"good-receiver", nil, []sim{clean, {stock, at(sent-31, func(w *result.Wire) { w.Slaves[0].Overflow = 12 })}}, []sim{shown}},
	{"bad-lost", nil, []sim{lossy, clean, lossy}, []sim{shown}},
	{"cannot-tell-line", nil, []sim{invalid}, []sim{shown}},
	{"cannot-tell-panic", nil, []sim{panicked}, nil},
}

// presetFixtures are of scenarios that are about more than throttling; the first run's is the whole result's.
var presetFixtures = []struct {
	name    string
	poll    float64 // ms
	test    []sim
	control []sim
}{
	{"good-spread", 100, []sim{spreading, spreading}, []sim{oneSlave}},
	{"good-failover", 40, []sim{{failing, failedOver}, {failing, failedOver}}, nil},
	{"bad-spread", 100, []sim{{func() *plan {
		p := hashing("layer3+4")
		p.sc.Traffic.Senders = 2
		return p
	}, func(r *result.Recording) { // 32 flows, each half on either slave
		p := hashing("layer3+4")
		placed(p.sc, byLast)(r)
		r.Wire.Slaves[1].Overflow, r.Wire.Slaves[1].Ours = 40, r.Wire.Slaves[1].Ours-40
		r.Wire.Senders[0].Unique -= 40
		r.Wire.Senders[1].Crossed = 12
	}}}, nil},
	{"bad-queues", 100, []sim{{manyQueues, both(onQueue(2), func(r *result.Recording) {
		r.KernelLog = []string{"eth0 selects TX queue 7, but real number of TX queues is 4"}
	})}}, nil},
	{"bad-stuck", simPollMS, []sim{{bursting, wedge(103, 104)}}, nil},
}

var (
	spreading = sim{func() *plan { return hashing("layer2") }, placed(hashing("layer2").sc, byLast)}
	oneSlave  = sim{func() *plan {
		p := hashing("layer2+3")
		p.sc.Control = map[string]any{}
		p.share = []float64{0, 1}
		return p
	}, placed(hashing("layer2+3").sc, allOn(1))}
)

// TestFixtures holds the stored results to today's judgement; -update writes them.
func TestFixtures(t *testing.T) {
	for _, f := range fixtures {
		sc := scenarios.Default()
		sc.Summary = "a socket sending over a bond is throttled, not dropped in a slave's pfifo_fast"
		for _, s := range f.set {
			if err := sc.Set(s); err != nil {
				t.Fatal(err)
			}
		}
		holdFixture(t, f.name, sc, f.set, fixtureArms(100, f.test, f.control), f.test[0].plan().rates)
	}
	for _, f := range presetFixtures {
		sc := f.test[0].plan().sc
		sc.Name, sc.Summary = strings.TrimPrefix(strings.TrimPrefix(f.name, "good-"), "bad-"), "a simulated run"
		if f.control == nil {
			sc.Control = map[string]any{}
		} else {
			sc.Control = map[string]any{"topology.bond.xmit_hash_policy": "layer2+3"}
		}
		holdFixture(t, f.name, sc, nil, fixtureArms(f.poll, f.test, f.control), f.test[0].plan().rates)
	}
}

// holdFixture holds one stored result to today's judgement.
func holdFixture(t *testing.T, name string, sc scenarios.Scenario, set []string, arms []result.Arm, rates []float64) {
	t.Helper()
	r := Again(result.Result{
		Schema: result.Schema,
		Tool:   "bondrepro test",
		Config: result.Config{
			Scenario: sc, Set: set, Testbed: "vm", TestbedWhy: "a kernel is named", Kernel: "deb:linux-image-6.1.0-57-cloud-amd64",
			Modules: map[string]string{"bonding": "/tmp/bonding.ko"}, LineRate: rates,
			LineRateWhy: "a third of the 312 Mbit/s that the sender can do", SenderCapacity: 312e6,
		},
		Host: result.Host{Kernel: "6.18.0", CPUs: 2, CPU: "some CPU", QEMU: "7.2.22"},
		Guest: &result.Guest{
			Kernel: "6.1.0-57-cloud-amd64", BuildID: "a3c5f1d2e4b6978012345678deadbeef01020304", Accelerator: "tcg", AcceleratorWhy: "/dev/kvm does not open",
			CPUs: 2, MemoryMB: 1024, Modules: []result.Module{{Name: "bonding", File: "/tmp/bonding.ko", BuildID: "00ff", Swapped: true, Proven: true}, {Name: "virtio_net", Proven: true}},
		},
		Arms: arms,
	})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := filepath.Join("..", "report", "testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, text) {
		t.Errorf("%s is not what the judge says today; if that is meant: go test ./internal/judge -update && go test ./internal/report -update", file)
	}
}

// fixtureArms polls less often, to keep the files small, and decodes pfifo_fast's options as tc does.
func fixtureArms(poll float64, test, control []sim) []result.Arm {
	sparse := func(sims []sim) (out []sim) {
		for _, s := range sims {
			out = append(out, sim{func() *plan { p := s.plan(); p.poll = poll; return p }, s.spoil})
		}
		return out
	}
	arms := []result.Arm{arm("test", sparse(test)...)}
	if control != nil {
		arms = append(arms, arm("control", sparse(control)...))
	}
	for _, a := range arms {
		for i := range a.Runs {
			for _, s := range a.Runs[i].Recording.After.Slaves {
				for q := range s.Qdiscs {
					s.Qdiscs[q].Options = &counters.Options{PfifoFast: &counters.PfifoFast{Bands: 3, Priomap: [16]uint8{1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}}}
				}
			}
		}
	}
	return arms
}
