package acceptance

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// A check looks at what a case's result holds beside its verdict.
type check func(t *testing.T, r *result.Result)

// all joins checks.
func all(checks ...check) check {
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		for _, c := range checks {
			c(t, r)
		}
	}
}

// arm gives the runs of an arm, of which there must be one at least.
func arm(t *testing.T, r *result.Result, name string) result.Arm {
	t.Helper()
	for _, a := range r.Arms {
		if a.Name == name && len(a.Runs) > 0 {
			return a
		}
	}
	t.Fatalf("the result has no run of the %s arm", name)
	return result.Arm{}
}

// dropped counts what the slaves' qdiscs dropped in a run; the kernel's counters wrap at 32 bits.
func dropped(rec result.Recording) (n uint64) {
	for i, slave := range rec.After.Slaves {
		for j, qdisc := range slave.Qdiscs {
			n += uint64(qdisc.Drops - rec.Before.Slaves[i].Qdiscs[j].Drops)
		}
	}
	return n
}

// noDrops: the slaves' qdiscs dropped nothing in the test arm.
func noDrops(t *testing.T, r *result.Result) {
	t.Helper()
	for i, run := range arm(t, r, "test").Runs {
		if n := dropped(run.Recording); n != 0 {
			t.Errorf("test arm, run %d: dropped %d, want 0", i, n)
		}
	}
}

// drops: they dropped something in each run that counts.
func drops(t *testing.T, r *result.Result) {
	t.Helper()
	for i, run := range arm(t, r, "test").Runs {
		if run.Judgement.Valid && dropped(run.Recording) == 0 {
			t.Errorf("test arm, run %d: dropped 0", i)
		}
	}
}

// charged: the oracle saw every packet of the test arm charged to a socket. The two counts it subtracts are not read
// at one instant (completions come last), so two packets, or one in twenty, are 0 too: a module that orphans every second one shows 25.
func charged(t *testing.T, r *result.Result) {
	t.Helper()
	for i, run := range arm(t, r, "test").Runs {
		if o := run.Judgement.Oracle; !o.Available || math.Abs(o.Median) > math.Max(2, o.InFlight/20) || o.Orphaned {
			t.Errorf("test arm, run %d: uncharged %+v, want a median of 0", i, o)
		}
	}
}

// orphaned: the oracle saw packets that no socket was charged for, in one run at least.
func orphaned(t *testing.T, r *result.Result) {
	t.Helper()
	for _, run := range arm(t, r, "test").Runs {
		if run.Judgement.Oracle.Orphaned {
			return
		}
	}
	t.Error("the oracle saw nothing orphaned")
}

// balanced: the ledger has hops and each balances, in every run of every arm.
func balanced(t *testing.T, r *result.Result) {
	t.Helper()
	for _, a := range r.Arms {
		for i, run := range a.Runs {
			if l := run.Judgement.Ledger; !l.Available || len(l.Hops) == 0 {
				t.Errorf("%s arm, run %d: no ledger: %s", a.Name, i, l.Why)
			}
			for _, hop := range run.Judgement.Ledger.Hops {
				if hop.Remainder != 0 {
					t.Errorf("%s arm, run %d, %s: %s = %s, remainder %d", a.Name, i, hop.Name, hop.Left, hop.Right, hop.Remainder)
				}
			}
		}
	}
}

// controlDrops: the positive control was BAD, with drops in the thousands.
func controlDrops(t *testing.T, r *result.Result) {
	t.Helper()
	if c := r.Judgement.Control; !c.Measured || !c.Bad {
		t.Errorf("control %+v, want it measured and bad", c)
	}
	for i, run := range arm(t, r, "control").Runs {
		if n := dropped(run.Recording); n < 1000 {
			t.Errorf("control, run %d: dropped %d, want at least 1000", i, n)
		}
	}
}

// weakerControl: the control was the short queue, and drops were seen there.
func weakerControl(t *testing.T, r *result.Result) {
	t.Helper()
	if c := r.Judgement.Control; !c.Measured || !c.Bad || c.Kind != "txqueuelen" {
		t.Errorf("control %+v, want it bad by its short queue", c)
	}
}

