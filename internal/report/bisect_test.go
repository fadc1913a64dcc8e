package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/reproducer/result"

	"github.com/google/go-cmp/cmp"
)

// The reports in testdata/bisect were recorded; their texts are golden.
func TestBisectGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/bisect/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("reports in testdata/bisect: %v, %v", files, err)
	}
	for _, file := range files {
		got := Bisect(bisectReport(t, file))
		golden := strings.TrimSuffix(file, ".json") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (go test ./internal/report -update writes it):\n%s", golden, diff)
		}
	}
}

func bisectReport(t *testing.T, file string) (r result.BisectReport) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return r
}

// Where it could not be told, everything that it may be is named, and no single one.
func TestBisectUnclear(t *testing.T) {
	r := bisectReport(t, "testdata/bisect/packages.json")
	r.Candidates, r.Culprit, r.Name, r.FindFix = []string{"one", "two"}, "", "", true
	text := Bisect(r)
	if !strings.Contains(text, "first good kernel could not be told; it is one of:\n  one\n  two\n") || strings.Contains(text, "first good kernel:") {
		t.Errorf("unclear:\n%s", text)
	}
}
