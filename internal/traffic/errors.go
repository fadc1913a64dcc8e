package traffic

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OptionError says which field of the scenario can't be honoured on this machine, and why. Nothing has been
// sent when it is returned. It is an environment or configuration error: exit code 128.
type OptionError struct {
	Field  string // of the scenario: traffic.socket.sndbuf
	Option string // of the kernel: SO_SNDBUF; empty when no option is involved
	Value  string // what was asked for
	Why    string // what to do or what the kernel did; one clause without a full stop
	Err    error  // the kernel's errno; nil when it accepted the option and did something else
}

func (e *OptionError) Error() string {
	s := fmt.Sprintf("%s: %s can't be had", e.Field, e.Value)
	if e.Option != "" {
		s += " (" + e.Option + ")"
	}
	if e.Err != nil {
		s += ": " + describe(e.Err)
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// Unwrap gives the errno.
func (e *OptionError) Unwrap() error { return e.Err }

// describe writes an errno with its name, as manuals and kernel sources have it.
func describe(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return fmt.Sprintf("%s (%s)", errno.Error(), unix.ErrnoName(errno))
	}
	return err.Error()
}

// errnoOf takes the errno out of what x/net returns, without allocating.
func errnoOf(err error) syscall.Errno {
	for err != nil {
		switch e := err.(type) {
		case syscall.Errno:
			return e
		case *os.SyscallError:
			err = e.Err
		default:
			err = errors.Unwrap(err)
		}
	}
	return 0
}
