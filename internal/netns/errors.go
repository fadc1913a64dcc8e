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
	Said string // the beginning of what it wrote: a panic's message comes first, and its traces are long
	Err  error  // how it ended, an *osrun.Error with the end of what it wrote
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("our program in the private namespaces died: %s … %v", e.Said, e.Err)
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
func died(end error, said string) error {
	var e *osrun.Error
	const goPanicked = 2
	if errors.As(end, &e) && (e.Signal == syscall.SIGABRT || e.ExitCode == goPanicked) {
		return &PanicError{Said: said, Err: end}
	}
	return &DeadError{Err: end}
}

// SetupError says that the kernel refused to make the place: no namespace, no veth. Exit code 128 suits it.
type SetupError struct {
	Text string
	Err  error // the errno where there is one
}

func (e *SetupError) Error() string { return e.Text }

// Unwrap gives Err.
func (e *SetupError) Unwrap() error { return e.Err }

// What forbids namespaces, and with which errno (clone(2), user_namespaces(7)). AppArmor may also let them be made and
// take their rights away (Ubuntu, kernel.apparmor_restrict_unprivileged_userns).
const (
	countAdvice  = "sysctl user.max_user_namespaces or user.max_net_namespaces allows no more of them"
	rightsAdvice = "sysctl kernel.unprivileged_userns_clone=0, AppArmor or a container's seccomp filter forbids it to this user; root in no container may"
)

// refusedClone explains that no process could be started in new namespaces.
func refusedClone(err error, rootless bool) error {
	var e *osrun.Error
	if errors.As(err, &e) && e.Err != nil {
		err = e.Err // without the name of the program, which is always this one
	}
	what := "make a network namespace"
	if rootless {
		what = "make a user and a network namespace"
	}
	return &SetupError{Text: fmt.Sprintf("%s: %v%s", what, err, advice(err)), Err: err}
}

// advice is what to do about an errno, in parentheses; empty where nothing is known.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return " (" + countAdvice + ")"
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return " (" + rightsAdvice + ")"
	}
	return ""
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
