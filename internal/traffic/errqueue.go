package traffic

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where a message of the error queue comes from (linux/errqueue.h), and what a zerocopy one may say.
const (
	originTimestamping = 4
	originZeroCopy     = 5
	codeCopied         = 1
)

// errqueue reads a socket's error queue without allocating. With IP_RECVERR or IPV6_RECVERR it holds ICMP and local errors too; one
// that is pending fails the next send, which did not cause it (sock_error in sock_alloc_send_pskb), and reading clears it.
type errqueue struct {
	fd         int
	family     *family
	headers    []unix.Mmsghdr
	control    [][controlSize]byte
	timestamps uint64
	zerocopied uint64
	copied     uint64
	completed  func(from, to uint32) // zerocopy numbers that came back, both included; nil: nobody asks
}

// controlSize holds a message of IP_RECVERR or IPV6_RECVERR with its address and a SCM_TIMESTAMPING one.
const controlSize = 256

func newErrqueue(fd int, f *family) *errqueue {
	const slots = 32
	q := &errqueue{fd: fd, family: f, headers: make([]unix.Mmsghdr, slots), control: make([][controlSize]byte, slots)}
	for i := range q.headers {
		q.headers[i].Hdr.Control = &q.control[i][0]
	}
	return q
}

// drain reads until the queue is empty.
func (q *errqueue) drain() {
	for {
		for i := range q.headers {
			q.headers[i].Hdr.Controllen = controlSize
		}
		n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, uintptr(q.fd), uintptr(unsafe.Pointer(&q.headers[0])),
			uintptr(len(q.headers)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return
		}
		for i := range int(n) {
			q.parse(q.control[i][:q.headers[i].Hdr.Controllen])
		}
		if int(n) < len(q.headers) {
			return
		}
	}
}

// parse walks the control messages of one message (cmsg(3)) and counts what it is.
func (q *errqueue) parse(b []byte) {
	for len(b) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		if h.Len < unix.SizeofCmsghdr || h.Len > uint64(len(b)) {
			return
		}
		data := b[unix.CmsgLen(0):h.Len]
		if int(h.Level) == q.family.level && int(h.Type) == q.family.recverr && len(data) >= int(unsafe.Sizeof(unix.SockExtendedErr{})) {
			q.count((*unix.SockExtendedErr)(unsafe.Pointer(&data[0])))
		}
		b = b[min(unix.CmsgSpace(int(h.Len)-unix.CmsgLen(0)), len(b)):]
	}
}

func (q *errqueue) count(e *unix.SockExtendedErr) {
	switch e.Origin {
	case originTimestamping:
		q.timestamps++
	case originZeroCopy:
		n := uint64(e.Data-e.Info) + 1
		if e.Code&codeCopied != 0 {
			q.copied += n
		} else {
			q.zerocopied += n
		}
		if q.completed != nil {
			q.completed(e.Info, e.Data)
		}
	}
}
