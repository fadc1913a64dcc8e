package kbuild

import (
	"fmt"
	"strings"
)

// BuildError is source that does not build: the fault of the commit, not of the machine.
type BuildError struct {
	// Reason is one line: the first error of the compiler, linker, make or kconfig, as it wrote it.
	Reason string
}

// Error is the reason.
func (e *BuildError) Error() string { return "it does not build: " + e.Reason }

// MissingOptionsError is a config without options that the fragment needs, after kconfig completed it: this kernel does not
// have them, or not with the config they were merged into.
type MissingOptionsError struct {
	// Options are their names, in the fragment's order.
	Options []string
}

// Error names them.
func (e *MissingOptionsError) Error() string {
	return fmt.Sprintf("kconfig leaves out what is needed to boot and measure: %s", strings.Join(e.Options, ", "))
}
