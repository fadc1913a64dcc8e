package kbuild

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	if err := Command(t.Context(), dir, "echo built; touch made", log, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Errorf("it ran elsewhere: %v", err)
	}
	if text, _ := os.ReadFile(log); !strings.Contains(string(text), "built\n") {
		t.Errorf("the log has %q", text)
	}
	var source *BuildError
	if err := Command(t.Context(), dir, "echo 'a.c:1:2: error: no such thing'; exit 2", "", nil); !errors.As(err, &source) || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("source that does not build: %v", err)
	}
	for _, command := range []string{"no-such-program-here", "kill -9 $$"} {
		if err := Command(t.Context(), dir, command, "", nil); err == nil || errors.As(err, &source) {
			t.Errorf("%s: %v, which blames the source", command, err)
		}
	}
}
