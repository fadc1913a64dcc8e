package bisect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"bondrepro/internal/kernel"
)

// utsRelease is the line of a folder of headers that says which kernel they are of.
var utsRelease = regexp.MustCompile(`(?m)^#define UTS_RELEASE "(.+)"$`)

// checkModuleKernel makes sure that modules built against the headers can take the place of the kernel's own: it would be
// found out only after the first build.
func checkModuleKernel(ctx context.Context, o ModuleOptions) error {
	k, err := kernel.Open(ctx, o.Kernel, kernel.Options{Progress: o.Progress})
	var usage *kernel.UsageError
	if errors.As(err, &usage) {
		return wrong("--kernel: %v", err)
	}
	if err != nil {
		return err
	}
	if builtIn, known := k.BuiltIn(o.Name); known && builtIn {
		return wrong("--kernel %s: %s is built into it, and can't be replaced", o.Kernel, o.Name)
	}
	text, err := os.ReadFile(filepath.Join(o.Headers, "include/generated/utsrelease.h"))
	if err != nil { // such headers say nothing of their kernel; the kernel itself will, when it loads the module
		return nil
	}
	if is := utsRelease.FindSubmatch(text); is != nil && string(is[1]) != k.Release {
		return wrong("--headers %s are those of kernel %s, and --kernel %s is %s: a module built against them does not load there", o.Headers, is[1], o.Kernel, k.Release)
	}
	return nil
}
