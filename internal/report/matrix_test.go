package report

import (
	"os"
	"testing"

	"bondrepro/reproducer/result"

	"github.com/google/go-cmp/cmp"
)

// Every kind of cell in one table.
func TestMatrixTable(t *testing.T) {
	dropped := func(n float64) *float64 { return &n }
	r := result.MatrixReport{
		Schema: result.MatrixSchema, Matrix: "kernels.yaml",
		Cells: []result.MatrixCell{
			{ID: "6.1,bond-multicast-tx,default", Kernel: "6.1", Scenario: "bond-multicast-tx", Setting: "default", Verdict: result.Good, Diagnosis: "none", Dropped: dropped(0), Files: []string{"a"}},
			{ID: "patched,bond-multicast-tx,default", Kernel: "patched", Scenario: "bond-multicast-tx", Setting: "default", Verdict: result.Bad, Cause: result.CauseKernel, Diagnosis: "back-pressure-lost", Dropped: dropped(4974), Files: []string{"a"}},
			{ID: "6.1,bond-multicast-tx,eight", Kernel: "6.1", Scenario: "bond-multicast-tx", Setting: "eight", Verdict: result.Inconclusive, Reason: "the line was not full in any run", Files: []string{"a"}},
			{ID: "patched,bond-multicast-tx,eight", Kernel: "patched", Scenario: "bond-multicast-tx", Setting: "eight", Missing: "it was begun on node2 at 2026-11-30 20:00:00 UTC (attempt 1) and did not end"},
			{ID: "6.1,bond-broadcast,default", Kernel: "6.1", Scenario: "bond-broadcast", Setting: "default", Missing: "it was not begun"},
			{ID: "patched,bond-broadcast,default", Kernel: "patched", Scenario: "bond-broadcast", Setting: "default", Missing: "it was not begun"},
			{ID: "6.1,bond-failover,default", Kernel: "6.1", Scenario: "bond-failover", Setting: "default", Verdict: result.Good, Dropped: dropped(12), Files: []string{"p1/cells/a.json", "p2/cells/a.json"}, Verdicts: []result.Verdict{result.Good, result.Good}},
			{ID: "patched,bond-failover,default", Kernel: "patched", Scenario: "bond-failover", Setting: "default", Verdict: result.Good, Dropped: dropped(3), Files: []string{"p1/cells/b.json", "p2/cells/b.json"}, Verdicts: []result.Verdict{result.Good, result.Bad}},
		},
		Warnings: []result.Warning{{Code: "not-one-build", Text: "kernel 6.1 was not the same in all cells: 6.1.0-57, build id ab; 6.1.0-58, build id cd. Compare only cells of one build."}},
	}
	const file = "testdata/matrix.txt"
	got := Matrix(r)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test ./internal/report -update writes it):\n%s", file, diff)
	}
}
