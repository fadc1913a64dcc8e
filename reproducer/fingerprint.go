package reproducer

import (
	"context"

	"bondrepro/internal/testbed"
)

// Fingerprint is a hash of the kernel image and of every module that Run would load into a guest with these options:
// results of equal fingerprints (and scenarios) are interchangeable. Errors are *UsageError, *KernelError (the kernel lacks
// a module that nothing can be measured without), or of the environment.
func Fingerprint(ctx context.Context, options Options) (string, error) {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	if options.Kernel == "" {
		options.Kernel = DefaultKernel
	}
	sum, err := testbed.Fingerprint(ctx, bedOptions(options))
	return sum, fromPlace(err)
}
