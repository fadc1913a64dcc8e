package compare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// fake is a bench that measures nothing. What it did is in log.
type fake struct {
	booted  bool // places are guests
	measure func(arm string, sc scenarios.Scenario, n int) (map[string]float64, error)
	open    func(arm Arm) error
	log     []string
	n       int
	opened  int
	closed  int
}

func (f *fake) Open(_ context.Context, arm Arm) (Place, error) {
	f.opened++
	f.log = append(f.log, "boot "+arm.Kernel)
	if f.open != nil {
		if err := f.open(arm); err != nil {
			f.closed++
			return nil, err
		}
	}
	return &fakePlace{f, arm}, nil
}

type fakePlace struct {
	*fake
	arm Arm
}

func (p *fakePlace) Sample(_ context.Context, arm string, sc scenarios.Scenario) (result.Sample, error) {
	p.log = append(p.log, arm)
	p.n++
	m, err := p.measure(arm, sc, p.n)
	return result.Sample{Metrics: m}, err
}

func (p *fakePlace) Preflight(sc scenarios.Scenario) result.Preflight {
	if !sc.OnBond() || p.n == 0 { // what a packet is charged with is known once one was measured
		return result.Preflight{}
	}
	n := int(sc.Traffic.Senders)
	return result.Preflight{Senders: n, PerSender: 100, Sum: 100 * n, TxQueueLen: 1000, Exceeds: 100*n > 1000}
}

func (p *fakePlace) CatchUp(scenarios.Scenario) time.Duration { return 30 * time.Millisecond }

func (p *fakePlace) Facts() Facts {
	f := Facts{Testbed: "netns", Host: result.Host{Kernel: "6.1.0", CPUs: 2, CPU: "a fake"}, LineRate: []float64{100e6, 100e6}}
	if p.booted {
		f.Testbed, f.Guest = "vm", &result.Guest{Kernel: p.arm.Kernel}
	}
	return f
}

func (p *fakePlace) Close() error { p.closed++; return nil }

// throughput measures what each arm is given, with noise of that share.
func throughput(noise float64, of map[string]float64) func(string, scenarios.Scenario, int) (map[string]float64, error) {
	random := rand.New(rand.NewPCG(1, 2))
	return func(arm string, _ scenarios.Scenario, _ int) (map[string]float64, error) {
		v, ok := of[strings.TrimSuffix(arm, "′")]
		if !ok {
			return nil, fmt.Errorf("no arm %s", arm)
		}
		return map[string]float64{"throughput": v * (1 + noise*random.NormFloat64())}, nil
	}
}

// stream is a scenario of one TCP stream over veth.
func stream(t *testing.T, set ...string) scenarios.Scenario {
	t.Helper()
	return scenario(t, "name: s\nsummary: a stream\nworkload: stream\ntopology: {kind: veth}\n", set...)
}

func scenario(t *testing.T, text string, set ...string) scenarios.Scenario {
	t.Helper()
	sc, err := scenarios.Parse("s.yaml", []byte(text))
	for _, s := range set {
		if err == nil {
			err = sc.Set(s)
		}
	}
	if err == nil {
		err = sc.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// options are those of a comparison whose arms are written as flags.
func options(t *testing.T, sc scenarios.Scenario, arms ...string) Options {
	t.Helper()
	v, err := Flags{Named: arms}.Variants()
	if err != nil {
		t.Fatal(err)
	}
	base, made, err := Arms(Base{Scenario: sc}, v)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Scenario: base.Scenario, Arms: made, Claims: Claims{Minimum: 1}}
}

func kernelError(reason string) error { return &reproducer.KernelError{Reason: reason} }
