package traffic

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// stampsDeadline bounds awaitStamps; it takes a few ms.
const stampsDeadline = 10 * time.Second

// awaitStamps waits until the kernel takes the time of what arrives. It begins to some time after a first socket has asked
// for it (a work item, net_enable_timestamp in net/core/dev.c); until then a datagram has the time at which it is read, and
// so no order. The proof is a datagram over lo, which is brought up for that, with a time before it was read. At least one
// socket that asked must be open.
func awaitStamps() error {
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("bring lo up in the receivers' namespace: %w", err)
	}
	fd, to, err := openProbe()
	if err != nil {
		return fmt.Errorf("socket on lo in the receivers' namespace: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	slots := newDatagramSlots()
	for deadline := time.Now().Add(stampsDeadline); time.Now().Before(deadline); {
		if err := unix.Sendto(fd, make([]byte, 1), 0, to); err != nil {
			return fmt.Errorf("send over lo in the receivers' namespace: %w", err)
		}
		time.Sleep(time.Millisecond)
		reading := time.Now().UnixNano()
		for i := range slots.receive(fd) {
			if at := slots.message(i).at; at != 0 && at < reading {
				return nil
			}
		}
	}
	return fmt.Errorf("the kernel takes no time of arriving packets (SO_TIMESTAMPNS) within %v", stampsDeadline)
}

// openProbe opens a socket that can send to itself, at the address returned.
func openProbe() (fd int, self unix.Sockaddr, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, nil, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
	)
	if err == nil {
		self, err = unix.Getsockname(fd)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, self, err
}

// raiseLoopback brings lo up (netdevice(7)). It needs CAP_NET_ADMIN only where it is down.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	if lo.Uint16()&unix.IFF_UP != 0 {
		return nil
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
