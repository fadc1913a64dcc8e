package ifstate

import (
	"fmt"
	"maps"
	"slices"
)

// Differences tells what of a state is not so in a later one, item by item. What changes by itself and harmlessly is no
// difference: memberships that came, a carrier that came.
func Differences(was, is State) []Leftover {
	present := make([]identity, len(is.Interfaces))
	for n, i := range is.Interfaces {
		present[n] = identity{i.Ifindex, i.Name, i.PermanentMAC}
	}
	pairs := match(was, is.BootID, present)
	var all []Leftover
	for n, want := range was.Interfaces {
		if pairs[n] < 0 {
			all = append(all, Leftover{Interface: want.Name, What: "interface", Want: "present", Gone: true})
			continue
		}
		all = append(all, want.differences(is.Interfaces[pairs[n]])...)
	}
	return all
}

// identity is what an interface is known by.
type identity struct {
	index        int
	name         string
	permanentMAC string
}

// match finds for each interface of a state the one among those present, by number; -1 where it is gone. In the same boot
// an index stands for one interface; else the permanent MAC tells, where only one has it; else the name.
func match(s State, boot string, present []identity) []int {
	pairs := make([]int, len(s.Interfaces))
	for n, i := range s.Interfaces {
		same := func(what func(identity) bool) int {
			found := -1
			for m, p := range present {
				if !what(p) {
					continue
				}
				if found >= 0 {
					return -1
				}
				found = m
			}
			return found
		}
		pairs[n] = -1
		if s.BootID == boot {
			pairs[n] = same(func(p identity) bool { return p.index == i.Ifindex })
		}
		if pairs[n] < 0 && i.PermanentMAC != "" {
			pairs[n] = same(func(p identity) bool { return p.permanentMAC == i.PermanentMAC })
		}
		if pairs[n] < 0 {
			// Another device of that name is not it.
			pairs[n] = same(func(p identity) bool {
				return p.name == i.Name && (p.permanentMAC == "" || i.PermanentMAC == "" || p.permanentMAC == i.PermanentMAC)
			})
		}
	}
	return pairs
}

const whatCarrier = "carrier"

// differences compares one interface with itself later.
func (i Interface) differences(now Interface) []Leftover {
	var all []Leftover
	differ := func(what string, want, got string) {
		if want != got {
			all = append(all, Leftover{Interface: i.Name, What: what, Want: want, Got: got})
		}
	}
	differ("name", i.Name, now.Name)
	differ("master", or(i.Master, "none"), or(now.Master, "none"))
	differ("MAC", i.MAC, now.MAC)
	differ("mtu", fmt.Sprint(i.MTU), fmt.Sprint(now.MTU))
	differ("txqueuelen", fmt.Sprint(i.TxQueueLen), fmt.Sprint(now.TxQueueLen))
	differ("flags", flagText(i.Flags), flagText(now.Flags))
	differ("group", fmt.Sprint(i.Group), fmt.Sprint(now.Group))
	differ("link mode", fmt.Sprint(i.LinkMode), fmt.Sprint(now.LinkMode))
	if i.Carrier && !now.Carrier {
		differ(whatCarrier, "present", "lost")
	}
	if i.OperState == operUp {
		differ("operational state", i.OperState, now.OperState)
	}
	i.bondDifferences(now, differ)
	inOrderDifferences("address", i.Addresses, now.Addresses, differ)
	for _, a := range now.Tentative {
		if !slices.Contains(i.Tentative, a) && has(i.Addresses, a) {
			differ("address "+a, "in use", "tentative")
		}
	}
	setDifferences("route", texts(i.Routes), texts(now.Routes), differ)
	setDifferences("neighbour", texts(i.Neighbours), texts(now.Neighbours), differ)
	setDifferences("link-layer multicast address", i.Multicast, now.Multicast, differ)
	for _, group := range i.Memberships {
		if !slices.Contains(now.Memberships, group) {
			differ("membership", group, "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Features)) {
		differ("feature "+name, i.Features[name].String(), now.Features[name].String())
	}
	differ("channels", i.Channels.String(), now.Channels.String())
	for _, path := range slices.Sorted(maps.Keys(i.Sysctls)) {
		differ("sysctl "+sysctlName(path, i.Name), quoted(i.Sysctls, path), quoted(now.Sysctls, path))
	}
	return append(all, i.qdiscDifferences(now)...)
}

func (i Interface) bondDifferences(now Interface, differ func(what, want, got string)) {
	if i.Slave != nil && now.Slave != nil {
		differ("own MAC as a slave", i.Slave.MAC, now.Slave.MAC)
		differ("queue_id", i.Slave.QueueID, now.Slave.QueueID)
		differ("prio", prioText(i.Slave.Prio), prioText(now.Slave.Prio))
	}
	if i.Bond == nil {
		return
	}
	if now.Bond == nil {
		differ("bond", "present", "none")
		return
	}
	differ("slaves", fmt.Sprint(i.Bond.Slaves), fmt.Sprint(now.Bond.Slaves))
	for _, option := range slices.Sorted(maps.Keys(i.Bond.Options)) {
		if option != "queue_id" { // that is each slave's
			differ("bond option "+option, or(i.Bond.Options[option], "none"), or(now.Bond.Options[option], "none"))
		}
	}
}

// setDifferences compares lists whose order means nothing.
func setDifferences(what string, want, got []string, differ func(what, want, got string)) {
	for _, w := range want {
		if !slices.Contains(got, w) {
			differ(what, w, "")
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			differ(what, "", g)
		}
	}
}

// inOrderDifferences compares lists whose order means something.
func inOrderDifferences(what string, want, got []Message, differ func(what, want, got string)) {
	setDifferences(what, texts(want), texts(got), differ)
	w, g := slices.Clone(texts(want)), slices.Clone(texts(got))
	slices.Sort(w)
	slices.Sort(g)
	if slices.Equal(w, g) {
		differ(what+" order", fmt.Sprint(texts(want)), fmt.Sprint(texts(got)))
	}
}

func texts(all []Message) []string {
	out := make([]string, len(all))
	for n, m := range all {
		out[n] = m.Text
	}
	return out
}

func has(all []Message, text string) bool {
	return slices.ContainsFunc(all, func(m Message) bool { return m.Text == text })
}

// String is the feature as `ethtool -k` tells it.
func (f Feature) String() string {
	words := map[bool]string{true: "on", false: "off"}
	text := words[f.Active]
	if f.Requested != f.Active {
		text += " [requested " + words[f.Requested] + "]"
	}
	return text
}

// String is the channels' numbers in the words of `ethtool -L`.
func (c *Channels) String() string {
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("rx %d tx %d other %d combined %d", c.Rx, c.Tx, c.Other, c.Combined)
}

func prioText(prio *int32) string {
	if prio == nil {
		return "none"
	}
	return fmt.Sprint(*prio)
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// quoted is a setting's value, empty only where there is no such setting.
func quoted(all map[string]string, path string) string {
	if value, ok := all[path]; ok {
		return fmt.Sprintf("%q", value)
	}
	return ""
}
