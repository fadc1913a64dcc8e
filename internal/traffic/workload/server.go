package workload

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Server is the receiving end before there is a client: its sockets. Close it after the Client.
type Server struct {
	spec      Spec
	address   netip.Addr
	listener  int   // -1 for datagrams
	datagrams []int // one a connection; Dial takes them
}

// Listen makes the server's sockets at an address of the calling thread's network namespace; the ports are chosen by
// the kernel. Errors of the Spec are one sentence, those of the kernel are an *Error.
func Listen(spec Spec, address netip.Addr) (*Server, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if address.Zone() != "" {
		return nil, fmt.Errorf("address: %v holds for one interface only; write one that both ends can name", address)
	}
	s := &Server{spec: spec.withDefaults(), address: address.Unmap(), listener: -1}
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open() (err error) {
	if !s.spec.datagrams() {
		if s.listener, err = bound(s.address, unix.SOCK_STREAM); err != nil {
			return err
		}
		if err := unix.Listen(s.listener, s.spec.Connections); err != nil {
			return &Error{Op: "listen", Object: s.address.String(), Err: err}
		}
		return nil
	}
	at := s.address
	if s.spec.Group.IsValid() {
		at = s.spec.Group // so that nothing but the group's datagrams comes in
	}
	for range s.spec.Connections {
		fd, err := bound(at, unix.SOCK_DGRAM)
		if err != nil {
			return err
		}
		s.datagrams = append(s.datagrams, fd)
		if s.spec.Group.IsValid() {
			if err := join(fd, s.spec.Group, s.address); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes the sockets that no client has taken.
func (s *Server) Close() error {
	if s.listener >= 0 {
		unix.Close(s.listener)
	}
	s.listener = -1
	for _, fd := range s.datagrams {
		if fd >= 0 { // else a client has it
			unix.Close(fd)
		}
	}
	s.datagrams = nil
	return nil
}

// join makes a socket a member of the group on the interface that has the address.
func join(fd int, group, address netip.Addr) error {
	ifindex, err := interfaceOf(address)
	if err != nil {
		return err
	}
	if group.Is4() {
		err = unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, &unix.IPMreqn{Multiaddr: group.As4(), Ifindex: int32(ifindex)})
	} else {
		err = unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, &unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(ifindex)})
	}
	if err != nil {
		return &Error{Op: "join the group", Object: group.String(), Err: err}
	}
	return nil
}

// sendOutOf makes a socket's multicast leave by the interface that has the address.
func sendOutOf(fd int, address netip.Addr) error {
	ifindex, err := interfaceOf(address)
	if err != nil {
		return err
	}
	if address.Is4() {
		err = unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(ifindex)})
	} else {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, ifindex)
	}
	if err != nil {
		return &Error{Op: "send multicast out of an interface", Object: address.String(), Err: err}
	}
	return nil
}

// interfaceOf is the number of the interface that has the address, in the calling thread's namespace.
func interfaceOf(address netip.Addr) (int, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return 0, err
	}
	for _, ifi := range interfaces {
		addresses, err := ifi.Addrs()
		if err != nil {
			return 0, err
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(net.IP(address.AsSlice())) {
				return ifi.Index, nil
			}
		}
	}
	return 0, fmt.Errorf("no interface has the address %v", address)
}
