package statetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bondrepro/internal/osrun"
)

// What a child is told: after how many changes it ends, and where it notes the last of them.
const (
	dieAfter = "BONDREPRO_TEST_DIE_AFTER"
	dieNote  = "BONDREPRO_TEST_DIE_NOTE"
)

// Dying is for the child of RunDying: told of each change, it ends this process by SIGKILL after as many as it was asked to.
// ok tells whether this process is such a child.
func Dying() (changed func(command string), ok bool) {
	left, err := strconv.Atoi(os.Getenv(dieAfter))
	if err != nil {
		return nil, false
	}
	return func(command string) {
		if left--; left > 0 {
			return
		}
		_ = os.WriteFile(os.Getenv(dieNote), []byte(command), 0o600) // only for the test's name
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}, true
}

// RunDying runs a test of this binary in a process of its own, which is to end after so many changes. It gives the last
// one, and tells whether the process came to its end before.
func RunDying(t *testing.T, test string, changes int, env ...string) (last string, ended bool) {
	t.Helper()
	note := filepath.Join(t.TempDir(), "last")
	_, err := osrun.Run(context.Background(), osrun.Cmd{
		Path: "/proc/self/exe", Args: []string{"-test.run", "^" + test + "$"}, Timeout: Patience,
		Env: append(append(os.Environ(), dieAfter+"="+strconv.Itoa(changes), dieNote+"="+note), env...),
	})
	text, _ := os.ReadFile(note)
	var failed *osrun.Error
	switch {
	case err == nil:
		return "ended", true
	case errors.As(err, &failed) && failed.Signal == syscall.SIGKILL:
		return strings.ReplaceAll(string(text), " ", "-"), false
	}
	t.Fatal(err)
	return "", false
}

// PutBackAtPoints runs a test of this binary that changes interfaces, ended by SIGKILL after every so many changes until it
// ends by itself. Each time putBack is to make the machine what it was.
func PutBackAtPoints(t *testing.T, topology, test string, stride int, putBack func() error, env ...string) {
	t.Helper()
	before := Record(t)
	points, n := 0, 1
	for ended := false; !ended; n += Stride(stride) {
		var last string
		if last, ended = RunDying(t, test, n, env...); !ended {
			points++
		}
		if err := putBack(); err != nil {
			t.Errorf("killed after %d changes (%s): %v", n, last, err)
		}
		t.Run(fmt.Sprintf("%d %s", n, last), func(t *testing.T) { Equal(t, before, Record(t)) })
		if t.Failed() {
			return
		}
	}
	t.Logf("%s: killed at %d points, each put back", topology, points)
}
