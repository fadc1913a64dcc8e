package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"bondrepro/bondctl"
	"bondrepro/internal/ifstate"
	"bondrepro/internal/netns"
	"bondrepro/internal/ports"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"golang.org/x/sys/unix"
)

// Ports say which real ports to look at, and what their user allows.
type Ports struct {
	Slaves        []string // ports of which a bond would be built; or
	Bond          string   // an existing bond that would be used as it is
	TakeAddresses bool
	AllowVirtual  bool
	// Scenario is what would be measured: its MTU, queues, line rates.
	Scenario scenarios.Scenario

	exact func(names []string) ([]ifstate.Problem, error) // nil but in tests: irrestorable
	dir   string                                          // of the journals; empty but in tests: bondctl.JournalDir
}

func (p Ports) journalDir() string { return cmp.Or(p.dir, bondctl.JournalDir) }

// Asked tells whether any port is named.
func (p Ports) Asked() bool { return len(p.Slaves) > 0 || p.Bond != "" }

// examinePorts tells everything that `run --testbed host` would refuse, marked as needed, and everything that would make
// its verdict weak. An error is one of usage.
func examinePorts(p Ports) ([]Check, error) {
	if len(p.Slaves) > 0 && p.Bond != "" {
		return nil, errors.New("--slaves and --bond: a bond is built of ports, or an existing one is used as it is: name one of them")
	}
	for i, name := range p.Slaves {
		if slices.Contains(p.Slaves[:i], name) {
			return nil, fmt.Errorf("--slaves names %s twice", name)
		}
	}
	found := look(p.journalDir())
	checks := []Check{rights("/"), journals(found)}
	if p.Bond == "" {
		checks = append(checks, bonding(netns.FindBonding()))
	}
	facts, more := p.inspect(found)
	checks = append(checks, more...)
	checks = append(checks, p.unexact(facts)...)
	for _, w := range ports.Weaknesses(facts, ports.ReadMachine(), p.ask(0)) {
		name := w.Interface
		if name == "" {
			name = "this machine"
		}
		checks = append(checks, Check{Name: name, Code: w.Code, Weak: true, Found: w.Text, Remedy: w.Command})
	}
	return checks, nil
}

// inspect looks at each port, and at the bond with its slaves, but for those that the journals say are not what they were.
func (p Ports) inspect(journals error) (facts []ports.Facts, checks []Check) {
	names := p.Slaves
	if p.Bond != "" {
		slaves, err := ports.Slaves(p.Bond)
		if err != nil {
			return nil, []Check{{Name: p.Bond, Needed: true, Found: err.Error()}}
		}
		names = append([]string{p.Bond}, slaves...)
	}
	for i, name := range names {
		if c, is := changed(name, journals); is {
			checks = append(checks, c)
			continue
		}
		f, err := ports.Inspect(name)
		if err != nil {
			checks = append(checks, Check{Name: name, Needed: true, Found: err.Error()})
			continue
		}
		if c, is := hidden(f, journals); is && p.Bond == "" {
			checks = append(checks, c)
			continue
		}
		facts = append(facts, f)
		checks = append(checks, p.judge(f, p.slave(i))...)
	}
	return facts, checks
}

// slave is the number that a port has among the slaves, where the bond that is in use stands before them.
func (p Ports) slave(at int) int {
	if p.Bond == "" {
		return at
	}
	return max(0, at-1)
}

// judge gives one check for each reason to refuse a port, or one that tells what it is.
func (p Ports) judge(f ports.Facts, slave int) []Check {
	var checks []Check
	for _, r := range ports.Refuse(f, p.ask(slave)) {
		checks = append(checks, Check{Name: f.Name, Code: r.Code, Needed: true, Found: r.Text, Remedy: r.Remedy})
	}
	if len(checks) == 0 {
		checks = []Check{{Name: f.Name, OK: true, Needed: true, Found: describe(f)}}
	}
	return checks
}

func (p Ports) ask(slave int) ports.Ask {
	a := ports.AskOf(p.Scenario, slave)
	a.TakeAddresses, a.AllowVirtual, a.Bond = p.TakeAddresses, p.AllowVirtual, p.Bond != ""
	return a
}

// unexact gives a check for each thing that a run would change and could not put back exactly. Of a bond that is used as it
// is, its slaves are left alone.
func (p Ports) unexact(facts []ports.Facts) []Check {
	var names []string
	for _, f := range facts {
		if p.Bond == "" || f.Name == p.Bond {
			names = append(names, f.Name)
		}
	}
	exact := p.exact
	if exact == nil {
		exact = irrestorable
	}
	problems, err := exact(names)
	if err != nil {
		return []Check{{Name: strings.Join(names, ", "), Code: "irrestorable", Needed: true, Found: err.Error()}}
	}
	var checks []Check
	for _, x := range problems {
		checks = append(checks, Check{
			Name: x.Interface, Code: "irrestorable", Needed: true, Found: x.Interface + " has what can't be put back exactly: " + x.What,
			Remedy: fmt.Sprintf("take it away before a run, and put it back yourself: ip -d address show dev %s; tc -s qdisc show dev %[1]s", x.Interface),
		})
	}
	return checks
}

func irrestorable(names []string) ([]ifstate.Problem, error) {
	if len(names) == 0 {
		return nil, nil
	}
	state, err := ifstate.Capture(names)
	if err != nil {
		return nil, err
	}
	return state.Irrestorable(), nil
}

// describe tells what a port is, in one line.
func describe(f ports.Facts) string {
	words := []string{f.Driver}
	if f.SpeedMbit > 0 {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%d Mbit/s %s", f.SpeedMbit, duplex(f.Duplex))))
	}
	words = append(words, result.Plural(len(f.Queues), "TX queue"))
	words = append(words, f.Device()...)
	return strings.Join(words, ", ")
}

func duplex(d string) string {
	if d == "" {
		return ""
	}
	return d + " duplex"
}

// rights looks whether this process may change interfaces: the 13th bit of its effective capabilities.
func rights(root string) Check {
	c := Check{Name: "rights", Code: "rights", Needed: true, Found: "this user may change interfaces (CAP_NET_ADMIN)"}
	if c.OK = effective(root)>>unix.CAP_NET_ADMIN&1 == 1; !c.OK {
		c.Found, c.Remedy = "this user may not change interfaces: CAP_NET_ADMIN is missing", "start it with sudo"
	}
	return c
}

// effective reads the effective capabilities (proc(5), CapEff).
func effective(root string) (set uint64) {
	status, _ := os.ReadFile(root + "/proc/thread-self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			fmt.Sscanf(value, "%x", &set)
		}
	}
	return set
}

// bonding tells whether the running kernel can make a bond. A run loads no module.
func bonding(missing error) Check {
	c := Check{Name: "bonding", Code: "bonding", Needed: true, OK: missing == nil, Found: "the running kernel can make a bond"}
	if !c.OK {
		c.Found, c.Remedy = missing.Error(), "modprobe bonding max_bonds=0; a kernel that has none: run --testbed vm brings its own"
	}
	return c
}
