package ifstate

import (
	"context"
	"golang.org/x/sys/unix"
)

// routes puts back the routes of all interfaces: what is too much goes first, and what is missing is added in rounds, as
// a gateway needs the route to it.
func (r *restorer) routes() error {
	if err := r.read(); err != nil {
		return err
	}
	names := r.oldNames()
	have, err := r.routesNow(names)
	if err != nil {
		return err
	}
	want := map[string]bool{}
	for _, i := range r.want.Interfaces {
		for _, m := range i.Routes {
			want[m.Text] = true
		}
	}
	present := map[string]bool{}
	for _, i := range r.want.Interfaces {
		for _, m := range have[i.Name] {
			present[m.Text] = true
			if !want[m.Text] {
				r.do(fault{i.Name, "route", m.Text}, routeCommand("del", m), func() error {
					raw, _, err := routeRequest(m, func(index int) int { return index }, 0)
					if err != nil {
						return err
					}
					return send(unix.RTM_DELROUTE, 0, raw)
				})
			}
		}
	}
	for r.addRoutes(present) {
	}
	return context.Cause(r.ctx)
}

// addRoutes adds what is missing, and tells whether it added anything.
func (r *restorer) addRoutes(present map[string]bool) bool {
	progress := false
	for _, i := range r.want.Interfaces {
		for _, m := range i.Routes {
			if present[m.Text] || throughObject(m) || comesWithAddress(m) {
				continue
			}
			raw, possible, err := routeRequest(m, r.index, r.elapsed)
			if err != nil || !possible {
				continue
			}
			if r.do(fault{i.Name, "route", m.Text}, routeCommand("add", m), func() error { return send(unix.RTM_NEWROUTE, addFlags(m), raw) }) {
				present[m.Text], progress = true, true
			}
		}
	}
	return progress
}

// comesWithAddress tells whether the kernel makes the route for an address or for being up, and nobody else can make the same: in
// IPv6 its metric is 0, and it comes when duplicate address detection has ended (__ipv6_ifa_notify, net/ipv6/addrconf.c).
func comesWithAddress(m Message) bool {
	return m.Raw[5] == unix.RTPROT_KERNEL && m.Raw[7] != unix.RTN_UNICAST
}

// addFlags make a route beside others of the same destination, as `ip route append` does in IPv4; in IPv6 that would make one route
// of both. One with several nexthops takes the place of what is left of it.
func addFlags(m Message) int {
	switch {
	case isMultipath(m):
		return unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	case m.Raw[0] == unix.AF_INET:
		return unix.NLM_F_CREATE | unix.NLM_F_APPEND
	}
	return unix.NLM_F_CREATE
}

func routeCommand(verb string, m Message) string {
	family := ""
	if m.Raw[0] == unix.AF_INET6 {
		family = "-6 "
	}
	return "ip " + family + "route " + verb + " " + m.Text
}

// routesNow are the routes of the state's interfaces, by the names they had.
func (r *restorer) routesNow(names map[int]string) (map[string][]Message, error) {
	c := collector{all: r.all, as: names}
	of, owner := map[int]*Interface{}, map[string]*Interface{}
	for index, name := range names {
		of[index] = &Interface{Name: name}
	}
	for _, i := range r.want.Interfaces {
		for _, m := range i.Addresses {
			a, err := decodeAddress(m.Raw)
			if now := r.index(i.Ifindex); err == nil && now != 0 {
				owner[a.local.String()] = of[now]
			}
		}
	}
	table, err := routes(c.name)
	if err != nil {
		return nil, err
	}
	all := map[string][]Message{}
	for _, route := range table {
		if i := ownerOf(route, of, owner); i != nil {
			all[i.Name] = append(all[i.Name], route.Message)
		}
	}
	return all, nil
}
