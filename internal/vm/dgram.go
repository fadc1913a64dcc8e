package vm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lineQueue is SO_SNDBUF of the NIC's end, in bytes as given to setsockopt(2). It is all that a line holds beyond
// the NIC's ring: some 15 frames of 4000 bytes. When it is full, QEMU completes no packet until it is down to a
// quarter (unix_writable, net/unix/af_unix.c).
const lineQueue = 64 << 10

// dgram is the other end of a NIC on QEMU's -netdev dgram: a datagram socket, one frame a datagram. Such a NIC has
// one queue.
type dgram struct{ fd int }

var _ port = dgram{}

// linePair makes the two ends of a line: a connected pair, because only then does poll(2) tell QEMU the truth
// about when it may send again, and nothing is left in the file system.
func linePair() (ours dgram, theirs int, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return dgram{-1}, -1, fmt.Errorf("make the socket pair of a line: %w", err)
	}
	timeout := unix.NsecToTimeval(int64(longestWait))
	if err := errors.Join(
		unix.SetsockoptInt(p[1], unix.SOL_SOCKET, unix.SO_SNDBUF, lineQueue),
		unix.SetsockoptTimeval(p[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
	); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return dgram{-1}, -1, fmt.Errorf("set up the socket pair of a line: %w", err)
	}
	return dgram{p[0]}, p[1], nil
}

func (d dgram) next(buf []byte) (n int, waited bool, err error) {
	n, err = receiveNow(d.fd, buf)
	if errors.Is(err, unix.EAGAIN) {
		waited = true
		n, err = unix.Read(d.fd, buf)
	}
	return n, waited, err
}

func (d dgram) give(frame []byte) { _ = unix.Sendto(d.fd, frame, unix.MSG_DONTWAIT, nil) }

func (d dgram) close() { unix.Close(d.fd) }

// receiveNow is recv(2) with MSG_DONTWAIT; unix.Recvfrom allocates an address a frame.
func receiveNow(fd int, buf []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))),
		uintptr(len(buf)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
