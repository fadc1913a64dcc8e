package bondctl

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func (s Spec) isIPv6() bool { return s.Address != nil && s.Address.IP.To4() == nil }

// addressSlave gives a slave an IPv6 address of its own, the bond's plus its number and one: without one nothing can be
// sent straight out of it.
func (c *Client) addressSlave(slave netlink.Link, index int, bond *net.IPNet) error {
	name := slave.Attrs().Name
	if err := enableIPv6(name); err != nil {
		return err
	}
	ip := slices.Clone(bond.IP)
	ip[len(ip)-1] += byte(index + 1)
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: bond.Mask}, Flags: unix.IFA_F_NODAD}
	return failed("ip addr replace "+addr.IPNet.String(), name, c.nl.AddrReplace(slave, addr))
}

// ipv6Sysctls turn IPv6 on for one interface and keep it as quiet as can be: no link-local address, which is looked
// for on the link, and no word to or from routers (Documentation/networking/ip-sysctl.rst).
var ipv6Sysctls = []struct{ name, value string }{
	{"addr_gen_mode", "1"}, {"accept_ra", "0"}, {"router_solicitations", "0"}, {"dad_transmits", "0"}, {"disable_ipv6", "0"},
}

// enableIPv6 turns IPv6 on for an interface of the calling thread's namespace.
func enableIPv6(name string) error {
	for _, s := range ipv6Sysctls {
		path := fmt.Sprintf("/proc/sys/net/ipv6/conf/%s/%s", name, s.name)
		now, err := os.ReadFile(path)
		if err == nil && strings.TrimSpace(string(now)) != s.value { // /proc/sys is read-only in many containers
			err = os.WriteFile(path, []byte(s.value), 0)
		}
		if os.IsNotExist(err) {
			return &UnsupportedError{What: "IPv6", Err: err}
		}
		if err != nil {
			return fmt.Errorf("sysctl net.ipv6.conf.%s.%s=%s: %w", name, s.name, s.value, err)
		}
	}
	return nil
}
