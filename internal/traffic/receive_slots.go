package traffic

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
)

const (
	datagramSlots = 64
	frameSlots    = 8
	// frameMost is the largest frame, in bytes: as long as an IP packet can be, and what is before it.
	frameMost = 64<<10 + 64
	// arrivalControl holds a time, a destination and a drop count.
	arrivalControl = 128
)

// slots are what recvmmsg(2) fills.
type slots struct {
	headers []unix.Mmsghdr
	iovecs  []unix.Iovec
	buffers [][]byte
	control [][arrivalControl]byte
}

// newDatagramSlots have room for the header of each payload only: the kernel need not copy the rest.
func newDatagramSlots() *slots { return newSlots(datagramSlots, stamp.Size) }

// newFrameSlots have room for whole frames, whose lengths must agree with themselves.
func newFrameSlots() *slots { return newSlots(frameSlots, frameMost) }

func newSlots(n, size int) *slots {
	s := &slots{headers: make([]unix.Mmsghdr, n), iovecs: make([]unix.Iovec, n), control: make([][arrivalControl]byte, n)}
	for i := range n {
		b := make([]byte, size)
		s.buffers = append(s.buffers, b)
		s.iovecs[i].Base = &b[0]
		s.iovecs[i].SetLen(size)
		h := &s.headers[i].Hdr
		h.Iov, h.Iovlen, h.Control = &s.iovecs[i], 1, &s.control[i][0]
	}
	return s
}

// receive takes what is queued in a socket, and tells how many slots are filled. An error of the socket, such as that its
// interface went down, is cleared by being read and is no arrival.
func (s *slots) receive(fd int) int {
	for i := range s.headers {
		s.headers[i].Hdr.Controllen = arrivalControl
	}
	n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.headers[0])),
		uintptr(len(s.headers)), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// message is what recvmmsg(2) tells of one datagram or frame.
type message struct {
	data    []byte // aliases the slot, and may be cut off
	size    int    // bytes that came
	at      int64  // CLOCK_REALTIME, ns; 0: not told
	to      netip.Addr
	drops   uint32 // of the socket until this was queued
	counted bool   // drops is told: it is not as long as there are none
}

func (s *slots) message(i int) message {
	h := &s.headers[i]
	m := message{size: int(h.Len), data: s.buffers[i][:min(int(h.Len), len(s.buffers[i]))]}
	m.parse(s.control[i][:min(h.Hdr.Controllen, arrivalControl)])
	return m
}

// parse walks the control messages (cmsg(3)).
func (m *message) parse(b []byte) {
	for len(b) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		if h.Len < unix.SizeofCmsghdr || h.Len > uint64(len(b)) {
			return
		}
		m.note(h.Level, h.Type, b[unix.CmsgLen(0):h.Len])
		b = b[min(unix.CmsgSpace(int(h.Len)-unix.CmsgLen(0)), len(b)):]
	}
}

func (m *message) note(level, kind int32, data []byte) {
	switch {
	case level == unix.SOL_SOCKET && kind == unix.SCM_TIMESTAMPNS && len(data) >= int(unsafe.Sizeof(unix.Timespec{})):
		m.at = (*unix.Timespec)(unsafe.Pointer(&data[0])).Nano()
	case level == unix.SOL_SOCKET && kind == unix.SO_RXQ_OVFL && len(data) >= 4:
		m.drops, m.counted = *(*uint32)(unsafe.Pointer(&data[0])), true
	case level == unix.IPPROTO_IP && kind == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
		m.to = netip.AddrFrom4((*unix.Inet4Pktinfo)(unsafe.Pointer(&data[0])).Addr)
	case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
		m.to = netip.AddrFrom16((*unix.Inet6Pktinfo)(unsafe.Pointer(&data[0])).Addr)
	}
}
