package bondctl

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
)

// Bond is a bond that Ensure builds: what `bondctl up` is asked for. Unlike Spec it is no measurement's.
type Bond struct {
	Name       string
	Options    []Option // in any order; the mode is one of them and must be there
	Slaves     []Port
	MTU        int    // bytes, of the bond and so of its slaves; 0: what they get by themselves
	TxQueueLen int    // packets, of each slave; 0: as it is
	Qdisc      string // of each TX queue of each slave; "": as it is
	Addresses  []netip.Prefix
	Ifindex    int  // of the bond, so that it can be told from one that somebody else made; 0: the kernel's choice
	Take       bool // slaves that have a master are taken from it, and lose their addresses
}

// Port is a slave of a Bond.
type Port struct {
	Name    string
	Options []Option // queue_id, prio, actor_port_prio
}

// FieldError is one thing wrong with a Bond, in a sentence, and the field it is about, as it is called in a YAML file:
// "options.miimon", "slaves.1.prio".
type FieldError struct {
	Field   string
	Message string
}

func (e *FieldError) Error() string { return e.Message }

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// mode is the bond's mode, "" where it has none.
func (b Bond) mode() string { return b.value("mode") }

// value is the value that is asked for an option, "" where none is.
func (b Bond) value(name string) string {
	for _, o := range b.Options {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

// Check says what is wrong with the bond without asking the kernel: the error is a *FieldError. What it passes is
// returned as it will read back: each option by its one name and with its value in its one form.
func (b Bond) Check() (Bond, error) {
	mode, err := b.checkNames()
	if err != nil {
		return b, err
	}
	if b.Options, err = checkOptions(b.Options, bondTable, "options.", mode); err != nil {
		return b, err
	}
	b.Slaves = slices.Clone(b.Slaves)
	queues := map[string]string{}
	for i, s := range b.Slaves {
		field := fmt.Sprintf("slaves.%d.", i)
		if b.Slaves[i].Options, err = checkOptions(s.Options, slaveTable, field, mode); err != nil {
			return b, err
		}
		for _, o := range b.Slaves[i].Options {
			if o.Name != "queue_id" || o.Value == "0" {
				continue
			}
			if other, taken := queues[o.Value]; taken {
				return b, wrong(field+"queue_id", "slaves %s and %s can't both have queue_id %s", other, s.Name, o.Value)
			}
			queues[o.Value] = s.Name
		}
	}
	for _, check := range []func() error{b.checkSlaveNames, b.checkMonitor, b.checkRest} {
		if err := check(); err != nil {
			return b, err
		}
	}
	return b, nil
}

// checkNames checks the names of interfaces, and gives the mode.
func (b Bond) checkNames() (modeSet, error) {
	switch {
	case b.Name == "":
		return 0, wrong("name", "the bond has no name")
	case !validName(b.Name):
		return 0, wrong("name", "%q can't be the name of a bond: 1 to 15 characters, no / or : or blank among them", b.Name)
	}
	seen := []string{b.Name}
	for i, s := range b.Slaves {
		field := fmt.Sprintf("slaves.%d", i)
		if !validName(s.Name) {
			return 0, wrong(field, "%q can't be the name of a slave: 1 to 15 characters, no / or : or blank among them", s.Name)
		}
		if slices.Contains(seen, s.Name) {
			return 0, wrong(field, "%s is named twice", s.Name)
		}
		seen = append(seen, s.Name)
	}
	name := b.mode()
	if name == "" {
		return 0, wrong("mode", "name a mode: one of %s", allModes)
	}
	mode, ok := modeOf(name)
	if !ok {
		return 0, wrong("mode", "there is no mode %q: it is one of %s", name, allModes)
	}
	return mode, nil
}

var deviceName = regexp.MustCompile(`^[^\s/:]+$`)

// validName is dev_valid_name (net/core/dev.c).
func validName(name string) bool {
	return len(name) < 16 && name != "." && name != ".." && deviceName.MatchString(name)
}

// anyDevice stands in for the interfaces where only the form of a value counts.
type anyDevice struct{}

func (anyDevice) indexOf(string) (int, error) { return 1, nil }
func (anyDevice) nameOf(int) string           { return "" }

// checkOptions checks each option by itself and gives them in the table's order and in their one form.
func checkOptions(asked []Option, table []option, prefix string, mode modeSet) ([]Option, error) {
	values := map[string]string{}
	for _, a := range asked {
		field := prefix + a.Name
		o := find(table, a.Name)
		if o == nil {
			return nil, wrong(field, "there is no option %q: it is one of %s", a.Name, namesOf(table))
		}
		if o.modes&mode == 0 {
			return nil, wrong(field, "option %s does not apply to mode %s: only %s takes it", a.Name, mode, o.modes)
		}
		if _, twice := values[o.name]; twice {
			return nil, wrong(field, "option %s is given twice", o.name)
		}
		payload, err := o.form.encode(a.Value, anyDevice{})
		if err != nil {
			return nil, wrong(field, "option %s can't be %q: %v", a.Name, a.Value, err)
		}
		values[o.name] = a.Value
		if text := o.form.read(payload, anyDevice{}); text != "" {
			values[o.name] = text
		}
	}
	var sorted []Option
	for _, o := range table {
		if v, ok := values[o.name]; ok {
			sorted = append(sorted, Option{Name: o.name, Value: v})
		}
	}
	return sorted, nil
}

// checkSlaveNames checks that options whose value is a slave name one of the bond's.
func (b Bond) checkSlaveNames() error {
	for _, name := range []string{"primary", "active_slave"} {
		v := b.value(name)
		if v != "" && !slices.ContainsFunc(b.Slaves, func(p Port) bool { return p.Name == v }) {
			return wrong("options."+name, "option %s is %s, which is no slave of %s", name, v, b.Name)
		}
	}
	primary, active, again := b.value("primary"), b.value("active_slave"), b.value("primary_reselect")
	if primary != "" && active != "" && active != primary && (again == "" || again == "always") {
		return wrong("options.active_slave", "option active_slave is %s, but the bond would go back to its primary %s at once, as primary_reselect is always", active, primary)
	}
	return nil
}

// checkMonitor checks what watches the slaves: miimon or ARP, not both, and delays that are multiples of miimon
// (bond_changelink, drivers/net/bonding/bond_netlink.c; _bond_option_delay_set rounds others down).
func (b Bond) checkMonitor() error {
	mode, _ := modeOf(b.mode())
	miimon, _ := strconv.Atoi(b.value("miimon"))
	if b.value("miimon") == "" && mode&arpModes == 0 {
		miimon = 100 // BOND_DEFAULT_MIIMON
	}
	for _, name := range []string{"arp_interval", "arp_validate"} {
		if v := b.value(name); miimon > 0 && v != "" && v != "0" && v != "none" {
			return wrong("options."+name, "option %s can't be used with miimon: a bond watches its slaves by MII or by ARP", name)
		}
	}
	for _, name := range []string{"updelay", "downdelay", "peer_notify_delay"} {
		v := b.value(name)
		if v == "" {
			continue
		}
		if miimon == 0 {
			return wrong("options."+name, "option %s needs miimon", name)
		}
		if delay, _ := strconv.Atoi(v); delay%miimon != 0 {
			return wrong("options."+name, "option %s is %s ms, which is no multiple of miimon (%d ms): the kernel would round it down", name, v, miimon)
		}
	}
	return nil
}

var qdiscName = regexp.MustCompile(`^[a-z0-9_]{1,15}$`)

// checkRest checks all that is no option and no name. The least MTU is IPv4's; the most is the driver's
// (bond_setup, drivers/net/bonding/bond_main.c).
func (b Bond) checkRest() error {
	switch {
	case b.MTU != 0 && (b.MTU < 68 || b.MTU > 65535):
		return wrong("mtu", "an MTU of %d bytes is not possible: it is 68 to 65535", b.MTU)
	case b.TxQueueLen < 0 || b.TxQueueLen > 1<<30:
		return wrong("txqueuelen", "a txqueuelen of %d packets is not possible: it is 1 to %d", b.TxQueueLen, 1<<30)
	case b.Qdisc != "" && !qdiscName.MatchString(b.Qdisc):
		return wrong("qdisc", "%q can't be the name of a qdisc", b.Qdisc)
	}
	for i, a := range b.Addresses {
		field := fmt.Sprintf("addresses.%d", i)
		if !a.IsValid() || a.Addr().IsUnspecified() || a.Addr().IsMulticast() {
			return wrong(field, "%s can't be the address of an interface", a)
		}
		if slices.Contains(b.Addresses[:i], a) {
			return wrong(field, "address %s is given twice", a)
		}
	}
	return nil
}
