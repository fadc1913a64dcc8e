package traffic

import (
	"errors"
	"fmt"
	"net"

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
	var m members
	held := 0 // by the last socket
	for i := 0; i < len(to); {
		if held == 0 {
			fd, err := unix.Socket(f.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
			if err != nil {
				return m, &OptionError{Field: "traffic.join", Option: "socket", Value: fmt.Sprintf("a socket for group %d of %d", i+1, len(to)), Err: err}
			}
			m = append(m, fd)
		}
		err := f.packetConn(m[len(m)-1]).JoinGroup(&net.Interface{Index: ifindex}, net.UDPAddrFromAddrPort(to[i]))
		switch {
		case err == nil:
			held++
			i++
		case held > 0 && isFull(err):
			held = 0
		default:
			refused := &OptionError{Field: "traffic.join", Option: f.joinName, Value: fmt.Sprintf("%s on interface %d", to[i].Addr(), ifindex), Err: err}
			if isFull(err) {
				refused.Why = "a socket can't have one membership: " + f.joinLimit + " bound them"
			}
			return m, refused
		}
	}
	return m, nil
}

// isFull tells that a socket takes no more memberships: ENOBUFS of IPv4, ENOMEM of IPv6 (ipv6_sock_mc_join).
func isFull(err error) bool { return errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM) }
