package main

import (
	"errors"
	"strconv"
	"testing"

	"bondrepro/internal/guest"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if guest.Booted() {
		guest.Main(guest.Handlers())
	}
	testscript.Main(m, map[string]func(){"bondctl": main})
}

// The scripts show the command as a user types it, with what it prints and its exit code ("status").
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// status CODE COMMAND…: runs the command and fails unless it ends in that exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND…")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = strconv.Itoa(exit.ExitCode())
	}
	if code != args[0] {
		ts.Fatalf("%v ended in %s, want %s", args[1:], code, args[0])
	}
}
