package testbed

import (
	"fmt"
	"slices"

	"bondrepro/internal/guestproto"
	"bondrepro/internal/kernel"
	"bondrepro/reproducer/result"
)

// prove holds the guest's own account of what runs against what it was given: the kernel's release and build id
// (empty when the image does not tell), and each module's build id. Errors are *KernelError and *UsageError.
func prove(release, buildID string, modules []kernel.Module, hello guestproto.Hello) ([]result.Module, error) {
	if hello.Release != release {
		return nil, &KernelError{Reason: fmt.Sprintf("the guest runs %s, but the kernel given is %s", hello.Release, release)}
	}
	if buildID != "" && hello.BuildID != "" && buildID != hello.BuildID {
		return nil, &KernelError{Reason: fmt.Sprintf("the guest's kernel has the build id %s, but the one given has %s", hello.BuildID, buildID)}
	}
	for _, p := range hello.Problems {
		if err := problem(p, modules); err != nil {
			return nil, err
		}
	}
	var proven []result.Module
	for _, given := range modules {
		loaded, ok := hello.Module(given.Name)
		if !ok && builtIn(hello, given.Name) {
			continue
		}
		if !ok {
			return nil, &KernelError{Reason: fmt.Sprintf("the module %s was given to the guest but is not loaded there", given.Name)}
		}
		m := result.Module{
			Name: given.Name, File: given.File, BuildID: loaded.BuildID, Swapped: given.Swapped,
			Proven: given.BuildID != "" && loaded.BuildID == given.BuildID,
		}
		if m.Swapped && !m.Proven {
			return nil, &KernelError{Reason: fmt.Sprintf("the guest's %s has the build id %q, but the file %s has %q: it is not the module under test that runs", m.Name, m.BuildID, m.File, given.BuildID)}
		}
		proven = append(proven, m)
	}
	return proven, nil
}

// builtIn tells whether the guest found the module's code in the kernel already: a kernel without a modules.builtin
// does not tell before it runs.
func builtIn(hello guestproto.Hello, module string) bool {
	return slices.ContainsFunc(hello.Problems, func(p guestproto.Problem) bool { return p.Module == module && p.AlreadyThere })
}

// problem decides what a module or sysctl that did not go in as asked means.
func problem(p guestproto.Problem, modules []kernel.Module) error {
	i := slices.IndexFunc(modules, func(m kernel.Module) bool { return m.Name == p.Module })
	swapped := i >= 0 && modules[i].Swapped
	switch {
	case p.Sysctl != "":
		return nil // a kernel without IPv6 has no sysctl to turn it off
	case p.AlreadyThere && swapped:
		return &UsageError{Err: fmt.Errorf("%s is built into this kernel: --module %s=%s can't take its place", p.Module, p.Module, modules[i].File)}
	case p.AlreadyThere:
		return nil
	}
	return &KernelError{Reason: p.Text}
}
