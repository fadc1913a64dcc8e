package matrix

import (
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// put writes a measured cell.
func put(t *testing.T, s *Store, c Cell, r result.Result) {
	t.Helper()
	if err := s.SetResult(c.ID, r, Record{Key: c.Key, Host: "node1", Attempt: 1}); err != nil {
		t.Fatal(err)
	}
}

// parts are folders of a plan.
func parts(t *testing.T, p Plan, n int) (stores []*Store, dirs []string) {
	t.Helper()
	for range n {
		s := store(t)
		if err := s.SetPlan(p); err != nil {
			t.Fatal(err)
		}
		stores, dirs = append(stores, s), append(dirs, s.dir)
	}
	return stores, dirs
}

func TestMergeJoinsShards(t *testing.T) {
	p, dirs := mustPlan(t, threeKernels), []string{}
	for k := 1; k <= 2; k++ {
		s := store(t)
		if err := Run(t.Context(), p, s, (&bench{}).bench(), Options{Shard: Shard{k, 2}, Host: "h"}); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, s.dir)
	}
	r, err := Merge(dirs, Shard{}, "v1")
	if err != nil || !r.Complete() || len(r.Cells) != 3 || r.Matrix != "m.yaml" || r.Key != p.Key || len(r.Warnings) != 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	c := r.Cells[0]
	if c.ID != "a,bond-multicast-tx,default" || c.Verdict != result.Good || c.Diagnosis != "some-mechanism" || *c.Dropped != 1 || c.Release != "6.1.0" || c.Host != "h" || len(c.Files) != 1 {
		t.Errorf("cell %+v", c)
	}
	if one, err := Merge(dirs[:1], Shard{}, "v1"); err != nil || one.Complete() || one.Cells[1].Missing != "it was not begun" {
		t.Errorf("a part alone is complete: %v, %+v", err, one)
	}
	if one, err := Merge(dirs[:1], Shard{1, 2}, "v1"); err != nil || !one.Complete() || len(one.Cells) != 2 {
		t.Errorf("a part by itself is not complete: %v, %+v", err, one)
	}
}

func TestMergeSaysWhyCellsAreMissing(t *testing.T) {
	p := mustPlan(t, "kernels: [deb:a, deb:b, deb:c, deb:d, deb:e, deb:f]\nscenarios: [bond-multicast-tx]\n")
	s, dirs := parts(t, p, 2)
	for i, r := range []Record{
		{Key: p.Cells[0].Key, State: Begun, Host: "node2", Attempt: 2},
		{Key: p.Cells[1].Key, State: Failed, Host: "node2", Why: "QEMU was killed"},
		{Key: "another", State: Measured},
		{Key: p.Cells[3].Key, State: Measured, Sum: "another"},
	} {
		if err := s[0].SetRecord(p.Cells[i].ID, r); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s[0].ResultFile(p.Cells[3].ID), `{"schema": 1, "arms": [{}]}`)
	if err := s[0].SetRecord(p.Cells[5].ID, Record{Key: p.Cells[5].Key, State: Failed, Why: "no QEMU"}); err != nil {
		t.Fatal(err)
	}
	put(t, s[1], p.Cells[5], good(1))
	r, err := Merge(dirs, Shard{}, "")
	if err != nil || r.Complete() {
		t.Fatal(err, r)
	}
	for i, want := range []string{"begun on node2 at 0001-01-01 00:00:00 UTC (attempt 2) and did not end", "on node2: QEMU was killed", "another definition", "not the one that was written", "it was not begun", ""} {
		if got := r.Cells[i].Missing; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: missing %q, want %q", r.Cells[i].ID, got, want)
		}
	}
}

