package workload

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Sockets are blocking ones outside of the runtime's poller: a thread waits in the read itself, as those of netperf,
// iperf3 and sockperf do.

// open makes a socket of the address's family.
func open(address netip.Addr, typ int) (int, error) {
	domain := unix.AF_INET
	if address.Is6() {
		domain = unix.AF_INET6
	}
	fd, err := unix.Socket(domain, typ|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, &Error{Op: "socket", Object: address.String(), Err: err}
	}
	return fd, nil
}

// bound makes a socket with a port that the kernel chooses.
func bound(address netip.Addr, typ int) (int, error) {
	fd, err := open(address, typ)
	if err != nil {
		return -1, err
	}
	to := netip.AddrPortFrom(address, 0)
	if err := unix.Bind(fd, sockaddr(to)); err != nil {
		unix.Close(fd)
		return -1, &Error{Op: "bind", Object: to.String(), Err: err}
	}
	return fd, nil
}

// sockaddr is the address as a system call wants it.
func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// addrPort is what a system call says.
func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// local is the address a socket is bound to.
func local(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, &Error{Op: "getsockname", Object: "socket", Err: err}
	}
	return addrPort(sa), nil
}

// connect ends with ctx.
func connect(ctx context.Context, fd int, to netip.AddrPort) error {
	failed := func(err error) error { return &Error{Op: "connect", Object: to.String(), Err: err} }
	if err := unix.SetNonblock(fd, true); err != nil {
		return failed(err)
	}
	err := retried(func() error { return unix.Connect(fd, sockaddr(to)) })
	if errors.Is(err, unix.EINPROGRESS) {
		if err = await(ctx, fd, unix.POLLOUT); err == nil {
			err = pending(fd)
		}
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// pending is the error that a socket has kept (SO_ERROR).
func pending(fd int) error {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}

// accept takes the connection that from made, and turns away any other. It ends with ctx.
func accept(ctx context.Context, listener int, from netip.AddrPort) (fd int, err error) {
	for {
		var sa unix.Sockaddr
		if err = await(ctx, listener, unix.POLLIN); err == nil {
			err = retried(func() (err error) {
				fd, sa, err = unix.Accept4(listener, unix.SOCK_CLOEXEC)
				return err
			})
		}
		if err != nil {
			return -1, &Error{Op: "accept", Object: from.String(), Err: err}
		}
		if addrPort(sa) == from {
			return fd, nil
		}
		unix.Close(fd)
	}
}

// awaitSlice is how late await sees that ctx has ended.
const awaitSlice = 20 * time.Millisecond

// await waits until a socket is ready, or ctx ends.
func await(ctx context.Context, fd int, events int16) error {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		n, err := unix.Poll(fds, int(awaitSlice/time.Millisecond))
		if n > 0 || err != nil && err != unix.EINTR {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// retried calls f again while a signal interrupts it: the runtime's own preemption does.
func retried(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// receiveTimeout makes reads end with EAGAIN after a while (SO_RCVTIMEO).
func receiveTimeout(fd int, d time.Duration) error {
	tv := unix.NsecToTimeval(int64(d))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return &Error{Op: "setsockopt SO_RCVTIMEO", Object: d.String(), Err: err}
	}
	return nil
}

// noDelay turns Nagle's algorithm off: a message must not wait for the acknowledgement of the one before.
func noDelay(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return &Error{Op: "setsockopt TCP_NODELAY", Object: "socket", Err: err}
	}
	return nil
}
