package scenarios

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (renew it with -update); got:\n%s", file, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range gotLines {
		if i >= len(wantLines) || gotLines[i] != wantLines[i] {
			return strings.Join(gotLines[max(i-2, 0):min(i+3, len(gotLines))], "\n")
		}
	}
	return "(a shorter text)"
}

// sources are the scenario files of a folder: name without folder, and text.
func sources(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = src
	}
	return files
}

// lines are the lines of a file of inputs, blank ones left out.
func lines(t testing.TB, file string) []string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for line := range strings.Lines(string(src)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			inputs = append(inputs, line)
		}
	}
	return inputs
}
