package testbed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/scenarios"
)

// workload is a short one over a kind of topology.
func workload(t *testing.T, kind string, sets ...string) scenarios.Scenario {
	t.Helper()
	sc, err := scenarios.Parse("test.yaml", fmt.Appendf(nil, "workload: stream\ntopology: {kind: %s}\ntraffic: {duration: 300ms, warmup: 100ms}\n", kind))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range sets {
		if err := sc.Set(a); err != nil {
			t.Fatal(err)
		}
	}
	return sc
}

// A workload needs no bonding: it is measured on the running kernel, whatever that lacks.
func TestNetnsSamples(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := Options{Kinds: []string{scenarios.KindLoopback, scenarios.KindVeth}, Progress: silent}
	if err := NetnsUsableFor(o)(ctx); err != nil {
		t.Skip(err)
	}
	bed, err := OpenNetns(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	for _, sc := range []scenarios.Scenario{workload(t, "loopback"), workload(t, "veth", "offload={tso: off, gso: off, gro: on}")} {
		s, err := bed.Sample(ctx, measure.Job{Arm: "a", Scenario: sc})
		if err != nil || s.Failure != "" || s.Metrics["throughput"] <= 0 {
			t.Errorf("%s: %+v, %v", sc.Topology.Kind, s, err)
		}
	}
	var fault *measure.Fault
	_, err = bed.Sample(ctx, measure.Job{Scenario: workload(t, "loopback", "offload.lro=on")})
	if !errors.As(err, &fault) || fault.Class != measure.Refused || !strings.Contains(fault.Text, "lo") {
		t.Errorf("an offload that lo lacks: %v", err)
	}
	if s, err := bed.Sample(ctx, measure.Job{Scenario: workload(t, "loopback")}); err != nil || s.Failure != "" {
		t.Errorf("after a refusal: %+v, %v", s, err)
	}
}

func TestPlacesRefuseKinds(t *testing.T) {
	for name, c := range map[string]struct {
		open func(context.Context, Options) (Testbed, error)
		kind string
		want string
	}{
		"netns": {OpenNetns, scenarios.KindJoined, "use --testbed vm"},
		"host":  {OpenHost, scenarios.KindVeth, "use --testbed netns or vm"},
	} {
		_, err := c.open(t.Context(), Options{Kinds: []string{c.kind}, Progress: silent})
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
