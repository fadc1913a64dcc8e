package measure

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// space is a network namespace of one sample. A descriptor keeps it, and the sockets made in it; no thread stays in it.
type space struct{ fd int }

// ownSpace is the calling thread's network namespace.
const ownSpace = "/proc/thread-self/ns/net"

// newSpace makes a namespace. The caller closes it.
func newSpace() (*space, error) {
	s := &space{}
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare CLONE_NEWNET: %w", err)
		}
		s.fd, err = openSpace()
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openSpace() (int, error) {
	fd, err := unix.Open(ownSpace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", ownSpace, err)
	}
	return fd, nil
}

// do runs f on a thread in the namespace, which ends with it.
func (s *space) do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(s.fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return f()
	})
}

func (s *space) close() { unix.Close(s.fd) }

// onThread runs f on a thread that ends with it: f may move its thread to another namespace, and no other code ever
// runs there. Threads that the Go runtime starts meanwhile are not born of a locked thread (runtime.newm).
func onThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// The runtime can't end the main thread. While it is held here another goroutine gets another one.
			defer runtime.UnlockOSThread()
			result <- onThread(f)
			return
		}
		result <- f()
	}()
	return <-result
}
