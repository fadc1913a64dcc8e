package compare

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func run(t *testing.T, bench Bench, o Options) result.Comparison {
	t.Helper()
	c, err := Run(t.Context(), bench, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComparesArmsInOnePlace(t *testing.T) {
	bench := &fake{measure: throughput(0.005, map[string]float64{"off": 5.2e9, "on": 5.839e9})}
	o := options(t, stream(t), "off:offload.gro=off", "on:offload.gro=on")
	o.Order = result.Order{Runs: 6, Warmup: 1}
	o.FailIf = []string{"throughput < -5%", "throughput > 5%"}
	c := run(t, bench, o)
	if got, want := strings.Join(bench.log, " "), "boot  off on off on on off off on on off off on on off"; got != want {
		t.Errorf("order: %s, want %s", got, want)
	}
	if len(c.Differences) != 1 {
		t.Fatalf("%d differences: %+v", len(c.Differences), c.Differences)
	}
	d := c.Differences[0]
	if d.Verdict != result.DifferenceHigher || !d.Improves() || d.Worsens() || d.BaseIs.N != 6 || d.OtherIs.N != 6 || d.Counts != "runs" {
		t.Errorf("%+v", d)
	}
	if c.Gates[0].State != result.GateFalse || c.Gates[1].State != result.GateTrue || Outcome(c) != Failed {
		t.Errorf("%s: %+v", Outcome(c), c.Gates)
	}
	if bench.opened != 1 || bench.closed != 1 {
		t.Errorf("opened %d, closed %d", bench.opened, bench.closed)
	}
	for i, s := range c.Samples {
		if s.Boot != 1 || s.At != i+1 || s.Warmup != (i < 2) {
			t.Errorf("sample %d: %+v", i, s)
		}
	}
}

func TestKernelsNestRunsInBoots(t *testing.T) {
	bench := &fake{booted: true, measure: throughput(0.001, map[string]float64{"old": 100, "new": 200})}
	o := options(t, stream(t), "old:kernel=./old", "new:kernel=./new")
	o.Order = result.Order{Runs: 8, Boots: 4}
	c := run(t, bench, o)
	if got, want := strings.Join(bench.log, " "), strings.Repeat("boot ./old old old boot ./new new new boot ./new new new boot ./old old old ", 2); got+" " != want {
		t.Errorf("order: %s, want %s", got, want)
	}
	d := c.Differences[0]
	if d.Counts != "boots" || d.BaseIs.N != 4 || d.BaseIs.Runs != 8 || d.BaseIs.Boots != 4 {
		t.Errorf("%+v", d.BaseIs)
	}
	if c.Arms[0].Boots != 4 || c.Arms[1].Release() != "./new" {
		t.Errorf("%+v", c.Arms)
	}
	boots := map[int]string{}
	for _, s := range c.Samples {
		if boots[s.Boot] != "" && boots[s.Boot] != s.Arm {
			t.Errorf("boot %d is of %s and of %s", s.Boot, boots[s.Boot], s.Arm)
		}
		boots[s.Boot] = s.Arm
	}
	if len(boots) != 8 {
		t.Errorf("%d boots, want 8", len(boots))
	}
}

// Places that nothing is booted for are all in the one boot of this machine.
func TestNamespacesAreNoBoots(t *testing.T) {
	bench := &fake{measure: throughput(0.01, map[string]float64{"off": 1, "on": 2})}
	o := options(t, stream(t), "off:offload.gro=off", "on:offload.gro=on")
	o.Order = result.Order{Runs: 6, Boots: 3}
	c := run(t, bench, o)
	if bench.opened != 3 || c.Differences[0].Counts != "runs" || c.Differences[0].BaseIs.N != 6 || c.Arms[0].Boots != 1 {
		t.Errorf("opened %d: %+v", bench.opened, c.Differences[0])
	}
}

// The arms of a scenario with cases: each case has rows of its own, and its workload's metrics.
func TestCasesAreRows(t *testing.T) {
	sc := scenario(t, `
name: s
summary: cases
workload: stream
topology: {kind: veth}
arms: {off: {offload.gro: off}, on: {offload.gro: on}}
cases: {streams: {load.connections: 4}, rr: {workload: rr, load.connections: 100}}
`)
	bench := &fake{measure: func(arm string, sc scenarios.Scenario, n int) (map[string]float64, error) {
		if sc.Workload == "rr" {
			return map[string]float64{"latency.oneway": 960 + float64(n%3), "transactions.rate": 5}, nil
		}
		return map[string]float64{"throughput": float64(sc.Load.Connections) * 1e9 * (1 + float64(n%3)/1000)}, nil
	}}
	c := run(t, bench, options(t, sc))
	var got []string
	for _, d := range c.Differences {
		got = append(got, d.Case+" "+d.Metric+" "+d.Base+" "+d.Other)
	}
	if d := cmp.Diff([]string{"streams throughput off on", "rr latency.oneway off on"}, got); d != "" {
		t.Error(d)
	}
	if c.Differences[0].BaseIs.Mean < 4e9 {
		t.Errorf("the case is not applied: %+v", c.Differences[0].BaseIs)
	}
}

func TestAnyNumberOfArmsAgainstTheFirst(t *testing.T) {
	bench := &fake{measure: throughput(0.001, map[string]float64{"a": 100, "b": 110, "c": 100, "d": 90})}
	c := run(t, bench, options(t, stream(t), "a:", "b:load.write=1", "c:load.write=2", "d:load.write=3"))
	var got []string
	for _, d := range c.Differences {
		got = append(got, d.Base+d.Other+" "+string(d.Verdict))
	}
	if d := cmp.Diff([]string{"ab higher", "ac no-difference-that-matters", "ad lower"}, got); d != "" {
		t.Error(d)
	}
}

// A kernel that fails costs its boot and no more.
func TestKernelThatFails(t *testing.T) {
	opened := 0
	bench := &fake{booted: true, measure: throughput(0.001, map[string]float64{"old": 100, "new": 200}), open: func(a Arm) error {
		if opened++; opened == 3 {
			return kernelError("the guest did not come up")
		}
		return nil
	}}
	measured := bench.measure
	bench.measure = func(arm string, sc scenarios.Scenario, n int) (map[string]float64, error) {
		if n == 8 {
			return nil, kernelError("the kernel panicked")
		}
		return measured(arm, sc, n)
	}
	o := options(t, stream(t), "old:kernel=./old", "new:kernel=./new")
	o.Order = result.Order{Runs: 8, Boots: 4}
	c := run(t, bench, o)
	failed := map[string]int{}
	for _, s := range c.Samples {
		if s.Failure != "" {
			failed[s.Arm+": "+s.Failure]++
		}
	}
	if d := cmp.Diff(map[string]int{"new: the guest did not come up": 2, "old: the kernel panicked": 1}, failed); d != "" {
		t.Error(d)
	}
	if d := c.Differences[0]; d.BaseIs.Boots != 4 || d.OtherIs.Boots != 3 || d.Verdict != result.DifferenceHigher {
		t.Errorf("%+v", d)
	}
	if len(c.Warnings) != 2 || Outcome(c) != Compared || bench.opened != bench.closed {
		t.Errorf("%v %s, opened %d, closed %d", c.Warnings, Outcome(c), bench.opened, bench.closed)
	}
}

func TestNoRunOfAnArmTellsNothing(t *testing.T) {
	bench := &fake{measure: throughput(0.001, map[string]float64{"a": 100, "b": 1}), booted: true, open: func(a Arm) error {
		if a.Kernel == "./broken" {
			return kernelError("the guest did not come up")
		}
		return nil
	}}
	c := run(t, bench, options(t, stream(t), "a:", "b:kernel=./broken"))
	if Outcome(c) != CannotTell || len(c.Differences) > 0 {
		t.Errorf("%s: %+v", Outcome(c), c.Differences)
	}
}

func TestOtherErrorsEndIt(t *testing.T) {
	bench := &fake{measure: func(string, scenarios.Scenario, int) (map[string]float64, error) {
		return nil, errors.New("no such device")
	}}
	_, err := Run(t.Context(), bench, options(t, stream(t), "a:", "b:load.write=1"))
	if err == nil || err.Error() != "arm a: no such device" || bench.closed != 1 {
		t.Errorf("%v, closed %d", err, bench.closed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	bench.measure = func(string, scenarios.Scenario, int) (map[string]float64, error) { cancel(); return nil, ctx.Err() }
	if _, err := Run(ctx, bench, options(t, stream(t), "a:", "b:load.write=1")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A machine that shows differences of itself: what is below them is not claimed, and no gate rests on it.
func TestCalibration(t *testing.T) {
	random := throughput(0.03, map[string]float64{"a": 100, "b": 103})
	bench := &fake{measure: random}
	o := options(t, stream(t), "a:", "b:load.write=1")
	o.Calibrate, o.FailIf = 20, []string{"throughput > 0%"}
	o.Order = result.Order{Runs: 10}
	calm := &fake{measure: throughput(0.002, map[string]float64{"a": 100, "b": 103})}
	c := run(t, calm, o)
	m := c.Calibration[0]
	if m.Comparisons != 20 || m.Tested != 20 || m.Floor <= 0 || m.Floor > 1 || m.Metric != "throughput" {
		t.Errorf("%+v", m)
	}
	if c.Differences[0].Verdict != result.DifferenceHigher || c.Gates[0].State != result.GateTrue {
		t.Errorf("a difference far above the noise: %+v", c.Differences[0])
	}
	if got := len(calm.log) - calm.opened; got != 21*20 {
		t.Errorf("%d samples, want %d", got, 21*20)
	}
	if len(c.CalibrationSamples) != 20 || len(c.CalibrationSamples[19]) != 20 || len(c.Samples) != 20 {
		t.Errorf("%d calibrations are kept, and %d samples, want 20 of 20 samples each, and 20", len(c.CalibrationSamples), len(c.Samples))
	}
	// Each place has a speed of its own: the copies of a kernel differ.
	place := 0.0
	bench.booted = true
	bench.open = func(Arm) error { place = 10 * float64(bench.opened*7%5); return nil }
	bench.measure = func(_ string, _ scenarios.Scenario, n int) (map[string]float64, error) {
		return map[string]float64{"throughput": 100 + place + float64(n%2)/100}, nil
	}
	o = options(t, stream(t), "a:kernel=./a", "b:kernel=./b")
	o.Calibrate, o.Order = 2, result.Order{Runs: 2, Boots: 2}
	c = run(t, bench, o)
	if c.Calibration[0].Floor < 1 || c.Differences[0].Counts != "boots" {
		t.Errorf("%+v", c.Calibration)
	}
}

// A connection that carries nothing leaves its share to the others, which makes the figures another workload's.
func TestIdleConnectionsAreSaid(t *testing.T) {
	bench := &fake{measure: func(arm string, _ scenarios.Scenario, n int) (map[string]float64, error) {
		m := map[string]float64{"throughput": 100, "connections.idle": 0}
		if arm == "b" && n < 8 {
			m["connections.idle"] = 2
		}
		return m, nil
	}}
	o := options(t, stream(t), "a:", "b:load.write=1")
	o.Order = result.Order{Runs: 6, Warmup: -1}
	c := run(t, bench, o)
	var said []string
	for _, w := range c.Warnings {
		if w.Code == "idle-connections" {
			said = append(said, w.Text)
		}
	}
	if want := []string{"Arm b: in 4 of 6 runs some connections carried nothing (connections.idle)."}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// What was stored gives the same differences again; results of `run` are arms, too.
func TestStoredComparison(t *testing.T) {
	bench := &fake{measure: throughput(0.01, map[string]float64{"off": 5.2e9, "on": 5.839e9})}
	o := options(t, stream(t), "off:offload.gro=off", "on:offload.gro=on")
	c := run(t, bench, o)
	again, err := Files([]File{{"both.json", encoded(t, c)}}, o.Claims, "")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.Differences, again.Differences, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Error(d)
	}

	one := func(arm string) []byte {
		o := options(t, stream(t), arm)
		return encoded(t, run(t, bench, o))
	}
	parts := []File{{"x/before.json", one("off:offload.gro=off")}, {"after.json", one("on:offload.gro=on")}}
	c, err = Files(parts, o.Claims, "")
	if err != nil {
		t.Fatal(err)
	}
	d := c.Differences[0]
	if d.Base != "before" || d.Other != "after" || d.Counts != "runs" || d.Verdict != result.DifferenceHigher {
		t.Errorf("%+v", d)
	}
	if len(d.Notes) == 0 || d.Notes[0].Code != "not-interleaved" {
		t.Errorf("files are not interleaved, and nobody says so: %+v", d.Notes)
	}
	bench.booted = true
	parts = []File{{"a.json", one("off:kernel=./a")}, {"b.json", one("on:kernel=./b")}}
	if c, err = Files(parts, o.Claims, ""); err != nil || c.Differences[0].Counts != "boots" || c.Differences[0].P != nil {
		t.Errorf("guests of two files are two boots: %v %+v", err, c.Differences)
	}
}

func encoded(t *testing.T, c result.Comparison) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := result.EncodeComparison(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
