package netns

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"bondrepro/internal/osrun"
)

// PanicError says that our own program died in the namespaces: a fault of ours. Exit code 134 suits it.
type PanicError struct {
	Err error // how it ended, an *osrun.Error with what it wrote
}

func (e *PanicError) Error() string {
	return "our program in the private namespaces died: " + e.Err.Error()
}

// Unwrap gives Err.
func (e *PanicError) Unwrap() error { return e.Err }

// DeadError says that the process in the namespaces was ended by something else: exit code 128 suits it.
type DeadError struct {
	Err error // how it ended, an *osrun.Error with what it wrote; nil when it ended with exit code 0
}

func (e *DeadError) Error() string {
	if e.Err == nil {
		return "the process in the private namespaces ended by itself"
	}
	return "the process in the private namespaces ended: " + e.Err.Error()
}

// Unwrap gives Err.
func (e *DeadError) Unwrap() error { return e.Err }

// died sorts the end of the child that nobody asked for. A Go program dies of itself with SIGABRT under the "crash"
// traceback and with exit code 2 before that is set.
func died(end error) error {
	var e *osrun.Error
	const goPanicked = 2
	if errors.As(end, &e) && (e.Signal == syscall.SIGABRT || e.ExitCode == goPanicked) {
		return &PanicError{Err: end}
	}
	return &DeadError{Err: end}
}

// SetupError says that the kernel refused to make the place: no namespace, no veth. Exit code 128 suits it.
type SetupError struct{ Text string }

func (e *SetupError) Error() string { return e.Text }

// rootlessAdvice is what forbids a user network namespaces: sysctls (the second one is of Debian's kernels), or
// AppArmor, which makes them and then takes their rights away (Ubuntu, apparmor_restrict_unprivileged_userns).
const rootlessAdvice = "sysctl user.max_user_namespaces=0, sysctl kernel.unprivileged_userns_clone=0, AppArmor or a container's seccomp filter forbid them; root needs none"

// refusedClone explains that no process could be started in new namespaces.
func refusedClone(err error, rootless bool) error {
	var e *osrun.Error
	if errors.As(err, &e) && e.Err != nil {
		err = e.Err // without the name of the program, which is always this one
	}
	what := "make a network namespace"
	advice := ""
	if rootless {
		what = "make a user and a network namespace"
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) {
			advice = " (" + rootlessAdvice + ")"
		}
	}
	return &SetupError{Text: fmt.Sprintf("%s: %v%s", what, err, advice)}
}

// refused is a call that the kernel refused while the place was made.
func refused(op, object string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", op, object, err)
}

// oneLine makes one sentence's text of several lines.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
