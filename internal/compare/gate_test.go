package compare

import (
	"strings"
	"testing"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

func TestGatesRestOnTheWholeInterval(t *testing.T) {
	within := func(low, high float64) result.MetricDifference {
		return result.MetricDifference{Base: "a", Counts: "runs", Value: 4,
			Percent: &result.Percent{Value: (low + high) / 2, Interval: &result.Interval{Low: low, High: high}}}
	}
	for _, c := range []struct {
		expr  string
		d     result.MetricDifference
		floor float64
		want  result.GateVerdict
		why   string
	}{
		{"throughput < -5%", within(-9, -6), 0, result.GateTrue, "its interval -9 to -6 %"},
		{"throughput < -5%", within(-9, -4), 0, result.GateCannotTell, "which has -5 % in it"},
		{"throughput < -5%", within(-4, 3), 0, result.GateFalse, "-4 to +3 %"},
		{"throughput < -5%", within(-9, -5), 0, result.GateCannotTell, "which has -5 % in it"},
		{"throughput <= -5%", within(-9, -5), 0, result.GateTrue, ""},
		{"throughput > 5%", within(6, 9), 0, result.GateTrue, ""},
		{"throughput > 5%", within(4, 9), 0, result.GateCannotTell, "which has 5 % in it"},
		{"throughput > 5%", within(-4, 3), 0, result.GateFalse, ""},
		{"throughput >= 5%", within(5, 9), 0, result.GateTrue, ""},
		{"throughput > 5%", within(6, 9), 4, result.GateCannotTell, "this machine shows of itself"},
		{"throughput > 5%", within(6, 9), 3.9, result.GateTrue, ""},
		{"throughput > 5%", within(-4, 3), 9, result.GateFalse, ""},
		{"throughput > 5%", result.MetricDifference{Base: "a"}, 0, result.GateCannotTell, "no percentage can be said of it here"},
		{"datagrams.lost > 5%", nothing(0, result.DifferenceNone), 0, result.GateFalse, "+0 %"},
		{"datagrams.lost > 5%", nothing(7, result.DifferenceHigher), 0, result.GateTrue, "a has 0 in every run, and b 7"},
		{"datagrams.lost < -5%", nothing(7, result.DifferenceHigher), 0, result.GateFalse, ""},
		{"datagrams.lost > 5%", nothing(7, result.DifferenceCannotTell), 0, result.GateCannotTell, "no percentage"},
		{"throughput > 5%", constant(10, 0.33), 0, result.GateCannotTell, "2 and 2 runs are too few to tell"},
		{"throughput > 5%", constant(10, 0.01), 0, result.GateTrue, ""},
		{"throughput > 5%", result.MetricDifference{Counts: "boots", Percent: &result.Percent{Value: 9}}, 0, result.GateCannotTell, "an arm has one boot only"},
	} {
		g, err := ParseGate(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		got, why := g.hold(c.d, c.floor)
		if got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s of %+v (floor %v): %s, %s; want %s, %s", c.expr, c.d.Percent, c.floor, got, why, c.want, c.why)
		}
	}
}

// An arm with itself differs by 10 here, so that 5 between two arms is nothing: it is not claimed, and no condition holds.
func TestNothingBelowTheNoiseIsClaimed(t *testing.T) {
	bench := &fake{measure: func(arm string, _ scenarios.Scenario, n int) (map[string]float64, error) {
		v := 100 + float64(n%3)/10
		switch arm {
		case "a′":
			v += 10
		case "b":
			v += 5
		}
		return map[string]float64{"throughput": v}, nil
	}}
	o := options(t, stream(t), "a:", "b:load.write=1")
	o.Calibrate, o.FailIf = 2, []string{"throughput > 2%"}
	c := run(t, bench, o)
	if d := c.Differences[0]; d.Verdict != result.DifferenceCannotTell || d.Why != "below-noise" {
		t.Errorf("%s (%s)", d.Verdict, d.Why)
	}
	if c.Gates[0].State != result.GateCannotTell || Outcome(c) != CannotTell {
		t.Errorf("%+v", c.Gates)
	}
	if m := c.Calibration[0]; m.Seen != 2 || m.Claimed != 2 || m.Floor < 9 {
		t.Errorf("%+v", m)
	}
	o.Calibrate = 0
	if c := run(t, bench, o); c.Differences[0].Verdict != result.DifferenceHigher || Outcome(c) != Failed {
		t.Errorf("without a calibration: %+v", c.Differences[0])
	}
}

// nothing is a difference from a base that has 0 in every run.
func nothing(other float64, verdict result.DifferenceVerdict) result.MetricDifference {
	return result.MetricDifference{Base: "a", Other: "b", Value: other, Range: &result.Interval{Low: other, High: other}, Verdict: verdict,
		P: &result.P{Value: 0.001, Holm: 0.001}, OtherIs: result.Summary{Mean: other, Min: other, Max: other}}
}

// constant is a difference of two arms in which no value varies.
func constant(percent, p float64) result.MetricDifference {
	n := result.Summary{N: 2}
	return result.MetricDifference{Value: percent, Percent: &result.Percent{Value: percent, Interval: &result.Interval{Low: percent, High: percent}},
		P: &result.P{Value: p, Holm: p}, Counts: "runs", BaseIs: n, OtherIs: n}
}

// A case that no run of any arm got through is no answer.
func TestACaseThatFailsEverywhereIsNoPass(t *testing.T) {
	bench := &fake{measure: func(_ string, sc scenarios.Scenario, _ int) (map[string]float64, error) {
		if sc.Load.Connections > 1 {
			return nil, kernelError("it hung")
		}
		return map[string]float64{"throughput": 100}, nil
	}}
	o := options(t, scenario(t, "name: s\nworkload: stream\ntopology: {kind: veth}\ncases:\n  one: {load.connections: 1}\n  many: {load.connections: 64}\n"),
		"a:offload.gro=off", "b:offload.gro=on")
	o.FailIf, o.Order = []string{"throughput < -5%"}, result.Order{Runs: 3}
	if c := run(t, bench, o); Outcome(c) != CannotTell {
		t.Errorf("%s: %+v, %+v", Outcome(c), c.Gates, c.Warnings)
	}
}