func TestMergeNamesDoubles(t *testing.T) {
	p := mustPlan(t, threeKernels)
	s, dirs := parts(t, p, 2)
	for i, r := range [][2]result.Result{{good(1), good(1)}, {good(1), good(2)}, {good(1), judged(result.Bad, 7)}} {
		put(t, s[0], p.Cells[i], r[0])
		put(t, s[1], p.Cells[i], r[1])
	}
	r, err := Merge(dirs, Shard{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ double, contradicts bool }{{false, false}, {true, false}, {true, true}} {
		if c := r.Cells[i]; c.Double() != want.double || c.Contradicts() != want.contradicts || *c.Dropped != 1 {
			t.Errorf("%s: double %v, contradicts %v, %v", c.ID, c.Double(), c.Contradicts(), c.Files)
		}
	}
	if files := r.Cells[2].Files; len(files) != 2 || files[0] != s[0].ResultFile(p.Cells[2].ID) || files[1] != s[1].ResultFile(p.Cells[2].ID) {
		t.Errorf("files %v", files)
	}
	if r.Complete() {
		t.Error("two verdicts of one cell pass for an answer")
	}
}

func TestMergeRefuses(t *testing.T) {
	_, a := parts(t, mustPlan(t, threeKernels), 1)
	_, b := parts(t, mustPlan(t, "scenarios: [bond-multicast-tx]\n"), 1)
	later := store(t)
	if err := later.SetPlan(Plan{Schema: PlanSchema + 1}); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	write(t, filepath.Join(broken, "plan.json"), "{")
	for want, dirs := range map[string][]string{
		"are not parts of one matrix":         {a[0], b[0]},
		"there is no plan.json in it":         {t.TempDir()},
		"use the bondrepro that wrote it":     {later.dir},
		"not a file of bondrepro matrix":      {broken},
		"/none: there is no plan.json in it;": {t.TempDir() + "/none"},
	} {
		if _, err := Merge(dirs, Shard{}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A package may be another version on another machine: its cells must not be compared unawares.
func TestMergeWarnsOfSeveralBuilds(t *testing.T) {
	p := mustPlan(t, "kernels: [deb:a]\nscenarios: [bond-multicast-tx, bond-multicast-tx-8]\nsettings: {one: {}, two: {traffic.duration: 1s}}\n")
	s, dirs := parts(t, p, 1)
	for i, c := range p.Cells {
		r := good(i)
		r.Guest.Modules = []result.Module{{Name: "bonding", File: "/k/bonding.ko", BuildID: "01"}}
		switch c.ID {
		case "a,bond-multicast-tx,two":
			r.Guest.BuildID = "ef01"
		case "a,bond-multicast-tx-8,one":
			r.Guest.Modules[0].BuildID = "02"
		}
		put(t, s[0], c, r)
	}
	r, err := Merge(dirs, Shard{}, "")
	if err != nil || len(r.Warnings) != 2 {
		t.Fatalf("%v, warnings %+v, want one of the kernel and one of the module", err, r.Warnings)
	}
	for i, want := range []string{"kernel a was not the same in all cells: 6.1.0, build id abcd; 6.1.0, build id ef01", "module bonding of kernel a with setting one was not the same"} {
		if !strings.Contains(r.Warnings[i].Text, want) {
			t.Errorf("warning %q, want %q", r.Warnings[i].Text, want)
		}
	}
}

// The figures of a table are of the run that decides, not of a run that does not count.
func TestDecidingRun(t *testing.T) {
	run := func(v result.Verdict, dropped float64) result.Run {
		return result.Run{Judgement: result.RunJudgement{Verdict: v, Metrics: map[string]float64{"slaves.qdisc.dropped": dropped}}}
	}
	for _, c := range []struct {
		verdict result.Verdict
		runs    []result.Run
		want    float64
	}{
		{result.Bad, []result.Run{run(result.Good, 1), run(result.Bad, 2), run(result.Inconclusive, 3)}, 2},
		{result.Good, []result.Run{run(result.Inconclusive, 1), run(result.Good, 2)}, 2},
		{result.Inconclusive, []result.Run{run(result.Good, 1), run(result.Good, 2)}, 2},
		{result.Bad, []result.Run{run(result.Bad, 1), {}}, 1},
	} {
		r := result.Result{Judgement: result.Judgement{Verdict: c.verdict}, Arms: []result.Arm{
			{Name: result.ArmTest, Runs: c.runs}, {Name: result.ArmControl, Runs: []result.Run{run(c.verdict, 99)}},
		}}
		if got := deciding(r).Metrics["slaves.qdisc.dropped"]; got != c.want {
			t.Errorf("%s of %d runs: dropped %v, want %v", c.verdict, len(c.runs), got, c.want)
		}
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	file := write(t, t.TempDir()+"/file", "")
	if err := NewStore(file + "/results").SetPlan(Plan{}); err == nil || !strings.HasPrefix(err.Error(), "folder of results: ") {
		t.Errorf("error %v", err)
	}
}
