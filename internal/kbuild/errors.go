package kbuild

// BuildError is source that does not build: the fault of the commit, not of the machine.
type BuildError struct {
	// Reason is one line: the first error of the compiler, linker, make or kconfig, as it wrote it.
	Reason string
}

// Error is the reason.
func (e *BuildError) Error() string { return "it does not build: " + e.Reason }
