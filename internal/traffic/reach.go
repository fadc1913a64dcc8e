package traffic

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// checkReach asks the kernel for a route and a source address to each group, as each send does, and sends nothing:
// that is what connect(2) is for UDP. IPv6 has neither without an address on the interface (ipv6_dev_get_saddr,
// net/ipv6/addrconf.c), where IPv4 sends from 0.0.0.0.
func checkReach(t scenarios.Traffic, ifindex int) error {
	to, err := destinations(t)
	if err != nil {
		return err
	}
	f := familyOf(t)
	for _, group := range to {
		if err := f.reach(group, ifindex); err != nil {
			return &OptionError{Field: "traffic.groups", Option: "connect", Value: fmt.Sprintf("%s from interface %d", group.Addr(), ifindex),
				Err: err, Why: hints[hint{"connect", errnoOf(err)}]}
		}
	}
	return nil
}

func (f *family) reach(to netip.AddrPort, ifindex int) error {
	fd, err := unix.Socket(f.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was sent through it
	if err := f.multicastInterface(fd, ifindex); err != nil {
		return err
	}
	return unix.Connect(fd, f.unixAddr(to))
}
