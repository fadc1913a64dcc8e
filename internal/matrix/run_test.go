package matrix

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
)

// bench is one that measures nothing and notes what it was asked for.
type bench struct {
	ran    []string // kernel and senders
	prints map[string]string
	fail   map[string]error // by kernel
	during func(id int)
}

func (b *bench) bench() Bench {
	return Bench{
		Run: func(ctx context.Context, o reproducer.Options) (result.Result, error) {
			b.ran = append(b.ran, strings.TrimPrefix(o.Kernel, "deb:"))
			if b.during != nil {
				b.during(len(b.ran))
			}
			if ctx.Err() != nil {
				return result.Result{}, ctx.Err()
			}
			if err := b.fail[o.Kernel]; err != nil {
				return result.Result{}, err
			}
			return good(len(b.ran)), nil
		},
		Fingerprint: func(_ context.Context, o reproducer.Options) (string, error) {
			if err := b.fail["print "+o.Modules["bonding"]]; err != nil {
				return "", err
			}
			return b.prints[o.Kernel], nil
		},
	}
}

// good is a result; n makes it another one.
func good(n int) result.Result { return judged(result.Good, n) }

func judged(v result.Verdict, dropped int) result.Result {
	j := result.RunJudgement{Verdict: v, Valid: true, Metrics: map[string]float64{"slaves.qdisc.dropped": float64(dropped)}}
	return result.Result{
		Schema: result.Schema, Arms: []result.Arm{{Name: result.ArmTest, Runs: []result.Run{{Judgement: j}}}},
		Guest:     &result.Guest{Kernel: "6.1.0", BuildID: "abcd"},
		Judgement: result.Judgement{Verdict: v, Reason: "because", Diagnosis: []result.Finding{{Code: "some-mechanism"}}},
	}
}

const threeKernels = "kernels: [deb:a, deb:b, deb:c]\nscenarios: [bond-multicast-tx]\n"

func store(t *testing.T) *Store {
	t.Helper()
	return NewStore(t.TempDir() + "/results")
}

func record(t *testing.T, s *Store, id string) Record {
	t.Helper()
	r, found, err := s.Record(id)
	if err != nil || !found {
		t.Fatalf("%s: record found %v, %v", id, found, err)
	}
	return r
}

func TestRunMeasuresWhatHasNoResult(t *testing.T) {
	s, b, p := store(t), &bench{}, mustPlan(t, threeKernels)
	for range 2 { // the second time there is nothing to do
		if err := Run(t.Context(), p, s, b.bench(), Options{Host: "here"}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.ran, []string{"a", "b", "c"}) {
			t.Fatalf("ran %v", b.ran)
		}
	}
	r := record(t, s, "b,bond-multicast-tx,default")
	if r.State != Measured || r.Attempt != 1 || r.Host != "here" || r.Key != p.Cells[1].Key {
		t.Errorf("record %+v", r)
	}
	if stored, err := s.Plan(); err != nil || stored.Key != p.Key || len(stored.Cells) != 3 {
		t.Errorf("plan.json has %+v, %v", stored, err)
	}
}

func TestRunTakesOneShard(t *testing.T) {
	s, b := store(t), &bench{}
	var shown []string
	o := Options{Shard: Shard{1, 2}, Progress: func(text string) { shown = append(shown, text) }}
	if err := Run(t.Context(), mustPlan(t, threeKernels), s, b.bench(), o); err != nil {
		t.Fatal(err)
	}
	if want := "cell 2 of 2, c,bond-multicast-tx,default: good: because"; len(shown) == 0 || shown[len(shown)-1] != want {
		t.Errorf("progress %q, want %q last", shown, want)
	}
	if !slices.Equal(b.ran, []string{"a", "c"}) || record(t, s, "c,bond-multicast-tx,default").Shard != "1/2" {
		t.Errorf("ran %v", b.ran)
	}
}

