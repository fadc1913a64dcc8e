package ifstate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// bondKind is IFLA_INFO_KIND of a bond.
const bondKind = "bond"

// release takes interfaces out of masters that they did not have.
func (r *restorer) release() error {
	return r.each(func(i *Interface, l link) error {
		if l.master == 0 {
			return nil
		}
		if m := r.now(i.Master); i.Master != "" && m != nil && m.index == l.master {
			return nil
		}
		r.setMaster(i, l, 0, "")
		return nil
	})()
}

func (r *restorer) setMaster(i *Interface, l link, master int, name string) bool {
	command := fmt.Sprintf("ip link set dev %s nomaster", l.name)
	if master != 0 {
		command = fmt.Sprintf("ip link set dev %s master %s", l.name, name)
	}
	return r.do(fault{i.Name, "master", ""}, command, func() error {
		return setLink(l.index, 0, 0, attribute{unix.IFLA_MASTER, bytes32(uint32(master))})
	})
}

// enslave gives each bond its slaves again, and each other master its port.
func (r *restorer) enslave() error {
	for n := range r.want.Interfaces {
		i := &r.want.Interfaces[n]
		if i.Bond != nil {
			if err := r.slavesOf(i); err != nil {
				return err
			}
		}
	}
	return r.each(func(i *Interface, l link) error {
		if i.Master == "" || l.master != 0 {
			return nil
		}
		m := r.now(i.Master)
		switch {
		case m == nil:
			r.errs[fault{i.Name, "master", ""}] = i.Master + " does not exist any more"
		case i.MasterKind != bondKind:
			r.setMaster(i, l, m.index, m.name)
		}
		return nil
	})()
}

// slavesOf makes the bond's slaves those it had, in the order it had them: balance-rr and the hash policies number them.
// The bond is never without a slave that has one now: what is missing is added at the end, and then those that are in
// front of it leave and come back, one at a time.
func (r *restorer) slavesOf(bond *Interface) error {
	// Each round puts one slave at the end of the list; twice the number of slaves is more than enough.
	for range 2*len(bond.Bond.Slaves) + 1 {
		if err := r.read(); err != nil {
			return err
		}
		master := r.now(bond.Name)
		if master == nil || master.kind != bondKind {
			return nil
		}
		have, err := r.order(master)
		if err != nil {
			return nil // it went
		}
		slave := nextSlave(r.present(bond.Bond.Slaves), have)
		if slave == "" {
			return nil
		}
		if !r.append(slave, *master, slices.Contains(have, slave)) {
			return nil
		}
	}
	return nil
}

// order are the bond's slaves now, by the names they had.
func (r *restorer) order(bond *link) ([]string, error) {
	b, err := readBond(bond.name)
	if err != nil {
		return nil, err
	}
	for n, name := range b.Slaves {
		if l := byName(r.all, name); l != nil {
			b.Slaves[n] = r.oldName(l.index)
		}
	}
	return b.Slaves, nil
}

// present are those of the names whose interface is still there.
func (r *restorer) present(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return r.now(name) == nil })
}

// nextSlave is the slave to put at the end of the bond's list next, empty when the list is as wanted. Others that are in it
// do not count.
func nextSlave(want, have []string) string {
	for _, name := range want {
		if !slices.Contains(have, name) {
			return name
		}
	}
	// The longest beginning of want that have holds in this order stays.
	at := -1
	for _, name := range want {
		next := slices.Index(have, name)
		if next < at {
			return name
		}
		at = next
	}
	return ""
}

// append enslaves an interface, after it left the bond where it is in it. It must be down for that, and have its own MAC,
// which the bond gives back to it later. The kernel brings it up (bond_enslave, drivers/net/bonding/bond_main.c).
func (r *restorer) append(name string, master link, leave bool) bool {
	i, l := r.want.find(name), r.now(name)
	if i == nil || l == nil {
		return false
	}
	if leave {
		r.awaitOthers(name, master)
		if !r.setMaster(i, *l, 0, "") || r.read() != nil {
			return false
		}
		if l = r.now(name); l == nil {
			return false
		}
	}
	if l.up() {
		if !r.setUp(i, *l, false) {
			return false
		}
		l.flags &^= unix.IFF_UP
	}
	if i.Slave != nil && i.Slave.MAC != "" && i.Slave.MAC != l.mac {
		r.setMAC(i, l, i.Slave.MAC)
	}
	return r.setMaster(i, *l, master.index, master.name)
}

