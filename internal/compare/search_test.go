package compare

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// below holds under a limit.
func below(limit float64) func(float64) (bool, error) {
	return func(v float64) (bool, error) { return v <= limit, nil }
}

func TestBisectionFindsTheLimit(t *testing.T) {
	for _, limit := range []float64{1.5, 12.3, 50, 99.1, 99.99} {
		f, err := Bisection{From: 1, To: 100, Resolution: 0.01, Confirm: 2}.Find(below(limit))
		if err != nil || f.Answer != result.SearchFound {
			t.Fatalf("%v: %+v, %v", limit, f, err)
		}
		if f.Pass > limit || f.Fail <= limit || f.Fail-f.Pass > 0.01*f.Fail {
			t.Errorf("limit %v: between %v and %v", limit, f.Pass, f.Fail)
		}
		for _, trial := range f.Trials {
			want := 2
			if trial.Value == f.Pass || trial.Value == f.Fail {
				want = 4
			}
			if trial.Runs != want || trial.Mixed() {
				t.Errorf("limit %v: %+v, want %d runs", limit, trial, want)
			}
		}
	}
}

func TestBisectionOfWholeNumbers(t *testing.T) {
	f, err := Bisection{From: 1, To: 64, Resolution: 0.01, Step: 1, Confirm: 1}.Find(below(11))
	if err != nil || f.Pass != 11 || f.Fail != 12 {
		t.Errorf("%+v, %v", f, err)
	}
	for _, trial := range f.Trials {
		if trial.Value != math.Trunc(trial.Value) {
			t.Errorf("tried %v", trial.Value)
		}
	}
	if f, _ = (Bisection{From: 1, To: 2, Resolution: 0.01, Step: 1, Confirm: 1}).Find(below(1)); f.Pass != 1 || f.Fail != 2 {
		t.Errorf("%+v", f)
	}
}

func TestBisectionEndsEverywhere(t *testing.T) {
	f, err := Bisection{From: 1, To: 100, Resolution: 0.01, Confirm: 3}.Find(below(0))
	if err != nil || f.Answer != result.SearchFails || f.Fail != 1 || len(f.Trials) != 2 || f.Trials[0].Runs != 6 {
		t.Errorf("loss at any rate: %+v, %v", f, err)
	}
	f, err = Bisection{From: 1, To: 100, Resolution: 0.01, Confirm: 3}.Find(below(100))
	if err != nil || f.Answer != result.SearchHolds || f.Pass != 100 || len(f.Trials) != 1 || f.Trials[0].Runs != 6 {
		t.Errorf("loss at no rate: %+v, %v", f, err)
	}
}

