package bondctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// difference is where an interface is not as asked.
type difference struct {
	object, what, want, got string
	lacks                   *option // the kernel does not have it
}

// firstDifference compares a bond that is there with what is asked, nil where all is so. want has passed Check.
func firstDifference(want Bond, have Interfaces) *difference {
	bond := have[want.Name]
	if d := optionDifference(want.Name, bondTable, want.Options, bond.Bond); d != nil {
		return d
	}
	asked := make([]string, len(want.Slaves))
	for i, s := range want.Slaves {
		asked[i] = s.Name
	}
	slices.Sort(asked)
	facts := []fact{
		{want.Name, "the list of slaves", listOrNone(asked), listOrNone(have.slavesOf(want.Name)), true},
		{want.Name, "the state", "up", upOrDown(bond.Up), true},
		{want.Name, "mtu", strconv.Itoa(want.MTU), strconv.Itoa(bond.MTU), want.MTU != 0},
	}
	for _, s := range want.Slaves {
		slave := have[s.Name]
		facts = append(facts,
			fact{s.Name, "the state", "up", upOrDown(slave.Up), true},
			fact{s.Name, "txqueuelen", strconv.Itoa(want.TxQueueLen), strconv.Itoa(slave.TxQueueLen), want.TxQueueLen != 0},
			fact{s.Name, "the qdisc", want.Qdisc, slave.Qdisc, want.Qdisc != ""})
	}
	for _, a := range want.Addresses {
		facts = append(facts, fact{want.Name, "address " + a.String(), "there", "missing", !slices.Contains(bond.Addresses, a)})
	}
	for _, f := range facts {
		if f.asked && f.want != f.got {
			return &difference{object: f.object, what: f.what, want: f.want, got: f.got}
		}
	}
	for _, s := range want.Slaves {
		if d := optionDifference(s.Name, slaveTable, s.Options, have[s.Name].Slave); d != nil {
			return d
		}
	}
	return nil
}

// fact is one thing to compare, where it is asked for.
type fact struct {
	object, what, want, got string
	asked                   bool
}

// optionDifference compares options. The kernel shows each that it has, but for those that name nothing.
func optionDifference(object string, table []option, asked []Option, got map[string]string) *difference {
	for _, a := range asked {
		known := find(table, a.Name)
		value, shown := got[a.Name]
		if value == a.Value {
			continue
		}
		d := &difference{object: object, what: a.Name, want: a.Value, got: value}
		if !shown {
			d.got = "none"
			if known.since != "" {
				d.lacks = known
			}
		}
		return d
	}
	return nil
}

// err says that what was set does not read back.
func (d *difference) err() error {
	if d.lacks != nil {
		return &UnsupportedError{What: "bonding option " + d.what, Err: fmt.Errorf("it came with Linux %s", d.lacks.since)}
	}
	return &MismatchError{Object: d.object, Option: d.what, Want: d.want, Got: d.got}
}

func upOrDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

func listOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
