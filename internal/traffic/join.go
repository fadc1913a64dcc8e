package traffic

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// members are sockets that make this host a member of groups. They are bound to no port, so that nothing is ever
// delivered to them; a membership lasts as long as its socket.
type members []int

// join makes this host a member of all groups of a scenario on an interface. A socket holds a bounded number of
// memberships (ip_mc_join_group, net/ipv4/igmp.c), so there are as many sockets as it takes. The sockets are returned
// with an error, too.
func join(t scenarios.Traffic, ifindex int) (members, error) {
	f := familyOf(t)
	to, err := destinations(t)
	if err != nil {
		return nil, err
	}
	return enter(f, "traffic.join", to, ifindex, func(group int) (int, error) {
		fd, err := unix.Socket(f.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
		if err != nil {
			return -1, &OptionError{Field: "traffic.join", Option: "socket", Value: fmt.Sprintf("a socket for group %d of %d", group+1, len(to)), Err: err}
		}
		return fd, nil
	})
}

// enter makes sockets members of the groups on an interface; open makes another one, for the groups from this one on,
// when the last is full. A membership that is refused is an *OptionError of the field. The sockets are returned with an
// error, too.
func enter(f *family, field string, groups []netip.AddrPort, ifindex int, open func(group int) (fd int, err error)) (fds []int, err error) {
	held := 0 // by the last socket
	for i := 0; i < len(groups); {
		if held == 0 {
			fd, err := open(i)
			if err != nil {
				return fds, err
			}
			fds = append(fds, fd)
		}
		err := f.packetConn(fds[len(fds)-1]).JoinGroup(&net.Interface{Index: ifindex}, net.UDPAddrFromAddrPort(groups[i]))
		switch {
		case err == nil:
			held++
			i++
		case held > 0 && isFull(err):
			held = 0
		default:
			refused := &OptionError{Field: field, Option: f.joinName, Value: fmt.Sprintf("%s on interface %d", groups[i].Addr(), ifindex), Err: err}
			if isFull(err) {
				refused.Why = "a socket can't have one membership: " + f.joinLimit + " bound them"
			}
			return fds, refused
		}
	}
	return fds, nil
}

// isFull tells that a socket takes no more memberships: ENOBUFS of IPv4, ENOMEM of IPv6 (ipv6_sock_mc_join).
func isFull(err error) bool { return errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM) }
