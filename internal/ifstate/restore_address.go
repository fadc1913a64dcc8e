package ifstate

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// addressesOf puts back the interface's addresses in their order, which decides on source addresses and on which of
// a subnet is the first.
func (r *restorer) addressesOf(i *Interface, l link) error {
	if err := r.awaitLinkLocal(i, l); err != nil {
		return err
	}
	all, err := addresses()
	if err != nil {
		return err
	}
	var have []Message
	for _, a := range all {
		if a.index == l.index {
			have = append(have, a.Message)
		}
	}
	for _, g := range groups(i.Addresses, have) {
		r.addressGroup(i, l, g)
	}
	return nil
}

// group are addresses whose order is kept. A new one comes at the end in IPv4 (__inet_insert_ifa, net/ipv4/devinet.c) and
// in front in IPv6 (ipv6_link_dev_addr, net/ipv6/addrconf.c); both lists are in the order to add them.
type group struct{ want, have []Message }

// groups splits addresses: IPv4, then IPv6 by scope.
func groups(want, have []Message) []group {
	type key struct {
		family, scope byte
	}
	of := func(m Message) key {
		if m.Raw[0] == unix.AF_INET {
			return key{family: unix.AF_INET} // one list for all scopes
		}
		return key{m.Raw[0], m.Raw[3]}
	}
	var keys []key
	for _, m := range append(slices.Clone(want), have...) {
		if !slices.Contains(keys, of(m)) {
			keys = append(keys, of(m))
		}
	}
	var all []group
	for _, k := range keys {
		part := func(list []Message) []Message {
			list = slices.DeleteFunc(slices.Clone(list), func(m Message) bool { return of(m) != k })
			if k.family == unix.AF_INET6 {
				slices.Reverse(list)
			}
			return list
		}
		all = append(all, group{part(want), part(have)})
	}
	return all
}

// addressGroup keeps the addresses that are the wanted first ones, removes the others, last first, and adds what is missing.
func (r *restorer) addressGroup(i *Interface, l link, g group) {
	same := 0
	for same < min(len(g.want), len(g.have)) && g.want[same].Text == g.have[same].Text {
		same++
	}
	for _, m := range slices.Backward(g.have[same:]) {
		r.do(fault{i.Name, "address", m.Text}, fmt.Sprintf("ip addr del %s dev %s", m.Text, l.name), func() error {
			raw, _, err := addressRequest(m, l.index, 0)
			if err != nil {
				return err
			}
			return send(unix.RTM_DELADDR, 0, raw)
		})
	}
	for _, m := range g.want[same:] {
		raw, alive, err := addressRequest(m, l.index, r.elapsed)
		if err != nil || !alive {
			continue
		}
		r.do(fault{i.Name, "address", m.Text}, fmt.Sprintf("ip addr add %s dev %s", m.Text, l.name), func() error {
			return send(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, raw)
		})
	}
}

// awaitLinkLocal waits, not for long, for the link-local address that the kernel makes.
func (r *restorer) awaitLinkLocal(i *Interface, l link) error {
	if !l.up() || l.flags&unix.IFF_LOWER_UP == 0 {
		return nil
	}
	for until := time.Now().Add(linkLocalLimit); time.Now().Before(until); {
		all, err := addresses()
		if err != nil {
			return err
		}
		missing := false
		for _, m := range i.Addresses {
			a, err := decodeAddress(m.Raw)
			if err != nil || !a.kernels {
				continue
			}
			missing = missing || !slices.ContainsFunc(all, func(b address) bool { return b.index == l.index && b.Text == a.Text })
		}
		if !missing {
			return nil
		}
		if err := r.sleep(); err != nil {
			return err
		}
	}
	return nil
}

// neighboursOf puts back the permanent entries.
func (r *restorer) neighboursOf(i *Interface, l link) error {
	all, err := neighbours()
	if err != nil {
		return err
	}
	var have []Message
	for _, n := range all {
		if n.index == l.index {
			have = append(have, n.Message)
		}
	}
	for _, m := range have {
		if !has(i.Neighbours, m.Text) {
			r.do(fault{i.Name, "neighbour", m.Text}, fmt.Sprintf("ip neigh del %s dev %s", m.Text, l.name), func() error {
				return send(unix.RTM_DELNEIGH, 0, neighbourRequest(m, l.index))
			})
		}
	}
	for _, m := range i.Neighbours {
		if !has(have, m.Text) {
			r.do(fault{i.Name, "neighbour", m.Text}, fmt.Sprintf("ip neigh replace %s dev %s", m.Text, l.name), func() error {
				return send(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, neighbourRequest(m, l.index))
			})
		}
	}
	return nil
}

// multicastOf puts back the link-layer addresses that somebody set.
func (r *restorer) multicastOf(i *Interface, l link) error {
	all, err := staticMulticast()
	if err != nil {
		return err
	}
	set := func(address, word string, add bool) {
		r.do(fault{i.Name, "link-layer multicast address", address}, fmt.Sprintf("ip maddr %s %s dev %s", word, address, l.name), func() error {
			return setMulticast(l.name, address, add)
		})
	}
	for _, address := range all[l.index] {
		if !slices.Contains(i.Multicast, address) {
			set(address, "del", false)
		}
	}
	for _, address := range i.Multicast {
		if !slices.Contains(all[l.index], address) {
			set(address, "add", true)
		}
	}
	return nil
}
