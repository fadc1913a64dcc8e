package osrun

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeDelay is how long Wait waits for output after the end of the process, when
// something that left its process group still holds the pipes.
const pipeDelay = 2 * time.Second

// Process is a started process. Its methods may be called from any goroutine.
type Process struct {
	pid            int
	done           chan struct{}
	err            error // valid after done is closed
	stdout, stderr stream

	mu    sync.Mutex
	ended bool // the leader has exited: its group has been killed, its pid may be reused soon
}

// Start starts the process. The error is an *Error, for one whose program can't be
// started too. The process is killed when ctx ends. The caller need not call Wait:
// the process is reaped all the same.
func Start(ctx context.Context, c Cmd) (*Process, error) {
	cancel := context.CancelFunc(func() {})
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	p := &Process{done: make(chan struct{})}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.ExtraFiles = c.Dir, c.Env, c.Stdin, c.ExtraFiles
	p.stdout.next, p.stderr.next = c.Stdout, c.Stderr
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	cmd.SysProcAttr = attributes(c.Attr)
	cmd.Cancel = func() error { return p.signal(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeDelay

	started := make(chan error)
	go func() {
		// The parent-death signal is sent when the *thread* that forked ends, so
		// that thread lives, locked, as long as the process (prctl(2)).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer cancel()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		p.end()
		err := cmd.Wait()
		p.err = p.describe(ctx, c, cmd, err)
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, &Error{Command: command(c), ExitCode: -1, Err: err}
	}
	return p, nil
}

// attributes adds our own process group and the parent-death signal.
func attributes(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	var attr syscall.SysProcAttr
	if given != nil {
		attr = *given
	}
	attr.Setpgid, attr.Pgid = true, 0
	attr.Pdeathsig = syscall.SIGKILL
	return &attr
}

// end waits for the leader's exit without reaping it, and kills what is left of its
// group while the zombie still keeps the group's number from being reused.
func (p *Process) end() {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	// ESRCH or EPERM: the zombie is the only member.
	_ = unix.Kill(-p.pid, unix.SIGKILL)
}

// describe turns the end of the process into nil or an *Error.
func (p *Process) describe(ctx context.Context, c Cmd, cmd *exec.Cmd, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Command: command(c), ExitCode: -1, Tail: p.Tail()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		if status.Signaled() {
			e.Signal = status.Signal()
		} else {
			e.ExitCode = status.ExitStatus()
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && c.Timeout > 0 && context.Cause(ctx) == context.DeadlineExceeded:
		e.Err, e.Timeout = context.DeadlineExceeded, c.Timeout
	case ctx.Err() != nil:
		e.Err = context.Cause(ctx)
	case p.stdout.failure() != nil:
		e.Err = p.stdout.failure()
	case p.stderr.failure() != nil:
		e.Err = p.stderr.failure()
	case !errors.As(err, &exit):
		e.Err = err
	}
	return e
}

// Pid is the process's number, and its process group's.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the process has ended and its output has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the process and returns nil when it exited with 0, else
// an *Error. It may be called more than once.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Kill sends SIGKILL to the whole process group. It is no error when the process
// has already ended.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }

// Signal sends sig to the whole process group. It is no error when the process has
// already ended.
func (p *Process) Signal(sig syscall.Signal) error { return p.signal(p.pid, sig) }

// signal takes the number as an argument because the context may end before Start
// has stored it.
func (p *Process) signal(pid int, sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	if err := unix.Kill(-pid, sig); err != nil && err != unix.ESRCH {
		return &SignalError{Pid: pid, Signal: sig, Err: err}
	}
	return nil
}

// Tail is the end of what the process wrote so far: of standard error, or of
// standard output when standard error is silent. At most 4 KiB.
func (p *Process) Tail() string {
	if s := p.stderr.String(); s != "" {
		return s
	}
	return p.stdout.String()
}