// A run in ten is wrong, on either side: the answer is near the limit all the same, nearly always.
func TestBisectionInNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	off := 0
	for range 200 {
		f, err := Bisection{From: 1, To: 100, Resolution: 0.01, Confirm: 3}.Find(func(v float64) (bool, error) {
			return (v <= 40) != (random.IntN(10) == 0), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if f.Answer != result.SearchFound || f.Pass < 39 || f.Fail > 41 {
			off++
		}
	}
	if off > 20 {
		t.Errorf("%d of 200 searches are off", off)
	}
}

// One run that fails by chance, where the condition holds, does not end the search there.
func TestOneBadRunDecidesNothing(t *testing.T) {
	seen := map[float64]int{}
	f, err := Bisection{From: 1, To: 100, Resolution: 0.01, Confirm: 2}.Find(func(v float64) (bool, error) {
		seen[v]++
		return v <= 40 && seen[v] != 1, nil
	})
	if err != nil || f.Pass < 39 || f.Fail > 41 {
		t.Errorf("%+v, %v", f, err)
	}
	if !slices.ContainsFunc(f.Trials, result.SearchTrial.Mixed) {
		t.Error("nobody says that runs contradict each other")
	}
}

// A value that held at first and fails when the answer is confirmed is no answer.
func TestAnswerIsConfirmed(t *testing.T) {
	seen := map[float64]int{}
	f, err := Bisection{From: 1, To: 100, Resolution: 0.01, Confirm: 2}.Find(func(v float64) (bool, error) {
		seen[v]++
		return v <= 30 || v <= 40 && seen[v] <= 2, nil
	})
	if err != nil || f.Pass > 30 || f.Pass < 29 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestBisectionEndsOnErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := (Bisection{From: 1, To: 100, Confirm: 1}).Find(func(float64) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// line is a bench whose slaves drop what is above a rate, with senders that offer so much at most.
func line(rate, most float64) *fake {
	return &fake{measure: func(_ string, sc scenarios.Scenario, _ int) (map[string]float64, error) {
		v := min(most, sc.Traffic.Rate.BitsPerSecond)
		return map[string]float64{"slaves.qdisc.dropped": max(0, (v-rate)/1e5), "rate.offered": v}, nil
	}}
}

func search(t *testing.T, bench Bench, o SearchOptions) (result.Search, error) {
	t.Helper()
	if o.Base.Scenario.Name == "" {
		o.Base.Scenario = bond(t)
	}
	if o.Max == "" {
		o.Max = "rate"
	}
	if o.Until == "" {
		o.Until = "slaves.qdisc.dropped == 0"
	}
	o.Resolution, o.Confirm = 1, 2
	s, err := o.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	return s.Search(t.Context(), bench)
}

func TestSearchFindsTheLineRate(t *testing.T) {
	bench := line(100e6, 1e12)
	r, err := search(t, bench, SearchOptions{})
	if err != nil || r.Answer != result.SearchFound || r.Pass > 100e6 || r.Pass < 99e6 || r.Fail < 100e6 || r.Fail > 101e6 {
		t.Errorf("%+v, %v", r, err)
	}
	if r.To != 400e6 || r.From != 4e6 || r.Path != "traffic.rate" || r.Unit != "bit/s" {
		t.Errorf("from %v to %v %s of %s", r.From, r.To, r.Unit, r.Path)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "short-runs" || !strings.Contains(r.Warnings[0].Text, "11.8 % above") {
		t.Errorf("runs of 3 s hide what 1000 packets are, and nobody says so: %+v", r.Warnings)
	}
	if r.Scenario.Guards.LineFull || bench.closed != 1 {
		t.Errorf("guard %v, warnings %v, closed %d", r.Scenario.Guards.LineFull, r.Warnings, bench.closed)
	}
}

// A shaped line as tbf is one: a bucket, a queue, and drops of what fits in neither. Runs are long enough to see a percent.
func TestSearchFindsTheRateOfATokenBucket(t *testing.T) {
	const rate, bucket, queue, packet = 80e6, 200e3, 20, 4042 * 8
	bench := &fake{measure: func(_ string, sc scenarios.Scenario, n int) (map[string]float64, error) {
		asked := sc.Traffic.Rate.BitsPerSecond * (1 + 0.001*float64(n%3-1)) // a sender's pace is never exact
		tokens, backlog, dropped, now := bucket, 0.0, 0.0, 0.0
		for now < time.Duration(sc.Traffic.Duration).Seconds() {
			now += packet / asked
			tokens = min(bucket, tokens+rate*packet/asked)
			if backlog++; backlog > queue {
				backlog, dropped = queue, dropped+1
			}
			for backlog > 0 && tokens >= packet {
				tokens, backlog = tokens-packet, backlog-1
			}
		}
		return map[string]float64{"slaves.qdisc.dropped": dropped, "rate.offered": asked}, nil
	}}
	sc := bond(t, "traffic.duration=3s", "topology.slaves.txqueuelen=20")
	r, err := search(t, bench, SearchOptions{Base: Base{Scenario: sc}, To: "400mbit"})
	if err != nil || r.Answer != result.SearchFound || math.Abs(r.Pass/rate-1) > 0.01 || math.Abs(r.Fail/rate-1) > 0.02 {
		t.Errorf("between %v and %v, %v", r.Pass, r.Fail, err)
	}
}

func TestSearchEndsEverywhere(t *testing.T) {
	r, err := search(t, line(0, 1e12), SearchOptions{From: "1mbit", To: "200mbit"})
	if err != nil || r.Answer != result.SearchFails || r.Fail != 1e6 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = search(t, line(1e12, 50e6), SearchOptions{To: "200mbit"})
	if err != nil || r.Answer != result.SearchHolds || r.Pass != 200e6 {
		t.Errorf("%+v, %v", r, err)
	}
	if len(r.Warnings) != 2 || r.Warnings[0].Code != "not-offered" {
		t.Errorf("the senders offered 50 Mbit/s, and nobody says so: %+v", r.Warnings)
	}
}

func TestSearchOverOtherFields(t *testing.T) {
	bench := &fake{measure: func(_ string, sc scenarios.Scenario, _ int) (map[string]float64, error) {
		return map[string]float64{"slaves.qdisc.dropped": max(0, float64(sc.Traffic.Senders)-11)}, nil
	}}
	r, err := search(t, bench, SearchOptions{Max: "traffic.senders", To: "64"})
	if err != nil || r.Pass != 11 || r.Fail != 12 || r.From != 1 || r.Unit != "" {
		t.Errorf("%+v, %v", r, err)
	}
	bench.measure = func(_ string, sc scenarios.Scenario, _ int) (map[string]float64, error) {
		return map[string]float64{"slaves.qdisc.dropped": max(0, sc.Traffic.Rate.PacketsPerSecond-2500)}, nil
	}
	r, err = search(t, bench, SearchOptions{To: "10kpps"})
	if err != nil || r.Unit != "packets/s" || r.Pass > 2500 || r.Fail < 2500 || r.Fail-r.Pass > 26 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSearchThatCanNotTell(t *testing.T) {
	bench := &fake{measure: func(string, scenarios.Scenario, int) (map[string]float64, error) {
		return map[string]float64{"ok": 1}, nil
	}}
	_, err := search(t, bench, SearchOptions{To: "10mbit"})
	var unclear *UnclearError
	if !errors.As(err, &unclear) || !strings.Contains(err.Error(), "3 runs do not tell whether slaves.qdisc.dropped == 0") || bench.closed != 1 {
		t.Errorf("%v, closed %d", err, bench.closed)
	}
}

func TestSearchesThatCanNotBe(t *testing.T) {
	for _, c := range []struct {
		o    SearchOptions
		want string
	}{
		{SearchOptions{}, "search: --max is missing"},
		{SearchOptions{Max: "rate"}, "search: --until is missing"},
		{SearchOptions{Max: "rate", Until: "dropped == 0"}, "did you mean slaves.qdisc.dropped?"},
		{SearchOptions{Max: "traffic.senders", Until: "ok == 0"}, "--max traffic.senders: where does it end? Give --to VALUE"},
		{SearchOptions{Max: "traffic.nosuch", To: "4", Until: "ok == 0"}, `there is no field "nosuch" in traffic`},
		{SearchOptions{Max: "rate", To: "4", Until: "ok == 0"}, `--to: "4" is not a rate`},
		{SearchOptions{Max: "rate", To: "4kpps", From: "1mbit", Until: "ok == 0"}, "--from 1mbit: both ends must be in packets/s"},
		{SearchOptions{Max: "traffic.senders", To: "-4", Until: "ok == 0"}, "--to -4: it must be a number above 0"},
		{SearchOptions{Max: "rate", Until: "ok == 0", Resolution: 100}, "--resolution 100: it must be above 0 and below 100 percent"},
		{SearchOptions{Max: "rate", Until: "ok == 0", Confirm: -1}, "--confirm -1: it must be 1 at least"},
	} {
		c.o.Base.Scenario = bond(t)
		if c.o.Resolution == 0 {
			c.o.Resolution = 1
		}
		if c.o.Confirm == 0 {
			c.o.Confirm = 1
		}
		if _, err := c.o.Prepare(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v:\n got %v\nwant %s", c.o.Max, err, c.want)
		}
	}
	bench := line(1, 1)
	if _, err := search(t, bench, SearchOptions{From: "500mbit"}); err == nil || err.Error() != "--from 500 Mbit/s is not below --to 400 Mbit/s" {
		t.Error(err)
	}
}

// A machine that was busy during every second run offered half of the rate then, and lost nothing: such runs are taken again.
func TestSearchTakesStarvedRunsAgain(t *testing.T) {
	bench := &fake{}
	bench.measure = func(_ string, sc scenarios.Scenario, n int) (map[string]float64, error) {
		rate := sc.Traffic.Rate.BitsPerSecond
		if n%2 == 1 {
			return map[string]float64{"rate.offered": rate / 2, "slaves.qdisc.dropped": 0}, nil
		}
		return map[string]float64{"rate.offered": rate, "slaves.qdisc.dropped": max(0, rate-100e6)}, nil
	}
	r, err := search(t, bench, SearchOptions{})
	if err != nil || r.Answer != result.SearchFound || r.Pass > 100e6 || r.Fail < 100e6 || r.Fail > 101e6 {
		t.Errorf("%s, %v to %v, %v", r.Answer, r.Pass, r.Fail, err)
	}
}
