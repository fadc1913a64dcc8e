package exitcode

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// Stopped says that a signal ended the command.
type Stopped struct{ Signal syscall.Signal }

// Error names the signal.
func (s *Stopped) Error() string { return fmt.Sprintf("stopped by signal: %v", s.Signal) }

// ExitCode is that of the table.
func (s *Stopped) ExitCode() int {
	if s.Signal == syscall.SIGINT {
		return Interrupted
	}
	return Terminated
}

// shields counts those who are not to be killed.
var shields atomic.Int32

// Shield keeps a second signal from killing the process until release: something is changed that has to be put back. A
// terminal that goes away sends SIGHUP twice, and so does with SIGTERM whoever ends a command and then its group.
func Shield() (release func()) {
	shields.Add(1)
	return sync.OnceFunc(func() { shields.Add(-1) })
}

// Signals returns a context that SIGINT, SIGTERM or SIGHUP cancels, with a *Stopped as its context.Cause. A second
// signal then kills the process at once, unless it is shielded. The caller calls stop when it is done.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	heard, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(heard, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case s := <-heard:
				if ctx.Err() != nil && shields.Load() == 0 {
					signal.Stop(heard)
					_ = syscall.Kill(os.Getpid(), s.(syscall.Signal)) // as it would have done by itself
					return
				}
				cancel(&Stopped{Signal: s.(syscall.Signal)})
			case <-done:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(heard)
		close(done)
		cancel(nil)
	})
}
