package kernel

import (
	"errors"
	"fmt"
	"strings"
)

// UsageError is a mistake in what the user gave: one sentence. It ends in exit code 128.
type UsageError struct {
	Message string
	// Cause is ErrNotOffered where that is what is wrong, else nil.
	Cause error
}

// Error is the sentence.
func (e *UsageError) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.Cause }

// ErrNotOffered is inside the error for a package that the package system does not have, or has no more.
var ErrNotOffered = errors.New("the package is not offered")

func usagef(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

func notOfferedf(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...), Cause: ErrNotOffered}
}

// MissingModulesError is a kernel that can't do what is asked of it: it has a module
// neither built in nor as a file. It ends in exit code 125.
type MissingModulesError struct {
	// Release is the kernel's.
	Release string
	// Names are the missing modules, sorted.
	Names []string
}

// Error names the kernel and the modules.
func (e *MissingModulesError) Error() string {
	return fmt.Sprintf("kernel %s has no %s: neither built in nor as a module", e.Release, strings.Join(e.Names, ", "))
}
