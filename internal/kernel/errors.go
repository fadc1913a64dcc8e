package kernel

import (
	"fmt"
	"strings"
)

// UsageError is a mistake in what the user gave: one sentence. It ends in exit code 128.
type UsageError struct{ Message string }

// Error is the sentence.
func (e *UsageError) Error() string { return e.Message }

func usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
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
