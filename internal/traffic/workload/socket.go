package workload

import (
	"errors"
	"fmt"
	"net"
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
	sa, err := sockaddr(to)
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err != nil {
		unix.Close(fd)
		return -1, &Error{Op: "bind", Object: to.String(), Err: err}
	}
	return fd, nil
}

// sockaddr is the address as a system call wants it; a zone is the interface's name or number.
func sockaddr(a netip.AddrPort) (unix.Sockaddr, error) {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, nil
	}
	sa := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if zone := a.Addr().Zone(); zone != "" {
		ifi, err := net.InterfaceByName(zone)
		if err != nil {
			return nil, fmt.Errorf("zone %s: %w", zone, err)
		}
		sa.ZoneId = uint32(ifi.Index)
	}
	return sa, nil
}

// addrPort is what a system call says; the zone is left out.
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

// connect waits at most for wait.
func connect(fd int, to netip.AddrPort, wait time.Duration) error {
	// SO_SNDTIMEO bounds connect(2), too (socket(7)); the sockets' own waits have no timer, which would cost time.
	if err := timeout(fd, unix.SO_SNDTIMEO, wait); err != nil {
		return err
	}
	sa, err := sockaddr(to)
	if err == nil {
		err = retried(func() error { return unix.Connect(fd, sa) })
	}
	if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EALREADY) {
		err = unix.ETIMEDOUT
	}
	if err != nil {
		return &Error{Op: "connect", Object: to.String(), Err: err}
	}
	return timeout(fd, unix.SO_SNDTIMEO, 0)
}

// accept takes the connection that from made, and turns away any other.
func accept(listener int, from netip.AddrPort, wait time.Duration) (int, error) {
	if err := timeout(listener, unix.SO_RCVTIMEO, wait); err != nil {
		return -1, err
	}
	for end := time.Now().Add(wait); ; {
		var fd int
		var sa unix.Sockaddr
		err := retried(func() (err error) {
			fd, sa, err = unix.Accept4(listener, unix.SOCK_CLOEXEC)
			return err
		})
		if errors.Is(err, unix.EAGAIN) || err == nil && time.Now().After(end) {
			err = unix.ETIMEDOUT
		}
		if err != nil {
			return -1, &Error{Op: "accept", Object: from.String(), Err: err}
		}
		if addrPort(sa) == netip.AddrPortFrom(from.Addr().WithZone(""), from.Port()) {
			return fd, nil
		}
		unix.Close(fd)
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

// timeout sets SO_RCVTIMEO or SO_SNDTIMEO; 0 waits without end.
func timeout(fd, option int, d time.Duration) error {
	tv := unix.NsecToTimeval(int64(d))
	if d > 0 && tv.Sec == 0 && tv.Usec == 0 {
		tv.Usec = 1
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &tv); err != nil {
		return &Error{Op: "setsockopt SO_RCVTIMEO or SO_SNDTIMEO", Object: "socket", Err: err}
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