// awaitOthers waits, a little, until another slave of the bond is up, so that traffic goes on when this one leaves.
func (r *restorer) awaitOthers(name string, master link) {
	for range 20 {
		for _, l := range r.all {
			status, _ := readFile(filepath.Join(sysDir, l.name, "bonding_slave", "mii_status"))
			if l.master == master.index && r.oldName(l.index) != name && status == "up" {
				return
			}
		}
		if r.sleep() != nil || r.read() != nil {
			return
		}
	}
}

// bondOptions puts back the options of a bond, and those of a slave.
func (r *restorer) bondOptions(i *Interface, l link) error {
	if i.Slave != nil && l.slaveKind == bondKind {
		r.slaveOptions(i, l)
	}
	if i.Bond == nil || l.kind != bondKind {
		return nil
	}
	now, err := readBond(l.name)
	if err != nil {
		return nil // it went
	}
	for _, option := range optionOrder(i.Bond.Options) {
		have, known := now.Options[option]
		if want := i.Bond.Options[option]; known && have != want {
			r.setOption(i, l, option, want, have)
		}
	}
	return nil
}

// optionOrder is the order to set options in: the primary decides on the active slave, so that comes last.
func optionOrder(options map[string]string) []string {
	var names []string
	for name := range options {
		if name != "queue_id" && name != "primary" && name != "active_slave" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, "primary", "active_slave")
}

// setOption writes an option by its file. Targets are added and removed one by one; of a named value, "active-backup 1",
// the name is written.
func (r *restorer) setOption(i *Interface, l link, option, want, have string) {
	write := func(value string) {
		path := filepath.Join(sysDir, l.name, "bonding", option)
		r.do(fault{i.Name, "bond option " + option, ""}, fmt.Sprintf("echo %s > %s", value, path), func() error {
			return os.WriteFile(path, []byte(value+"\n"), 0)
		})
	}
	wanted, has := strings.Fields(strings.ReplaceAll(want, ",", " ")), strings.Fields(strings.ReplaceAll(have, ",", " "))
	switch option {
	case "arp_ip_target", "ns_ip6_target":
		for _, target := range has {
			if !slices.Contains(wanted, target) {
				write("-" + target)
			}
		}
		for _, target := range wanted {
			if !slices.Contains(has, target) {
				write("+" + target)
			}
		}
	case "active_slave":
		if want != "" { // without one there was no slave that was up
			write(want)
		}
	default:
		write(strings.Join(wanted[:min(1, len(wanted))], ""))
	}
}

// slaveOptions puts back what a slave loses when it leaves its bond.
func (r *restorer) slaveOptions(i *Interface, l link) {
	now := readSlave(l)
	if now == nil {
		return
	}
	if i.Slave.QueueID != now.QueueID {
		master := nameOf(r.all, l.master)
		value := l.name + ":" + i.Slave.QueueID
		path := filepath.Join(sysDir, master, "bonding", "queue_id")
		r.do(fault{i.Name, "queue_id", ""}, fmt.Sprintf("echo %s > %s", value, path), func() error {
			return os.WriteFile(path, []byte(value+"\n"), 0)
		})
	}
	if i.Slave.Prio != nil && now.Prio != nil && *i.Slave.Prio != *now.Prio {
		r.do(fault{i.Name, "prio", ""}, fmt.Sprintf("ip link set dev %s type bond_slave prio %d", l.name, *i.Slave.Prio), func() error {
			return setLink(l.index, 0, 0, nested(unix.IFLA_LINKINFO,
				attribute{unix.IFLA_INFO_SLAVE_KIND, words(bondKind)},
				nested(unix.IFLA_INFO_SLAVE_DATA, attribute{iflaBondSlavePrio, bytes32(uint32(*i.Slave.Prio))})))
		})
	}
}