// What changed in the file is measured again, the rest is not.
func TestRunMeasuresAnotherDefinitionAgain(t *testing.T) {
	s, b := store(t), &bench{}
	text := "kernels: [deb:a]\nscenarios: [bond-multicast-tx]\nsettings: {one: {}, two: {traffic.senders: 2}}\n"
	for _, text := range []string{text, strings.Replace(text, "senders: 2", "senders: 3", 1)} {
		if err := Run(t.Context(), mustPlan(t, text), s, b.bench(), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.ran) != 3 {
		t.Errorf("%d cells ran, want 2 and then the one that changed", len(b.ran))
	}
	if r := record(t, s, "a,bond-multicast-tx,two"); r.Attempt != 1 {
		t.Errorf("a new definition is attempt %d", r.Attempt)
	}
}

// A kernel that was built anew under the same name is another kernel.
func TestRunMeasuresAnotherBuildAgain(t *testing.T) {
	s, b, p := store(t), &bench{}, mustPlan(t, "kernels: [./bzImage, deb:a]\nscenarios: [bond-multicast-tx]\n")
	path := p.Cells[0].Options.Kernel
	for _, print := range []string{"first build", "first build", "second build"} {
		b.prints = map[string]string{path: print}
		if err := Run(t.Context(), p, s, b.bench(), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a", path, path}; !slices.Equal(b.ran, want) {
		t.Errorf("ran %v, want %v", b.ran, want)
	}
}

func TestCellThatFailsIsRecordedAndTheRestGoesOn(t *testing.T) {
	s, p := store(t), mustPlan(t, threeKernels)
	b := &bench{fail: map[string]error{"deb:b": errors.New("QEMU was killed")}}
	if err := Run(t.Context(), p, s, b.bench(), Options{Host: "here"}); err != nil {
		t.Fatal(err)
	}
	if len(b.ran) != 3 {
		t.Errorf("ran %v", b.ran)
	}
	r := record(t, s, "b,bond-multicast-tx,default")
	if r.State != Failed || r.Why != "QEMU was killed" {
		t.Errorf("record %+v", r)
	}
	b.fail = nil
	if err := Run(t.Context(), p, s, b.bench(), Options{}); err != nil {
		t.Fatal(err)
	}
	if r := record(t, s, "b,bond-multicast-tx,default"); r.State != Measured || r.Attempt != 2 || r.Why != "" || len(b.ran) != 4 {
		t.Errorf("the failed cell alone must run again: %v, %+v", b.ran, r)
	}
}

func TestRunIsInterrupted(t *testing.T) {
	s, p := store(t), mustPlan(t, threeKernels)
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := &bench{during: func(n int) {
		if n == 2 {
			cancel(cause)
		}
	}}
	if err := Run(ctx, p, s, b.bench(), Options{}); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause of the end", err)
	}
	if a, b := record(t, s, "a,bond-multicast-tx,default"), record(t, s, "b,bond-multicast-tx,default"); a.State != Measured || b.State != Begun {
		t.Errorf("states %s, %s", a.State, b.State)
	}
}

// A file that can't be a kernel stops all before anything boots; what a kernel lacks is for its cell to tell.
func TestFilesAreLookedAtFirst(t *testing.T) {
	p := mustPlan(t, "kernels: [deb:a, ./bzImage]\nscenarios: [bond-multicast-tx]\n")
	for err, runs := range map[error]int{
		errors.New("bzImage: no kernel image"):               0,
		&reproducer.KernelError{Reason: "it has no bonding"}: 2,
	} {
		b, s := &bench{fail: map[string]error{"print ": err}}, store(t)
		got := Run(t.Context(), p, s, b.bench(), Options{})
		if _, left := os.Stat(s.dir); (left == nil) != (runs > 0) {
			t.Errorf("%v: the folder is there: %v", err, left == nil)
		}
		if (got == nil) != (runs > 0) || len(b.ran) != runs {
			t.Errorf("%v: error %v after %d runs, want %d", err, got, len(b.ran), runs)
		}
	}
}

// A result whose file is not the one that was written counts for nothing.
func TestDamagedResultIsMeasuredAgain(t *testing.T) {
	s, b, p := store(t), &bench{}, mustPlan(t, threeKernels)
	run := func() {
		t.Helper()
		if err := Run(t.Context(), p, s, b.bench(), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	write(t, s.ResultFile("a,bond-multicast-tx,default"), "{}")
	if err := os.Remove(s.ResultFile("b,bond-multicast-tx,default")); err != nil {
		t.Fatal(err)
	}
	run()
	if want := []string{"a", "b", "c", "a", "b"}; !slices.Equal(b.ran, want) {
		t.Errorf("ran %v, want %v", b.ran, want)
	}
}
