package main

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"bondrepro/internal/netns"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if netns.Child() { // of a command under test, which starts itself
		netns.Main()
	}
	testscript.Main(m, map[string]func(){"bondrepro": main})
}

// The scripts show the command as a user types it, with what it prints and its exit code ("status").
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"status": status, "send": send, "await": await},
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/cache")
			return os.CopyFS(e.WorkDir+"/recorded", os.DirFS("../../reproducer/testdata"))
		},
	})
}

// status CODE COMMAND…: runs the command and fails unless it ends in that exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND…")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = exitStatus(err)
	}
	if code != args[0] {
		ts.Fatalf("%v ended in %s, want %s", args[1:], code, args[0])
	}
}

// exitStatus is the number in what os/exec says of a command that failed: "exit status 128".
func exitStatus(err error) string {
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
