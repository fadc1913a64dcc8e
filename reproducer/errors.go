package reproducer

import (
	"errors"

	"bondrepro/internal/measure"
	"bondrepro/internal/testbed"
)

// UsageError says that what was asked for is wrong or can't be had in this place: exit code 128.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// KernelError says that the kernel under test could not be measured by a fault of its own: it panicked,
// hangs, or lacks what the measurement needs. It makes a Result inconclusive, exit code 125.
type KernelError struct {
	Reason string // one sentence, with the console's last lines where there is a console
	Err    error
}

func (e *KernelError) Error() string { return e.Reason }

// Unwrap gives the cause.
func (e *KernelError) Unwrap() error { return e.Err }

// fromPlace sorts the errors of a testbed into the two kinds above; what fits neither is of the environment
// and stays as it is.
func fromPlace(err error) error {
	var fault *measure.Fault
	var kernel *testbed.KernelError
	var usage *testbed.UsageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &usage), errors.As(err, &fault) && fault.Class == measure.Refused:
		return &UsageError{Err: err}
	case errors.As(err, &fault):
		return &KernelError{Reason: fault.Text, Err: err}
	case errors.As(err, &kernel):
		return &KernelError{Reason: kernel.Reason, Err: err}
	}
	return err
}

// NotRestoredError says what of this machine's ports could not be put back, item by item: exit code 128, whatever the
// verdict.
type NotRestoredError struct{ Err error }

func (e *NotRestoredError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *NotRestoredError) Unwrap() error { return e.Err }

// fromClose sorts the errors of taking a testbed down.
func fromClose(err error) error {
	var left *testbed.NotRestoredError
	if errors.As(err, &left) {
		return &NotRestoredError{Err: err}
	}
	return err
}
