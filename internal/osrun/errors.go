package osrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Error is a process that could not be started or did not end with exit code 0.
type Error struct {
	// Command is the program's base name and its first argument.
	Command string
	// ExitCode is the exit code, -1 when the process never started or was killed by a signal.
	ExitCode int
	// Signal is the signal that ended it, 0 for none.
	Signal syscall.Signal
	// Timeout is the Cmd's timeout when that is what ended it, else 0.
	Timeout time.Duration
	// Tail is the end of what it wrote (see Process.Tail).
	Tail string
	// Err is why it was not started or why it was killed: the context's cause,
	// ErrNotFound and the like. nil when the process ended of itself.
	Err error
}

// Error says what ran, how it ended and what it wrote last.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Command + ": ")
	switch {
	case e.Timeout > 0:
		fmt.Fprintf(&b, "killed: it did not end within %v", e.Timeout)
	case errors.Is(e.Err, context.Canceled), errors.Is(e.Err, context.DeadlineExceeded):
		fmt.Fprintf(&b, "killed: %v", e.Err)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	case e.Signal != 0:
		fmt.Fprintf(&b, "ended by signal %d (%v)", int(e.Signal), e.Signal)
	default:
		fmt.Fprintf(&b, "exit code %d", e.ExitCode)
	}
	if e.Tail != "" {
		b.WriteString("; it wrote last:\n" + e.Tail)
	}
	return b.String()
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// SignalError is a signal that could not be sent.
type SignalError struct {
	Pid    int
	Signal syscall.Signal
	Err    error // the errno of kill(2)
}

// Error names the signal, the process group and the errno.
func (e *SignalError) Error() string {
	return fmt.Sprintf("send signal %d to process group %d: %v", int(e.Signal), e.Pid, e.Err)
}

// Unwrap gives Err.
func (e *SignalError) Unwrap() error { return e.Err }

// command names c in errors: the program and its first argument.
func command(c Cmd) string {
	name := filepath.Base(c.Path)
	if len(c.Args) > 0 {
		name += " " + c.Args[0]
	}
	return name
}
