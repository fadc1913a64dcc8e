package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// inEmptyNamespace runs the command in a network namespace that has nothing but lo.
func inEmptyNamespace(t *testing.T, cmd *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- cmd.Execute()
	}()
	err := <-done
	return out.String(), err
}

func TestShowNothing(t *testing.T) {
	out, err := inEmptyNamespace(t, newShow())
	if err != nil || out != "There is no bond in this network namespace.\n" {
		t.Errorf("%q, %v", out, err)
	}
	out, err = inEmptyNamespace(t, newShow(), "--json")
	var s bondctl.Show
	if err != nil || json.Unmarshal([]byte(out), &s) != nil || s.Kernel == "" || !strings.Contains(out, `"bonds": []`) {
		t.Errorf("%q, %v", out, err)
	}
	for _, name := range []string{"lo", "bond7"} {
		if out, err = inEmptyNamespace(t, newShow(), name); err == nil || err.Error() != "there is no bond named "+name+" in this network namespace" {
			t.Errorf("%q, %v", out, err)
		}
	}
}
