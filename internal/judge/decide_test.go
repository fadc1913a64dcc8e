package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// sim is one simulated run, judged.
type sim struct {
	plan  func() *plan
	spoil func(*result.Recording)
}

var (
	clean    = sim{stock, nil}
	bad      = sim{orphaning, nil}
	config   = sim{func() *plan { p := stock(); p.sc.Traffic.Senders = 64; p.drops = []int{20000, 0}; return p }, nil}
	lossy    = sim{stock, lose(9)}
	doubling = sim{stock, double(9)}
	invalid  = sim{func() *plan { p := stock(); p.share[0] = 0.9; return p }, nil}
	slow     = sim{func() *plan { p := stock(); p.share[0] = 0.9; p.blocked = 0; return p }, nil}
	weak     = sim{stock, fewSamples(5)}
	panicked = sim{stock, func(r *result.Recording) { *r = result.Recording{Failure: "the guest panicked: Oops"} }}
	shown    = sim{asked, nil}
	hushed   = sim{func() *plan { p := stock(); p.sc.Orphan = "netem"; return p }, nil} // a control that is not BAD
	short    = sim{func() *plan { p := stock(); p.sc.Topology.Slaves.TxQueueLen = 8; p.drops = []int{12, 0}; return p }, nil}
	unfull   = sim{func() *plan { p := asked(); p.share[0] = 0.9; return p }, nil}
)

// arm is the arm of these runs.
func arm(name string, sims ...sim) result.Arm {
	a := result.Arm{Name: name}
	for _, s := range sims {
		p := s.plan()
		rec := p.simulate()
		if s.spoil != nil {
			s.spoil(&rec)
		}
		rec.Arm = name
		a.Scenario, a.Preflight = p.sc, p.preflight()
		a.Runs = append(a.Runs, result.Run{Recording: rec, Judgement: Run(p.sc, p.preflight(), rec)})
	}
	return a
}

func config0() result.Config { return result.Config{Scenario: scenarios.Default()} }

