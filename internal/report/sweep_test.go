package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"bondrepro/reproducer/result"

	"github.com/google/go-cmp/cmp"
)

// The texts of sweeps and searches that were made up.
func TestSweepAndSearchTexts(t *testing.T) {
	for _, pattern := range []string{"testdata/sweep/*.json", "testdata/search/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				compareGolden(t, strings.TrimSuffix(name, ".json")+".txt", document(t, data))
			})
		}
	}
}

// document is the text of a sweep's or a search's JSON.
func document(t *testing.T, data []byte) string {
	t.Helper()
	var err error
	var text string
	switch result.KindOf(data) {
	case result.KindSweep:
		var s result.Sweep
		err = json.Unmarshal(data, &s)
		text = Sweep(s)
	case result.KindSearch:
		var s result.Search
		err = json.Unmarshal(data, &s)
		text = Search(s)
	default:
		t.Fatal("it is neither a sweep nor a search")
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compareGolden holds a text against a file, which -update writes, and its lines against the width of a terminal.
func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 112 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestBars(t *testing.T) {
	for _, c := range []struct {
		v, most float64
		want    string
	}{{0, 10, ""}, {10, 10, strings.Repeat("█", barWidth)}, {5, 10, strings.Repeat("█", barWidth/2)}, {0.001, 10, "▏"}, {1, 0, ""}} {
		if got := bar(c.v, c.most); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.v, c.most, got, c.want)
		}
	}
}
