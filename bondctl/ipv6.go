package bondctl

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

func (s Spec) isIPv6() bool { return s.Address != nil && s.Address.IP.To4() == nil }

// slaveAddress is a slave's own IPv6 address, the bond's plus its number and one: without one nothing can be sent
// straight out of it.
func slaveAddress(bond *net.IPNet, slave int) netip.Prefix {
	ip := slices.Clone(bond.IP)
	ip[len(ip)-1] += byte(slave + 1)
	return prefixOf(&net.IPNet{IP: ip, Mask: bond.Mask})
}

// enableIPv6 turns IPv6 on for one interface and keeps it as quiet as can be: no link-local address, which is looked for
// on the link, and no word to or from routers (Documentation/networking/ip-sysctl.rst).
func enableIPv6(device string) []Step {
	return []Step{
		setIPv6{device, "addr_gen_mode", "1", false}, setIPv6{device, "accept_ra", "0", false},
		setIPv6{device, "router_solicitations", "0", false}, setIPv6{device, "dad_transmits", "0", false},
		setIPv6{device, "disable_ipv6", "0", false},
	}
}

// disableIPv6 turns it off, where the kernel has it.
func disableIPv6(device string) Step { return setIPv6{device, "disable_ipv6", "1", true} }

// setIPv6 sets a sysctl below net.ipv6.conf of an interface of the calling thread's namespace, unless it is so already:
// /proc/sys is read-only in many containers.
type setIPv6 struct {
	device, name, value string
	optional            bool // a kernel without IPv6 is as good
}

func (s setIPv6) Command() []string {
	return []string{"sysctl", fmt.Sprintf("net/ipv6/conf/%s/%s=%s", s.device, s.name, s.value)}
}

func (s setIPv6) run(context.Context, *Client) error {
	path := fmt.Sprintf("/proc/sys/net/ipv6/conf/%s/%s", s.device, s.name)
	now, err := os.ReadFile(path)
	if err == nil && strings.TrimSpace(string(now)) != s.value {
		err = os.WriteFile(path, []byte(s.value), 0)
	}
	switch {
	case os.IsNotExist(err) && s.optional:
		return nil
	case os.IsNotExist(err):
		return &UnsupportedError{What: "IPv6", Err: err}
	case err != nil:
		return fmt.Errorf("%s: %w", strings.Join(s.Command(), " "), err)
	}
	return nil
}