func TestDecide(t *testing.T) {
	noControl := func(c *result.Config) { c.NoControl = true }
	for _, c := range []struct {
		name    string
		cfg     func(*result.Config)
		test    []sim
		control []sim
		verdict result.Verdict
		cause   result.Cause
		reason  string
		warning string
		more    bool // Next, before the control is looked at
	}{
		{name: "good", test: []sim{clean, clean}, control: []sim{shown}, verdict: result.Good, reason: "(2 of 2 valid runs, control BAD)"},
		{name: "one clean run is not enough", test: []sim{clean}, control: []sim{shown}, verdict: result.Inconclusive, reason: "1 clean runs of the 2", more: true},
		{name: "nothing yet", verdict: result.Inconclusive, reason: "Nothing was measured", warning: warnNoControl, more: true},
		{name: "bad at once", test: []sim{bad}, control: []sim{shown}, verdict: result.Bad, cause: result.CauseKernel, reason: "Back-pressure lost"},
		{name: "bad after good", test: []sim{clean, bad}, control: []sim{shown}, verdict: result.Bad, cause: result.CauseKernel},
		{name: "bad whatever the control", test: []sim{bad}, control: []sim{hushed}, verdict: result.Bad, cause: result.CauseKernel},
		{name: "bad by configuration", test: []sim{config}, control: []sim{shown}, verdict: result.Bad, cause: result.CauseConfiguration, reason: "64 senders × 26 packets = 1664"},
		{name: "remainder once", test: []sim{lossy, clean, clean}, control: []sim{shown}, verdict: result.Inconclusive, reason: "one run only", more: true},
		{name: "remainder twice", test: []sim{lossy, clean, lossy}, control: []sim{shown}, verdict: result.Bad, cause: result.CauseKernel, reason: `through the bond`},
		{name: "two remainders of different kinds", test: []sim{lossy, doubling}, control: []sim{shown}, verdict: result.Inconclusive, more: true},
		{name: "duplicated twice", test: []sim{doubling, doubling}, control: []sim{shown}, verdict: result.Bad, cause: result.CauseKernel, reason: "duplicated, counted nowhere"},
		{name: "no valid run", test: []sim{invalid, invalid}, control: []sim{shown}, verdict: result.Inconclusive, reason: "guard line_full failed: eth0 took 90 Mbit/s", more: true},
		{name: "an invalid run does not count", test: []sim{invalid, clean, clean}, control: []sim{shown}, verdict: result.Good, reason: "2 of 2", warning: warnInvalidRuns},
		{name: "few samples", test: []sim{weak, weak}, control: []sim{shown}, verdict: result.Inconclusive, reason: "5 samples", warning: warnFewSamples, more: true},
		{name: "panic", test: []sim{clean, panicked}, control: []sim{shown}, verdict: result.Inconclusive, reason: "the guest panicked: Oops", warning: warnInvalidRuns},
		{name: "a panic, and an invalid run after it", test: []sim{clean, panicked, invalid}, control: []sim{shown}, verdict: result.Inconclusive, reason: "the guest panicked: Oops", warning: warnInvalidRuns},
		{name: "control not bad", test: []sim{clean, clean}, control: []sim{hushed}, verdict: result.Inconclusive, reason: "the positive control is not BAD as it must be: dropped 0, uncharged 0"},
		{name: "control invalid", test: []sim{clean, clean}, control: []sim{unfull}, verdict: result.Inconclusive, reason: "The test arm is clean, but the positive control does not count: guard line_full failed"},
		{name: "control lossy is not what it is to show", test: []sim{clean, clean}, control: []sim{lossy}, verdict: result.Inconclusive, reason: "the positive control is not BAD as it must be: not in what the scenario expects"},
		{name: "control missing", test: []sim{clean, clean}, verdict: result.Inconclusive, reason: "was not measured", warning: warnNoControl},
		{name: "control left out", cfg: noControl, test: []sim{clean, clean}, verdict: result.Good, warning: warnNoControl},
		{name: "weaker control", test: []sim{clean, clean}, control: []sim{short}, verdict: result.Good, warning: warnWeakControl},
		{name: "max reached", cfg: func(c *result.Config) { c.Scenario.Runs.Max = 1 }, test: []sim{clean}, control: []sim{shown}, verdict: result.Inconclusive, reason: "at most 1"},
		{name: "timestamping", cfg: func(c *result.Config) { c.Scenario.Traffic.Socket.TxTimestamping = true }, test: []sim{clean, clean}, control: []sim{shown},
			verdict: result.Good, warning: result.TimestampsHideOrphan},
		{name: "timestamping hides nothing that shows", cfg: func(c *result.Config) { c.Scenario.Traffic.Socket.TxTimestamping = true }, test: []sim{bad}, control: []sim{shown},
			verdict: result.Bad, cause: result.CauseKernel},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config0()
			if c.cfg != nil {
				c.cfg(&cfg)
			}
			var arms []result.Arm
			if c.test != nil {
				arms = append(arms, arm("test", c.test...))
			}
			if c.control != nil {
				arms = append(arms, arm("control", c.control...))
			}
			j, ws := Decide(cfg, arms)
			if j.Verdict != c.verdict || j.Cause != c.cause || !strings.Contains(j.Reason, c.reason) {
				t.Errorf("got %s, cause %q: %s\nwant %s, cause %q: %s", j.Verdict, j.Cause, j.Reason, c.verdict, c.cause, c.reason)
			}
			var codes []string
			for _, w := range ws {
				codes = append(codes, w.Code)
			}
			if c.warning == "" && len(codes) > 0 || c.warning != "" && !slices.Contains(codes, c.warning) {
				t.Errorf("warnings %v, want %q", codes, c.warning)
			}
			if more := Next(cfg, arms); more != c.more {
				t.Errorf("Next is %t", more)
			}
		})
	}
}

// TestDiagnosis: the run that decides speaks for the arm.
func TestDiagnosis(t *testing.T) {
	for _, c := range []struct {
		sims []sim
		code string
	}{
		{[]sim{clean, bad}, result.BackPressureLost},
		{[]sim{config, bad}, result.SndbufExceedsQueue},
		{[]sim{weak, clean, clean}, result.NoneFound},
		{[]sim{clean, weak}, result.FewSamples},
		{[]sim{lossy, clean}, result.LostUncounted},
		{[]sim{clean, invalid}, result.NoneFound},
		{[]sim{slow, slow}, result.SenderTooSlow},
		{[]sim{lossy, doubling, doubling}, result.DuplicatedUncounted},
	} {
		j, _ := Decide(config0(), []result.Arm{arm("test", c.sims...), arm("control", shown)})
		if len(j.Diagnosis) == 0 || j.Diagnosis[0].Code != c.code {
			t.Errorf("got %+v, want %s", j.Diagnosis, c.code)
		}
	}
	if j, _ := Decide(config0(), nil); len(j.Diagnosis) != 0 {
		t.Errorf("nothing measured: %+v", j.Diagnosis)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		code, text string
		spoil      func(*result.Recording)
	}{
		{warnForeign, "3 frames at the wire are not of this run: arp 3", func(r *result.Recording) { foreign(r, 3) }},
		{warnForeign, "of an earlier run 2", func(r *result.Recording) { r.Wire.Slaves[0].Stale = 2 }},
		{warnOverflow, "no room for 5 datagrams", func(r *result.Recording) {
			r.Wire.Slaves[0].Overflow, r.Wire.Slaves[0].Ours = 5, r.Wire.Slaves[0].Ours-5
			r.Wire.Senders[0].Unique -= 5
		}},
		{warnMissed, "100 of 401 polls", func(r *result.Recording) { r.Series.Missed = 100 }},
		{warnDriverDropped, "5 packets", func(r *result.Recording) { r.After.Slaves[1].TxDropped = 5 }},
		{warnSlowDrain, "16896 bytes", func(r *result.Recording) { r.Drain = result.Drain{TookMS: 5000, Outq: 16896} }},
		{warnNotEvaluated, "neither counts at completion", func(r *result.Recording) { r.Slaves[1].CountsCompletions = false }},
	} {
		_, ws := Decide(config0(), []result.Arm{arm("test", sim{stock, c.spoil}), arm("control", shown)})
		if len(ws) != 1 || ws[0].Code != c.code || !strings.Contains(ws[0].Text, c.text) {
			t.Errorf("%s: got %+v", c.code, ws)
		}
	}
	_, ws := Decide(config0(), []result.Arm{arm("test", sim{stock, func(r *result.Recording) { r.Series.Missed = 50 }}), arm("control", shown)})
	if len(ws) != 0 {
		t.Errorf("50 of 350 polls missed: %+v", ws)
	}
}

