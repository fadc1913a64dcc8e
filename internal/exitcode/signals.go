package exitcode

import (
	"context"
	"fmt"
	"os"
	"os/signal"
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

// Signals returns a context that SIGINT, SIGTERM or SIGHUP cancels, with a *Stopped as its context.Cause. A second
// signal then kills the process at once. The caller calls stop when it is done.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-heard:
			signal.Stop(heard)
			cancel(&Stopped{Signal: s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(heard)
		cancel(nil)
	}
}
