package ifstate

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Irrestorable tells what of the state could not be put back exactly. Of an interface that was not asked for by name
// only its qdiscs matter, as no more of it is touched than that it leaves its bond for a moment.
func (s State) Irrestorable() []Problem {
	var all []Problem
	for _, i := range s.Interfaces {
		add := func(format string, args ...any) { all = append(all, Problem{i.Name, fmt.Sprintf(format, args...)}) }
		for _, what := range i.Qdiscs.Irrestorable() {
			add("%s", what)
		}
		if !i.Named {
			continue
		}
		if i.Master != "" && i.MasterKind != "bond" {
			add("its master %s is a %s, and only a bond gets its slave back", i.Master, i.MasterKind)
		}
		if i.Kind == "bond" {
			continue
		}
		if i.XDP {
			add("an XDP program is attached")
		}
		for _, child := range i.Children {
			add("%s is on top of it, and goes down with it", child)
		}
		for _, r := range i.Routes {
			if throughObject(r) {
				add("a route goes through a nexthop object: %s", r.Text)
			}
		}
		for _, a := range i.Addresses {
			if strings.HasSuffix(a.Text, " temporary") || strings.Contains(a.Text, " temporary ") {
				add("the kernel alone makes a temporary address: %s", a.Text)
			}
		}
	}
	return all
}

// throughObject tells whether a route names a nexthop object (`ip nexthop`), which ends when its interface goes down.
func throughObject(m Message) bool {
	attrs, err := attributes(m.Raw[min(len(m.Raw), unix.SizeofRtMsg):])
	return err == nil && find(attrs, rtaNexthopID) != nil
}
