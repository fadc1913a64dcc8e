package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"bondrepro/bondctl"
	"bondrepro/internal/exitcode"

	"github.com/spf13/cobra"
)

// withClient does something in the network namespace of this process.
func withClient(do func(*bondctl.Client) error) (err error) {
	runtime.LockOSThread() // a namespace is a thread's
	defer runtime.UnlockOSThread()
	client, err := bondctl.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return do(client)
}

// changing does something to interfaces: a second signal does not end it half-way.
func changing(do func(*bondctl.Client) error) error {
	defer exitcode.Shield()()
	return withClient(do)
}

// commandLine is what other commands are told of this one.
func commandLine() string { return strings.Join(os.Args, " ") }

// say prints one sentence about a bond unless there is an error.
func say(cmd *cobra.Command, err error, name, text string) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", name, text)
	return err
}
