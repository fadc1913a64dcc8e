// Package exitcode holds the one table of exit codes of every command, what maps an error to one, and the
// guard that keeps a panic out of the table.
//
// git bisect run reads 1 to 127 except 125 as "bad" and everything above 127 as "stop" (git-bisect(1)), so
// nothing but a verdict may end in 1, and nothing at all in 2 to 124, 126 and 127.
package exitcode

import (
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// The table.
const (
	Good        = 0
	Bad         = 1
	CannotTell  = 125 // git bisect run skips the commit
	Usage       = 128 // usage, configuration or environment; also "bad, and the host could not be put back"
	Interrupted = 130 // SIGINT
	Panicked    = 134 // our own panic, SIGABRT; also that of our program in a guest
	Terminated  = 143 // SIGTERM, and SIGHUP: the terminal is gone
)

// Guard makes a Go panic end in SIGABRT (134) instead of exit code 2, which git bisect run would read as
// "bad". A reader of standard output that goes away makes a write fail, and does not kill. Call it first in main.
func Guard() {
	debug.SetTraceback("crash")
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// Error is an error that names its exit code. The code must be one of the table.
type Error struct {
	Code int
	Err  error
}

// Error is the message of the error inside.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the error inside.
func (e *Error) Unwrap() error { return e.Err }

// Of maps an error to its exit code: nil is Good, an Error is its Code, also where a signal came, too; Stopped is the code
// of its signal, and anything else is Usage. *exec.ExitError is deliberately not looked at: a child's code is never ours.
func Of(err error) int {
	var coded *Error
	var stopped *Stopped
	switch {
	case err == nil:
		return Good
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &stopped):
		return stopped.ExitCode()
	}
	return Usage
}
