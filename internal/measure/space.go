package measure

import (
	"fmt"

	"bondrepro/internal/thread"

	"golang.org/x/sys/unix"
)

// space is a network namespace of one sample. A descriptor keeps it, and the sockets made in it; no thread stays in it.
type space struct{ fd int }

// ownSpace is the calling thread's network namespace.
const ownSpace = "/proc/thread-self/ns/net"

// newSpace makes a namespace. The caller closes it.
func newSpace() (*space, error) {
	s := &space{}
	err := thread.Run(func() (err error) {
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
	return thread.Run(func() error {
		if err := unix.Setns(s.fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return f()
	})
}

func (s *space) close() { unix.Close(s.fd) }
