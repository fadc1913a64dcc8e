package traffic

import (
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"

	"bondrepro/scenarios"
)

// senderAddress is what a sender's bond has where nothing else is given to it: an address that is on no real network
// (TEST-NET-1, RFC 5737).
var senderAddress = net.IPv4(192, 0, 2, 1)

// filter is what decides whether rp_filter drops what a source sends (__fib_validate_source, net/ipv4/fib_frontend.c). It
// holds for multicast, too (ip_mc_validate_source, net/ipv4/route.c); IPv6 has none.
type filter struct {
	all, own int  // net.ipv4.conf.{all,NAME}.rp_filter: 0 off, 1 strict, 2 loose; the greater holds
	back     int  // ifindex of the route back to the source; 0: there is none
	ifindex  int  // where it comes in
	address  bool // that interface has an IPv4 address
}

// drops tells whether it does. Strict wants the route back out of the interface. Loose wants any, and out of an interface
// without an address it is as strict.
func (f filter) drops() bool {
	switch max(f.all, f.own) {
	case 0:
		return false
	case 1:
		return f.back != f.ifindex
	}
	return f.back == 0 || f.back != f.ifindex && !f.address
}

// mend is the command that turns the filter off. Names with dots take slashes between the parts (sysctl(8)).
func (f filter) mend(name string) string {
	command := "sysctl -w"
	if f.all > 0 {
		command += " net/ipv4/conf/all/rp_filter=0"
	}
	if f.own > 0 {
		command += " net/ipv4/conf/" + name + "/rp_filter=0"
	}
	return command
}

// warnOfFilter warns when datagrams from the senders' usual address are dropped here before any socket sees them.
func (s *Site) warnOfFilter(x net.Interface, t scenarios.Traffic) {
	if t.IPv6() || x.Flags&net.FlagLoopback != 0 { // what goes over lo is not looked at
		return
	}
	f := filter{all: rpFilter("all"), own: rpFilter(x.Name), ifindex: x.Index, address: hasIPv4(x)}
	if routes, err := netlink.RouteGet(senderAddress); err == nil && len(routes) > 0 {
		f.back = routes[0].LinkIndex
	}
	if f.drops() {
		s.warn(warnFilter, "rp_filter drops what comes in at %s from %v, the senders' address where they have no other, for no route back leads out of it: '%s' lets it in.",
			x.Name, senderAddress, f.mend(x.Name))
	}
}

// rpFilter reads the setting; one that is not there filters nothing.
func rpFilter(of string) int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + of + "/rp_filter")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

func hasIPv4(x net.Interface) bool {
	addrs, err := x.Addrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return true
		}
	}
	return false
}
