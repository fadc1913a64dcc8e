package qdiscstat

import (
	"errors"
	"fmt"

	"syscall"
)

var (
	// ErrInterrupted says that the kernel flagged a dump NLM_F_DUMP_INTR: what was listed changed while it was
	// listed, so entries may be missing or twice. Nothing of that dump is returned; poll again.
	ErrInterrupted = errors.New("the kernel's list changed while it was read")

	// ErrTimeout says that the kernel did not answer within the deadline of a wait.
	ErrTimeout = errors.New("the kernel did not answer within 2s")
)

// KernelError is a request that the kernel refused.
type KernelError struct {
	Op    string        // what was asked, for example "dump qdiscs"
	Errno syscall.Errno // errors.Is(err, syscall.ENODEV) finds it
	Text  string        // the kernel's own words (NLMSGERR_ATTR_MSG); may be empty
}

// Error is operation, errno and the kernel's text.
func (e *KernelError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s: %v", e.Op, e.Errno)
	}
	return fmt.Sprintf("%s: %v (%s)", e.Op, e.Errno, e.Text)
}

// Unwrap gives the errno.
func (e *KernelError) Unwrap() error { return e.Errno }
