package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMeasuredScripts are scripts whose commands measure, over the loopback of namespaces of their own.
func TestMeasuredScripts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/netns",
		RequireUniqueNames: true,
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}
