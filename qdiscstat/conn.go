package qdiscstat

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// waitLimit is the deadline of every single wait for the kernel.
	waitLimit = 2 * time.Second

	// bufferSize is more than the kernel puts into one part of an answer (netlink_dump and netlink_recvmsg,
	// net/netlink/af_netlink.c: SKB_WITH_OVERHEAD(32768)). A small buffer makes small parts, hence more calls.
	bufferSize = 32 << 10

	nlmsgHeader = unix.NLMSG_HDRLEN
)

// Conn is one rtnetlink socket in the network namespace of the thread that opened it. It is not for
// concurrent use. Polls allocate nothing once every device and kind has been seen.
type Conn struct {
	fd    int
	seq   uint32
	req   [64]byte // the request being sent
	used  int      // bytes of req
	buf   []byte
	kinds interner
	names map[int]name
}

// Open opens a socket in the calling thread's network namespace. The caller locks the thread if its namespace
// is not the process's own; after Open any thread may use the Conn.
func Open() (*Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("open an rtnetlink socket: socket", err)
	}
	c := &Conn{
		fd:    fd,
		buf:   make([]byte, bufferSize),
		kinds: interner{},
		names: map[int]name{},
	}
	if err := c.setUp(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return c, nil
}

func (c *Conn) setUp() error {
	limit := unix.NsecToTimeval(int64(waitLimit))
	if err := unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return os.NewSyscallError("set the deadline of an rtnetlink socket: setsockopt", err)
	}
	// The kernel's own words with errors: Linux 4.12, and only a nicety.
	_ = unix.SetsockoptInt(c.fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	// Connected to the kernel (port 0), nobody else's messages arrive, and send needs no address.
	if err := unix.Connect(c.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("connect an rtnetlink socket: connect", err)
	}
	return nil
}

// Close closes the socket.
func (c *Conn) Close() error {
	return os.NewSyscallError("close an rtnetlink socket: close", unix.Close(c.fd))
}

// request starts a request and returns its payload of n zero bytes.
func (c *Conn) request(msgType, flags uint16, n int) []byte {
	c.used = nlmsgHeader + n
	c.seq++
	clear(c.req[:c.used])
	native.PutUint32(c.req[0:], uint32(c.used))
	native.PutUint16(c.req[4:], msgType)
	native.PutUint16(c.req[6:], flags|unix.NLM_F_REQUEST)
	native.PutUint32(c.req[8:], c.seq)
	return c.req[nlmsgHeader:c.used]
}

// roundTrip sends the request and hands each message of the answer to got; msg is valid until got returns.
// An answer is read to its end also when it was interrupted, so that the socket is ready for the next request.
func (c *Conn) roundTrip(op string, got func(msgType uint16, msg []byte)) error {
	if _, err := unix.Write(c.fd, c.req[:c.used]); err != nil {
		return fmt.Errorf("%s: %w", op, os.NewSyscallError("write", err))
	}
	interrupted := false
	for {
		rest, err := c.receive(op)
		if err != nil {
			return err
		}
		for len(rest) >= nlmsgHeader {
			n := int(native.Uint32(rest))
			if n < nlmsgHeader || n > len(rest) {
				return fmt.Errorf("%s: the kernel sent a message of %d bytes in %d", op, n, len(rest))
			}
			msgType, flags, seq := native.Uint16(rest[4:]), native.Uint16(rest[6:]), native.Uint32(rest[8:])
			msg := rest[nlmsgHeader:n]
			rest = rest[min(align4(n), len(rest)):]
			if seq != c.seq {
				continue // the late answer to a request whose wait had ended
			}
			interrupted = interrupted || flags&unix.NLM_F_DUMP_INTR != 0
			switch msgType {
			case unix.NLMSG_NOOP:
				continue
			case unix.NLMSG_DONE, unix.NLMSG_ERROR:
				return endOf(op, msgType, flags, msg, interrupted)
			}
			got(msgType, msg)
			if flags&unix.NLM_F_MULTI == 0 {
				return nil
			}
		}
	}
}

// receive reads one datagram into the buffer.
func (c *Conn) receive(op string) ([]byte, error) {
	for began := time.Now(); ; {
		// Plain recvfrom: unix.Recvfrom allocates the sender's address.
		n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(c.fd), uintptr(unsafe.Pointer(&c.buf[0])),
			uintptr(len(c.buf)), unix.MSG_TRUNC, 0, 0)
		switch {
		case errno == unix.EINTR && time.Since(began) < waitLimit: // a timed wait is not restarted, signal(7)
		case errno == unix.EINTR, errno == unix.EAGAIN:
			return nil, fmt.Errorf("%s: %w", op, ErrTimeout)
		case errno != 0:
			return nil, fmt.Errorf("%s: %w", op, os.NewSyscallError("recvfrom", errno))
		case int(n) > len(c.buf): // MSG_TRUNC tells the real length
			return nil, fmt.Errorf("%s: the kernel sent %d bytes at once, more than the %d it ever should", op, n, len(c.buf))
		default:
			return c.buf[:n], nil
		}
	}
}

// endOf is what the last message of an answer says: NLMSG_DONE and NLMSG_ERROR both begin with an s32 errno,
// which is negative for an error. The attributes with the kernel's text follow it, in NLMSG_ERROR after the
// header of the request (NLM_F_CAPPED) or all of it.
func endOf(op string, msgType, flags uint16, msg []byte, interrupted bool) error {
	errno := -int32(u32(msg, 0))
	if errno <= 0 {
		if interrupted {
			return fmt.Errorf("%s: %w", op, ErrInterrupted)
		}
		return nil
	}
	skip := 4
	if msgType == unix.NLMSG_ERROR {
		skip += nlmsgHeader
		if flags&unix.NLM_F_CAPPED == 0 {
			skip = 4 + align4(int(u32(msg, 4)))
		}
	}
	e := &KernelError{Op: op, Errno: syscall.Errno(errno)}
	if flags&unix.NLM_F_ACK_TLVS != 0 && skip >= 4 && skip <= len(msg) {
		for a := (attrs{rest: msg[skip:]}); a.next(); {
			if a.typ == unix.NLMSGERR_ATTR_MSG {
				e.Text = string(text(a.data))
			}
		}
	}
	return e
}