// TestAgain: judging a result again, also from its file, gives the same result.
func TestAgain(t *testing.T) {
	for name, sims := range map[string][]sim{
		"good": {clean, clean}, "bad": {bad}, "config": {config}, "lossy": {lossy, lossy}, "panic": {panicked}, "weak": {weak}, "invalid": {invalid},
	} {
		raw := result.Result{
			Schema:   result.Schema,
			Config:   config0(),
			Guest:    &result.Guest{Modules: []result.Module{{Name: "bonding", File: "bonding.ko"}, {Name: "veth", Proven: true}}},
			Arms:     []result.Arm{arm("test", sims...), arm("control", shown)},
			Warnings: []result.Warning{{Code: "else", Text: "somebody else's"}},
		}
		for i := range raw.Arms {
			a := &raw.Arms[i]
			a.Preflight = result.Preflight{Truesize: a.Preflight.Truesize, Ring: a.Preflight.Ring}
			for k := range a.Runs {
				a.Runs[k].Judgement = result.RunJudgement{}
			}
		}
		r := Again(raw)
		if raw.Arms[0].Preflight.Sum != 0 || raw.Arms[0].Runs[0].Judgement.Verdict != "" {
			t.Errorf("%s: Again changed its argument's arms", name)
		}
		if r.Arms[0].Preflight.Sum == 0 || r.Arms[0].Runs[0].Judgement.Verdict == "" {
			t.Errorf("%s: Again did not judge the arms: %+v", name, r.Arms[0].Preflight)
		}
		if len(raw.Warnings) != 1 || raw.Judgement.Verdict != "" {
			t.Errorf("%s: Again changed its argument", name)
		}
		if r.Judgement.Verdict == "" || r.Warnings[len(r.Warnings)-1].Code != "else" || !slices.ContainsFunc(r.Warnings, func(w result.Warning) bool { return w.Code == warnNotProven }) {
			t.Errorf("%s: %+v %+v", name, r.Judgement, r.Warnings)
		}
		if diff := cmp.Diff(r, Again(r)); diff != "" {
			t.Errorf("%s: judged again:\n%s", name, diff)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var read result.Result
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(Again(read))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(again)); diff != "" {
			t.Errorf("%s: judged again from its file:\n%s", name, diff)
		}
	}
}

// TestUnmeasured: the reason is told by whichever arm has it, and nothing else is said of a kernel that no run ended on.
func TestUnmeasured(t *testing.T) {
	cfg := result.Config{Scenario: stock().sc}
	for _, c := range []struct {
		name string
		arms []result.Arm
		want string
	}{
		{"test arm", []result.Arm{arm("test", panicked)}, "Nothing could be measured: the guest panicked: Oops."},
		{"control first", []result.Arm{arm("test"), arm("control", panicked)}, "Nothing could be measured: the guest panicked: Oops."},
		{"the control ended", []result.Arm{arm("test", panicked), arm("control", shown)}, "A run did not end: the guest panicked: Oops."},
		{"nothing begun", nil, "Nothing was measured."},
	} {
		j, ws := Decide(cfg, c.arms)
		if j.Verdict != result.Inconclusive || j.Reason != c.want {
			t.Errorf("%s: %s %q, want %q", c.name, j.Verdict, j.Reason, c.want)
		}
		if strings.HasPrefix(c.want, "Nothing could") && len(ws) > 0 {
			t.Errorf("%s: %v", c.name, ws)
		}
	}
}
