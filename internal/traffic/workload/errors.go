package workload

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Error is a system call that failed, and what it was done for.
type Error struct {
	Op     string // bind, connect, read the response
	Object string // an address, or connection 3
	Err    error  // the errno; io.ErrUnexpectedEOF where the other end closed
}

func (e *Error) Error() string {
	var errno syscall.Errno
	if errors.As(e.Err, &errno) {
		return fmt.Sprintf("%s: %s: %s (%s)", e.Op, e.Object, errno.Error(), unix.ErrnoName(errno))
	}
	return fmt.Sprintf("%s: %s: %v", e.Op, e.Object, e.Err)
}

// Unwrap gives the errno.
func (e *Error) Unwrap() error { return e.Err }

// ErrNothing says that nothing arrived in the time measured.
var ErrNothing = errors.New("nothing arrived while it was measured")
