package traffic

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writer sends the first k prepared messages. write does not wait for the send buffer, writeHead sends one
// message and may wait for it up to sendTimeout. Both return as sendmmsg(2) does: the messages that were sent, or
// -1 with the errno of the first.
type writer interface {
	write(k int) (n int, errno syscall.Errno)
	writeHead() (n int, errno syscall.Errno)
	outq() int // bytes the socket is charged for
}

// calmCalls is how many calls in a row must succeed before x/net is used again.
const calmCalls = 64

// socketWriter sends through x/net. An error of x/net is an allocated value, so a socket that has begun to refuse is
// served by sendmmsg itself, on the same messages, until it has been calm for a while.
type socketWriter struct {
	fd    int
	pc    packetConn
	m     *messages
	flags int // for every send, beside MSG_DONTWAIT
	calm  int // calls that succeeded since the last error
}

var _ writer = (*socketWriter)(nil)

func newSocketWriter(fd int, f *family, m *messages, flags int) *socketWriter {
	return &socketWriter{fd: fd, pc: f.packetConn(fd), m: m, flags: flags, calm: calmCalls}
}

func (w *socketWriter) write(k int) (int, syscall.Errno) {
	if w.calm >= calmCalls {
		n, err := w.pc.WriteBatch(w.m.batch[:k], w.flags|unix.MSG_DONTWAIT)
		if err == nil {
			return n, 0
		}
		w.calm = 0
		return -1, errnoOf(err)
	}
	n, errno := sendmmsg(w.fd, w.m.headers[:k], w.flags|unix.MSG_DONTWAIT)
	w.calm++
	if errno != 0 {
		w.calm = 0
	}
	return n, errno
}

func (w *socketWriter) writeHead() (int, syscall.Errno) {
	return sendmmsg(w.fd, w.m.headers[:1], w.flags)
}

func (w *socketWriter) outq() int { return outq(w.fd) }

// sendmmsg goes through Syscall6, not RawSyscall6: it may block, and the scheduler must then give the processor
// to another goroutine.
func sendmmsg(fd int, hs []unix.Mmsghdr, flags int) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&hs[0])), uintptr(len(hs)), uintptr(flags), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), 0
}

// outq is SIOCOUTQ: bytes of truesize charged to the socket (sk_wmem_alloc_get); 0 when the socket is closed.
func outq(fd int) int {
	var n int32
	syscall.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	return int(n)
}
