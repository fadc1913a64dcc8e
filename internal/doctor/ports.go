package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"bondrepro/internal/netns"
	"bondrepro/internal/ports"
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
	// Qdiscs tells what of an interface's qdiscs could not be put back exactly, a sentence each. nil: not looked at.
	Qdiscs func(name string) ([]string, error)
}

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
	checks := []Check{rights("/"), bonding(netns.ReadRunning("/"))}
	facts, found := p.inspect()
	checks = append(checks, found...)
	for _, w := range ports.Weaknesses(facts, ports.ReadMachine(), p.ask(0)) {
		name := w.Interface
		if name == "" {
			name = "this machine"
		}
		checks = append(checks, Check{Name: name, Code: w.Code, Weak: true, Found: w.Text, Remedy: w.Command})
	}
	return checks, nil
}

// inspect looks at each port, and at the bond with its slaves.
func (p Ports) inspect() (facts []ports.Facts, checks []Check) {
	names := p.Slaves
	if p.Bond != "" {
		slaves, err := ports.Slaves(p.Bond)
		if err != nil {
			return nil, []Check{{Name: p.Bond, Needed: true, Found: err.Error()}}
		}
		names = append([]string{p.Bond}, slaves...)
	}
	for i, name := range names {
		f, err := ports.Inspect(name)
		if err != nil {
			checks = append(checks, Check{Name: name, Needed: true, Found: err.Error()})
			continue
		}
		slave := i
		if p.Bond != "" {
			slave = max(0, i-1) // the first is the bond
		}
		facts = append(facts, f)
		checks = append(checks, p.judge(f, slave)...)
	}
	return facts, checks
}

// judge gives one check for each reason to refuse a port, or one that tells what it is.
func (p Ports) judge(f ports.Facts, slave int) []Check {
	var checks []Check
	for _, r := range ports.Refuse(f, p.ask(slave)) {
		checks = append(checks, Check{Name: f.Name, Code: r.Code, Needed: true, Found: r.Text, Remedy: r.Remedy})
	}
	checks = append(checks, p.qdiscs(f.Name)...)
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

func (p Ports) qdiscs(name string) []Check {
	if p.Qdiscs == nil {
		return nil
	}
	reasons, err := p.Qdiscs(name)
	if err != nil {
		reasons = []string{err.Error()}
	}
	var checks []Check
	for _, r := range reasons {
		checks = append(checks, Check{Name: name, Code: "qdisc", Needed: true, Found: r, Remedy: "take it off for the run, and put it back yourself: tc qdisc del dev " + name + " root"})
	}
	return checks
}

// describe tells what a port is, in one line.
func describe(f ports.Facts) string {
	words := []string{f.Driver}
	if f.SpeedMbit > 0 {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%d Mbit/s %s", f.SpeedMbit, duplex(f.Duplex))))
	}
	words = append(words, fmt.Sprintf("%d TX queues", len(f.Queues)))
	if f.Rings != nil {
		words = append(words, fmt.Sprintf("TX ring %d", f.Rings.TX))
	}
	if f.Firmware != "" {
		words = append(words, "firmware "+f.Firmware)
	}
	if f.Bus != "" {
		words = append(words, f.Bus)
	}
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

// bonding looks whether the running kernel has bonds. A module that is not loaded is as good: the kernel loads it when
// a bond is asked for.
func bonding(k netns.Running) Check {
	has, how := k.Has(netns.Module{Name: "bonding", Config: "CONFIG_BONDING"})
	c := Check{Name: "bonding", Code: "bonding", Needed: true, OK: has != netns.Absent, Found: k.Release + ": " + how}
	if !c.OK {
		c.Remedy = "boot a kernel with CONFIG_BONDING; run --testbed vm brings its own"
	}
	return c
}
