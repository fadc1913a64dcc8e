package testbed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/kernel"
	"bondrepro/internal/vm"
)

// KernelError says that the kernel in the guest failed by itself: it panicked, hangs, or lacks what a
// measurement can't do without.
type KernelError struct {
	Reason string
	Err    error
}

func (e *KernelError) Error() string { return e.Reason }

// Unwrap gives the cause.
func (e *KernelError) Unwrap() error { return e.Err }

// UsageError says that what was asked for is no kernel, or can't be done with it.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// classify sorts the errors of the rooms below.
func classify(err error) error {
	var missing *kernel.MissingModulesError
	var dead *vm.KernelError
	var usage *kernel.UsageError
	var ours *vm.GuestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return &KernelError{Reason: missing.Error(), Err: err}
	case errors.As(err, &dead):
		return &KernelError{Reason: dead.Error(), Err: err}
	case errors.As(err, &usage):
		return &UsageError{Err: err}
	case errors.As(err, &ours):
		return &exitcode.Error{Code: exitcode.Panicked, Err: err}
	}
	return err
}

// errTooLong is the cause of a deadline of ours.
var errTooLong = errors.New("it took too long")

// within gives a call on the running kernel its deadline: a *KernelError when that has passed, and ctx's cause when ctx has
// ended.
func within(ctx context.Context, limit time.Duration, kind string, call func(context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer cancel()
	err := call(limited)
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(limited), errTooLong):
		return &KernelError{Reason: fmt.Sprintf("the running kernel did not finish to %s within %v", kind, limit.Round(time.Second)), Err: err}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}