// preflightNamed: the preflight sum exceeds the queue and stands in the diagnosis.
func preflightNamed(t *testing.T, r *result.Result) {
	t.Helper()
	p := arm(t, r, "test").Preflight
	if !p.Exceeds || p.Sum <= p.Room() {
		t.Errorf("preflight %+v, want a sum that exceeds queue and ring", p)
	}
	if said := findings(r); !strings.Contains(said, strconv.Itoa(p.Sum)) {
		t.Errorf("the diagnosis does not name the preflight sum %d: %s", p.Sum, said)
	}
}

// hopNamed: in two runs the hop through the bond does not balance, its remainder has the sign given, and it stands
// in the diagnosis.
func hopNamed(sign int64) check {
	const through = "through the bond"
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		uneven := 0
		for _, run := range arm(t, r, "test").Runs {
			for _, hop := range run.Judgement.Ledger.Hops {
				if hop.Name == through && hop.Remainder*sign > 0 {
					uneven++
				}
			}
		}
		if uneven < 2 || !strings.Contains(findings(r), through) {
			t.Errorf("%d runs have a remainder of sign %+d %s, want two and the hop named: %s", uneven, sign, through, findings(r))
		}
	}
}

// findings is the diagnosis in one string.
func findings(r *result.Result) string { return fmt.Sprintf("%+v", r.Judgement.Diagnosis) }

// spreadOver: the traffic of every run of the test arm lay on so many slaves, each flow where it was predicted.
func spreadOver(slaves float64) check {
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		for i, run := range arm(t, r, "test").Runs {
			m := run.Judgement.Metrics
			if run.Judgement.Spread == nil || m["slaves.used"] != slaves || m["flows.mispredicted"] != 0 {
				t.Errorf("test arm, run %d: spread %+v over %v slaves, %v flows mispredicted; want %v slaves and none",
					i, run.Judgement.Spread, m["slaves.used"], m["flows.mispredicted"], slaves)
			}
		}
	}
}

// reason: the judgement's reason matches the expression.
func reason(expr string) check {
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		if !regexp.MustCompile(expr).MatchString(r.Judgement.Reason) {
			t.Errorf("the reason %q does not match %s", r.Judgement.Reason, expr)
		}
	}
}

// heard: each run of the test arm heard these events from the kernel.
func heard(kinds ...string) check {
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		for i, run := range arm(t, r, "test").Runs {
			for _, kind := range kinds {
				if !slices.ContainsFunc(run.Recording.Events, func(e result.Event) bool { return e.Kind == kind }) {
					t.Errorf("test arm, run %d: events %+v, want one of kind %s", i, run.Recording.Events, kind)
				}
			}
		}
	}
}

// guardTripped: the guard failed in a run of the test arm, and no run counted.
func guardTripped(name string) check {
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		for i, run := range arm(t, r, "test").Runs {
			tripped := false
			for _, g := range run.Judgement.Guards {
				tripped = tripped || g.Name == name && !g.OK && !g.Off && g.Evidence != ""
			}
			if !tripped || run.Judgement.Valid {
				t.Errorf("test arm, run %d: guards %+v, want %s to fail and the run not to count", i, run.Judgement.Guards, name)
			}
		}
		if !strings.Contains(r.Judgement.Reason, name) {
			t.Errorf("the reason does not name the guard %s: %s", name, r.Judgement.Reason)
		}
	}
}

// warns: a warning holds the words.
func warns(words string) check {
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		for _, w := range r.Warnings {
			if strings.Contains(w.Text, words) {
				return
			}
		}
		t.Errorf("no warning says %q: %+v", words, r.Warnings)
	}
}

// noOracle: the oracle says that it can't serve here, and why.
func noOracle(t *testing.T, r *result.Result) {
	t.Helper()
	for i, run := range arm(t, r, "test").Runs {
		if o := run.Judgement.Oracle; o.Available || o.Why == "" {
			t.Errorf("test arm, run %d: oracle %+v, want it unavailable with its reason", i, o)
		}
	}
}

// ran: the guest proved that the module given is the one it loaded.
func ran(module string) check {
	return func(t *testing.T, r *result.Result) {
		t.Helper()
		if r.Guest == nil {
			t.Fatal("the result has no guest")
		}
		id := buildID(t, module)
		for _, m := range r.Guest.Modules {
			if m.Name == "bonding" && m.Swapped && m.Proven && m.BuildID == id {
				return
			}
		}
		t.Errorf("the guest did not prove that bonding %s ran: %+v", id, r.Guest.Modules)
	}
}
