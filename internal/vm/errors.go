package vm

import (
	"errors"
	"fmt"
	"strings"

	"bondrepro/internal/guestproto"
)

// NoQEMUError says that there is no QEMU that can be used: the environment's fault, exit code 128.
type NoQEMUError struct {
	Program string
	Why     string
	Err     error // of looking for it or of starting it; may be nil
}

// Error says what to install.
func (e *NoQEMUError) Error() string {
	return fmt.Sprintf("%s: %s; QEMU 7.2 or later is needed: apt-get install qemu-system-x86 "+
		"(qemu-system-x86-core on Fedora, qemu-x86 on openSUSE, qemu-system-x86 on Arch)", e.Program, e.Why)
}

// Unwrap gives Err.
func (e *NoQEMUError) Unwrap() error { return e.Err }

// QEMUError says that QEMU itself failed: it refused its arguments, crashed, or was killed. The guest's kernel
// is not to blame; exit code 128.
type QEMUError struct {
	Err     error  // how it ended, an *osrun.Error with what it wrote
	Console string // the console's last lines
}

// Error tells how QEMU ended.
func (e *QEMUError) Error() string { return withConsole("QEMU failed: "+e.Err.Error(), e.Console) }

// Unwrap gives Err.
func (e *QEMUError) Unwrap() error { return e.Err }

// KernelError says that the guest's kernel failed: it can't be judged, exit code 125.
type KernelError struct {
	Reason  string // "panicked: …", "hung: …", "reached no userspace in 1m0s", "reset …"
	Console string // the console's last lines
	early   bool   // it stood still before our program began
}

// Error is the reason and the console's end.
func (e *KernelError) Error() string {
	return withConsole("the guest's kernel "+e.Reason, e.Console)
}

// GuestError says that our own program in the guest died: a fault of ours. Exit code 134 suits it.
type GuestError struct {
	What    string // the panic's value and stack, or what the console says
	Console string
}

// Error is what it said last.
func (e *GuestError) Error() string {
	return withConsole("our program in the guest died: "+e.What, e.Console)
}

// CallError is a call that the guest did and that failed there: its handler's own error.
type CallError struct {
	Kind string
	Text string
}

// Error is the handler's text.
func (e *CallError) Error() string { return e.Text }

// ErrClosed is what calls of a closed machine end with.
var ErrClosed = errors.New("the machine is closed")

func withConsole(text, console string) string {
	if console == "" {
		return text + " (the console is empty)"
	}
	return text + "; the console's last lines:\n" + console
}

// goDied are the exit codes with which a Go program dies of itself, as the kernel prints them when PID 1 ends:
// exit status 1 and 2 (die, panic), and SIGABRT (a panic under the "crash" traceback). A signal such as SIGSEGV
// would be Go's to catch: when it kills, the kernel is not well.
var goDied = []string{"exitcode=0x00000100", "exitcode=0x00000200", "exitcode=0x00000006", "exitcode=0x00000086"}

// killedSoftly is what QEMU writes before it ends with exit code 0 on SIGTERM, SIGINT or SIGHUP (softmmu/runstate.c).
const killedSoftly = "terminating on signal"

// ended explains the end of QEMU that nobody asked for. exit is how it ended, nil for exit code 0: with
// -no-reboot that is a guest which rebooted, as panic=-1 makes it do, unless what QEMU wrote says that it was
// killed.
func ended(exit error, wrote string, c consoleState) error {
	if exit == nil && strings.Contains(wrote, killedSoftly) {
		exit = errors.New(lastLine(wrote))
	}
	if exit != nil {
		return &QEMUError{Err: exit, Console: c.tail}
	}
	if strings.Contains(c.panic, "Attempted to kill init") {
		for _, code := range goDied {
			if strings.Contains(c.panic, code) {
				return &GuestError{What: c.panic, Console: c.tail}
			}
		}
	}
	return &KernelError{Reason: during(failure(c), c.mark), Console: c.tail}
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func failure(c consoleState) string {
	switch {
	case c.panic != "":
		return "panicked (" + c.panic + ")"
	case c.complaint != "":
		return "reset the machine after it said: " + c.complaint
	}
	return "reset the machine without a word"
}

// during names the module that was being loaded, if one was.
func during(reason, mark string) string {
	if module, loading := strings.CutPrefix(mark, guestproto.MarkLoading); loading {
		return reason + " while it loaded module " + module
	}
	return reason
}

// noHello explains a boot that took too long.
func noHello(limit fmt.Stringer, c consoleState) error {
	reason := fmt.Sprintf("hung: no word from the guest's program within %v", limit)
	switch {
	case c.panic != "":
		reason = "panicked (" + c.panic + ")"
	case c.mark == "":
		reason = fmt.Sprintf("reached no userspace in %v", limit)
	case strings.HasPrefix(c.mark, guestproto.MarkLoading):
		reason = fmt.Sprintf("hung: it did not finish within %v", limit)
	}
	return &KernelError{Reason: during(reason, c.mark), Console: c.tail, early: c.panic == "" && c.mark == ""}
}

// stalledEarly tells whether a kernel stood still before our program began, without a word of its own.
func stalledEarly(err error) bool {
	var kernel *KernelError
	return errors.As(err, &kernel) && kernel.early
}
