package report

import (
	"testing"

	"bondrepro/reproducer/result"
)

func TestStep(t *testing.T) {
	good := result.Trial{Verdict: result.Good, Metrics: map[string]float64{"offered": 1500, "slaves.qdisc.dropped": 0}}
	for _, c := range []struct {
		step result.BisectStep
		want string
	}{
		{result.BisectStep{Name: "0123456789ab net: do this", Outcome: "good", Why: "Nothing was dropped.", Trials: []result.Trial{good, good}},
			"GOOD: 0123456789ab net: do this\n  boots: 2 GOOD\n  Nothing was dropped.\n  offered                1500\n  slaves.qdisc.dropped      0\n"},
		{result.BisectStep{Name: "0123456789ab net: do this", Outcome: "bad", Why: "Back-pressure lost.", Reused: 1},
			"BAD: 0123456789ab net: do this\n  boots: 1 of the same image\n  Back-pressure lost.\n"},
		{result.BisectStep{Outcome: "skipped", Why: "it does not build: a.c:1: error"},
			"CANNOT TELL: this kernel\n  it does not build: a.c:1: error\n"},
		{result.BisectStep{Outcome: "skipped", Why: "the kernel panicked", Trials: []result.Trial{{Verdict: result.Inconclusive, Failed: true}}},
			"CANNOT TELL: this kernel\n  boots: 1 CANNOT TELL\n  the kernel panicked\n"},
	} {
		if got := Step(c.step); got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
}
