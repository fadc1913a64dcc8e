package ports

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// shortest is the length of a prefix up to which a route counts as a default route, by address family: some VPNs write
// 0.0.0.0/0 as two halves, and 2000::/3 is all of IPv6's global addresses.
var shortest = map[int]int{netlink.FAMILY_V4: 1, netlink.FAMILY_V6: 3}

// routed finds a default route, of any table, that goes out of one of the devices: the port and those on it.
func routed(f *Facts, links []link, on []string) error {
	for family, ones := range shortest {
		routes, err := again(func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return fmt.Errorf("ip route show table all: %w", err)
		}
		for _, r := range routes {
			if r.Type != unix.RTN_UNICAST || !isDefault(r.Dst, ones) {
				continue
			}
			for _, device := range devices(r) {
				if name := nameOf(links, device); slices.Contains(on, name) {
					f.DefaultRoute, f.DefaultBy = true, name
				}
			}
		}
	}
	return nil
}

func isDefault(dst *net.IPNet, atMost int) bool {
	if dst == nil {
		return true
	}
	ones, _ := dst.Mask.Size()
	return ones <= atMost
}

// devices are the interfaces a route goes out of: several where it is multipath.
func devices(r netlink.Route) []int {
	all := []int{r.LinkIndex}
	for _, hop := range r.MultiPath {
		all = append(all, hop.LinkIndex)
	}
	return all
}

// wayTo names the device that packets to the address go out of; "" when there is no route to it.
func wayTo(links []link, to netip.Addr) string {
	if zone := to.Zone(); zone != "" {
		return zone
	}
	routes, err := netlink.RouteGet(net.IP(to.AsSlice()))
	if err != nil || len(routes) == 0 {
		return ""
	}
	return nameOf(links, routes[0].LinkIndex)
}
