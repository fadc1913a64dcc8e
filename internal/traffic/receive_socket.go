package traffic

import (
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// receiver is one receiving socket.
type receiver struct {
	fd     int
	line   int
	sniffs bool // a packet socket, for frames; else a UDP socket
	drops  drops
}

// drops is a socket's count of what it dropped, which wraps. The one that comes with a datagram is older than the one
// that is read by itself, so a lesser value is nothing new.
type drops struct{ seen uint32 }

func (d *drops) advance(now uint32) (more uint64) {
	if n := int32(now - d.seen); n > 0 {
		d.seen, more = now, uint64(n)
	}
	return more
}

// readDrops asks a socket for its count now (SO_MEMINFO: since 4.12). On a UDP socket it is what the receive buffer had no
// room for, and datagrams with a wrong checksum (udp_queue_rcv_one_skb, net/ipv4/udp.c).
func readDrops(fd int) (uint32, error) {
	var info [unix.SK_MEMINFO_VARS]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, os.NewSyscallError("getsockopt SO_MEMINFO", errno)
	}
	return info[unix.SK_MEMINFO_DROPS], nil
}

// receiving are the options of a UDP socket that receives. A socket gets only what is sent to groups that it has joined
// itself, so that nothing comes twice when groups are spread over several: the MULTICAST_ALL options are off (ip(7)).
func receiving(f *family, ifindex int) []option {
	return append([]option{
		needed("SO_REUSEADDR", unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), // several of ours have the port, and others may
		// A membership of IPv6 is of its interface, and yet lets through what comes to any (inet6_mc_check, net/ipv6/mcast.c).
		needed("SO_BINDTOIFINDEX", unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, ifindex),
		needed("SO_RXQ_OVFL", unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1),
	}, map[*family][]option{
		&inet4: {
			needed("IP_MULTICAST_ALL", unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0),
			needed("IP_PKTINFO", unix.IPPROTO_IP, unix.IP_PKTINFO, 1),
		},
		&inet6: {
			needed("IPV6_V6ONLY", unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1),
			needed("IPV6_MULTICAST_ALL", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0), // since 4.20
			needed("IPV6_RECVPKTINFO", unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1),
		},
	}[f]...)
}

// needed is an option that a receiver can't do without, whatever the scenario says.
func needed(name string, level, opt, value int) option {
	return option{field: "traffic.groups", value: "a receiver", name: name, level: level, opt: opt, set: value, want: value}
}

// openMembers opens the UDP sockets of a line: as many as it takes to be a member of all groups. They are the caller's
// even when there is an error.
func openMembers(t scenarios.Traffic, ifindex, buffer int) (fds []int, err error) {
	f := familyOf(t)
	to, err := destinations(t)
	if err != nil {
		return nil, err
	}
	return enter(f, "traffic.groups", to, ifindex, func(int) (int, error) { return openMember(f, t.Port, ifindex, buffer) })
}

// openMember opens a UDP socket that hears the port on one interface.
func openMember(f *family, port, ifindex, buffer int) (fd int, err error) {
	fd, err = unix.Socket(f.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_UDP)
	if err != nil {
		return -1, &OptionError{Field: "traffic.groups", Option: "socket", Value: "a receiver", Err: err}
	}
	if err := setUpMember(f, fd, port, ifindex, buffer); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func setUpMember(f *family, fd, port, ifindex, buffer int) error {
	for _, o := range receiving(f, ifindex) {
		if err := o.apply(fd); err != nil {
			return err
		}
	}
	if err := setUpReceiving(fd, buffer); err != nil {
		return err
	}
	if err := unix.Bind(fd, f.unixAddr(netip.AddrPortFrom(f.any, uint16(port)))); err != nil {
		return &OptionError{Field: "traffic.port", Option: "bind", Value: fmt.Sprint(port), Err: err}
	}
	return nil
}

// setUpReceiving gives any receiving socket its buffer and the kernel's time of each arrival.
func setUpReceiving(fd, buffer int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer); err != nil {
		// Not allowed: then as much as rmem_max, which the kernel takes without an error.
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer); err != nil {
			return &OptionError{Field: "traffic.groups", Option: "SO_RCVBUF", Value: fmt.Sprintf("%d bytes", buffer), Err: err}
		}
	}
	return needed("SO_TIMESTAMPNS", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1).apply(fd)
}
