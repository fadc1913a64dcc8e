package qdisctree

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// IrrestorableError says that nothing was done because the wanted tree can't be put back.
type IrrestorableError struct {
	Dev  string
	What []string // Tree.Irrestorable
}

func (e *IrrestorableError) Error() string {
	return fmt.Sprintf("%s: can't be put back: %s", e.Dev, strings.Join(e.What, "; "))
}

// MismatchError says that the tree is still not as wanted though the kernel took every change.
type MismatchError struct {
	Dev  string
	What []string // Differences
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: the qdiscs are not as before: %s", e.Dev, strings.Join(e.What, "; "))
}

// Restore makes the interface's tree the wanted one, from whatever it is now, in the calling thread's network namespace. Nothing
// is sent if it is as wanted. After each single change changed, which may be nil, is called with the command line that
// does the same. At the end the tree is read and compared.
//
// What default qdiscs are made from comes first: the caller has put back MTU, txqueuelen, the number of TX queues and IFF_UP
// before. An interface that is down and lacks its default qdisc is brought up for a moment.
func Restore(ifindex int, want Tree, changed func(command string)) error {
	if bad := want.Irrestorable(); len(bad) > 0 {
		return &IrrestorableError{want.Dev, bad}
	}
	have, err := Read(ifindex)
	if err != nil {
		return err
	}
	for _, s := range plan(want, have) {
		if _, err := s.request(ifindex).Execute(unix.NETLINK_ROUTE, 0); err != nil {
			return refused(s.command, err)
		}
		if changed != nil {
			changed(s.command)
		}
	}
	if have, err = Read(ifindex); err != nil {
		return err
	}
	if d := Differences(want, have); len(d) > 0 {
		return &MismatchError{have.Dev, d}
	}
	return nil
}

// refused adds the errno, which the kernel's own text may hide.
func refused(command string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return fmt.Errorf("%s: %w (errno %d)", command, err, int(errno))
	}
	return fmt.Errorf("%s: %w", command, err)
}
