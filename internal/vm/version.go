package vm

import "context"

// QEMUVersion is the version of the QEMU that Start would use: 7.2.22. program empty means
// qemu-system-x86_64 of $PATH. The error is a *NoQEMUError, or ctx's.
func QEMUVersion(ctx context.Context, program string) (string, error) {
	return qemuVersion(ctx, programOf(program))
}
