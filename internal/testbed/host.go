package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/measure"
	"bondrepro/internal/netns"
	"bondrepro/internal/ports"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// HostOptions say which real ports to measure on, and what their owner allows.
type HostOptions struct {
	Slaves        []string // ports of which a bond is built; or
	Bond          string   // a bond that is there, measured as it is
	TakeAddresses bool
	AllowVirtual  bool
	Control       bool // netem is to be put on the bond that is there
	// Scenario is what is measured: its line rates, MTU and queues are held against the ports'.
	Scenario scenarios.Scenario
	Command  string // what other commands are told meanwhile
	Journals string // the folder of the journals; empty: bondctl.JournalDir
	// Changed is told each change of an interface, as a command line; nil is nobody.
	Changed func(command string)
}

// hostBond is the name of the bond that is built: one that nobody else has.
const hostBond = "bondrepro0"

// Real is a testbed of real ports: some of what is measured is not the scenario's to choose.
type Real interface {
	Testbed
	// Fit makes a scenario say what the place is.
	Fit(sc scenarios.Scenario) scenarios.Scenario
	// LineRates are those of the ports, bits/s, one a slave, and where they are from.
	LineRates() (rates []float64, why string)
	// Left is what Close could not put back because its interface is gone, or has lost its carrier.
	Left() []string
}

// host is a bond of real ports of this machine.
type host struct {
	options  HostOptions
	facts    []ports.Facts // of the slaves, before
	bond     *ports.Facts  // of the bond that was there; nil where one is built
	there    bondctl.Interfaces
	machine  result.Machine
	weak     []result.Weakness
	journals *bondctl.Journals
	journal  *bondctl.Journal
	release  func() // lets a second signal kill again
	left     []string
	progress func(string)
}

var _ Real = (*host)(nil)

// OpenHost looks at the ports, refuses what must not be touched, and writes down what they are. Nothing is changed yet.
// Errors are *UsageError, *KernelError, or of the environment.
func OpenHost(ctx context.Context, o Options) (Testbed, error) {
	h, err := openHost(ctx, o)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func openHost(ctx context.Context, o Options) (_ *host, err error) {
	if !o.bonds() {
		return nil, &UsageError{Err: errHostLoad}
	}
	h := &host{options: o.Host, machine: ports.ReadMachine(), progress: o.Progress}
	// Before it looks: ports that another command works on, or has left, are not what they seem.
	if h.journals, err = bondctl.OpenJournals(cmp.Or(o.Host.Journals, bondctl.JournalDir), o.Host.Command); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.journals.Close())
		}
	}()
	for _, check := range []func() error{h.journals.Finished, h.look, func() error { return findModules(o) }} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	change := bondctl.Change{Bond: hostBond, Makes: true, Interfaces: h.options.Slaves}
	if h.bond != nil {
		change = bondctl.Change{Bond: h.bond.Name, Interfaces: []string{h.bond.Name}}
	}
	h.release = exitcode.Shield()
	if h.journal, err = h.journals.Begin(ctx, change); err != nil {
		h.release()
	}
	return h, usageOf(err)
}

// usageOf marks what is not touched because it could not be put back.
func usageOf(err error) error {
	var exact *bondctl.IrrestorableError
	if errors.As(err, &exact) {
		return &UsageError{Err: err}
	}
	return err
}

// findModules loads nothing: bonding that is loaded by rtnetlink's autoload makes a bond0 of its own.
func findModules(o Options) error {
	if o.Host.Bond == "" {
		if err := netns.FindBonding(); err != nil {
			return classifyNetns(err)
		}
	}
	return classifyNetns(findVLAN(o))
}

// look reads the ports, and refuses.
func (h *host) look() error {
	o := h.options
	names := o.Slaves
	if o.Bond != "" {
		bond, err := ports.Inspect(o.Bond)
		if err != nil {
			return &UsageError{Err: err}
		}
		h.bond = &bond
		if names, err = ports.Slaves(o.Bond); err != nil {
			return &UsageError{Err: err}
		}
	}
	if err := h.readInterfaces(); err != nil {
		return err
	}
	for _, name := range names {
		f, err := ports.Inspect(name)
		if err != nil {
			return &UsageError{Err: err}
		}
		h.facts = append(h.facts, f)
	}
	if err := h.refuse(); err != nil {
		return err
	}
	h.weak = ports.Weaknesses(h.all(), h.machine, h.ask(0))
	return nil
}

// readInterfaces reads what bondctl has to know.
func (h *host) readInterfaces() error {
	client, err := bondctl.Open()
	if err != nil {
		return err
	}
	h.there, err = client.Interfaces()
	return errors.Join(err, client.Close())
}

// all are the facts of the slaves, with those of the bond first where it was there.
func (h *host) all() []ports.Facts {
	if h.bond == nil {
		return h.facts
	}
	return append([]ports.Facts{*h.bond}, h.facts...)
}

// refuse gives every reason not to touch the ports at once, one a line.
func (h *host) refuse() error {
	var reasons []string
	add := func(f ports.Facts, slave int) {
		for _, r := range ports.Refuse(f, h.ask(slave)) {
			reasons = append(reasons, r.String())
		}
	}
	if h.bond != nil {
		add(*h.bond, 0)
	}
	for i, f := range h.facts {
		add(f, i)
	}
	if h.bond != nil {
		reasons = append(reasons, h.asItIs()...)
	}
	if len(reasons) == 0 {
		return nil
	}
	return &UsageError{Err: errors.New(strings.Join(reasons, "\n"))}
}

func (h *host) ask(slave int) ports.Ask {
	a := ports.AskOf(h.options.Scenario, slave)
	a.TakeAddresses, a.AllowVirtual, a.Bond = h.options.TakeAddresses, h.options.AllowVirtual, h.bond != nil
	return a
}

func (h *host) Guest() *result.Guest { return nil }

// Host is the machine with its ports, as they were before anything was changed.
func (h *host) Host() result.Host {
	facts := HostFacts()
	facts.Ports, facts.Machine, facts.Weaknesses = h.all(), &h.machine, h.weak
	return facts
}

// Complaints are none: the kernel's log is everybody's.
func (h *host) Complaints() []string { return nil }

// Slaves are the names of the ports.
func (h *host) Slaves() []string {
	names := make([]string, len(h.facts))
	for i, f := range h.facts {
		names[i] = f.Name
	}
	return names
}

// Partner is none of ours: the ports' other ends are.
func (h *host) Partner() []string { return nil }

func (h *host) Lacks(module string) bool {
	has, _ := netns.ReadRunning("/").Has(netem)
	return module == netem.Name && has == netns.Absent
}

func (h *host) CatchUp(scenarios.Scenario) time.Duration { return 0 }

// Fit gives a scenario as many slaves as there are ports and, where the bond was there, all that it is.
func (h *host) Fit(sc scenarios.Scenario) scenarios.Scenario {
	sc.Topology.Slaves.Count, sc.Topology.Slaves.Queues = len(h.facts), 1
	for _, f := range h.facts {
		sc.Topology.Slaves.Queues = max(sc.Topology.Slaves.Queues, len(f.Queues))
	}
	if h.bond != nil {
		sc = fitBond(sc, h.there, h.bond.Name, h.Slaves())
	}
	return sc
}

// LineRates are what the links carry of the scenario's frames; of a port that tells no speed, what the scenario says.
func (h *host) LineRates() (rates []float64, why string) {
	var speeds []string
	for i, f := range h.facts {
		ask := h.ask(i)
		rate, speed := ports.LineRate(f, ask.FrameBytes), fmt.Sprintf("%d Mbit/s", f.SpeedMbit)
		if rate == 0 {
			rate, speed = ask.LineRate, "as the scenario says"
		}
		rates = append(rates, rate)
		if !slices.Contains(speeds, speed) {
			speeds = append(speeds, speed)
		}
	}
	return rates, "of the links (" + strings.Join(speeds, ", ") + "), less 24 bytes a frame for FCS, preamble and gap"
}

// onPorts is the job on these ports.
func (h *host) onPorts(job measure.Job) measure.Job {
	job.Ports = &measure.Ports{Bond: hostBond, Ifindex: h.journal.Ifindex(), Changed: h.options.Changed}
	if h.bond != nil {
		job.Ports.Bond, job.Ports.Existing = h.bond.Name, true
	}
	return job
}

// Probe builds the job's topology on lines that stand still: tbf holds what is sent. On a bond that was there, no qdisc is
// touched: it is done on a likeness of it, in namespaces of our own.
func (h *host) Probe(ctx context.Context, job measure.Job) (probe measure.Probe, err error) {
	if h.bond != nil {
		return h.probeLikeness(ctx, job)
	}
	job = h.onPorts(job)
	job.Shape, job.LineRate = true, nil
	for _, f := range h.facts {
		job.LineRate = append(job.LineRate, float64(measure.Standstill*max(1, h.there[f.Name].Queues)))
	}
	err = within(ctx, hostPatience+patience(job), measure.KindProbe, func(ctx context.Context) (err error) {
		probe, err = measure.ProbeTopology(ctx, job)
		return h.classify(err)
	})
	return probe, err
}

// hostPatience is what real links may take on top of patience.
const hostPatience = 2 * time.Minute

// Measure runs the job on the lines as they are, and adds what the ports count themselves.
func (h *host) Measure(ctx context.Context, job measure.Job) (rec result.Recording, err error) {
	before := h.counters()
	err = within(ctx, hostPatience+patience(job), measure.KindMeasure, func(ctx context.Context) (err error) {
		if rec, err = measure.Measure(ctx, h.onPorts(job)); err != nil {
			return h.classify(err)
		}
		h.waitLag(ctx)
		rec.NICs = h.moved(before, h.counters())
		return nil
	})
	return rec, err
}

// errHostLoad: the ends of a workload are two namespaces, and real ports are neither ours to move nor joined.
var errHostLoad = errors.New("--testbed host measures a bond of real ports, and this scenario has none: use --testbed netns or vm")

// Sample is not for real ports.
func (h *host) Sample(context.Context, measure.Job) (result.Sample, error) {
	return result.Sample{}, &UsageError{Err: errHostLoad}
}

// classify sorts a measurement's errors.
func (h *host) classify(err error) error {
	if err == nil {
		return nil
	}
	if gone := h.missing(); len(gone) > 0 {
		return &KernelError{Reason: fmt.Sprintf("%s vanished in mid-run (%v)", strings.Join(gone, " and "), err), Err: err}
	}
	return measure.AsFault(err)
}

// missing are the ports that are not there any more.
func (h *host) missing() (names []string) {
	for _, name := range h.Slaves() {
		if _, err := net.InterfaceByName(name); err != nil {
			names = append(names, name)
		}
	}
	return names
}

func (h *host) Left() []string { return h.left }

// Close puts everything back. What could not be is an error, item by item; interfaces that are gone, or lost their carrier, are told by Left.
func (h *host) Close() error {
	defer h.release()
	h.progress("putting the interfaces back as they were")
	err := h.putBack()
	if err != nil {
		err = &exitcode.Error{Code: exitcode.Usage, Err: &NotRestoredError{Err: err}}
	}
	return errors.Join(err, h.journals.Close())
}

func (h *host) putBack() error {
	client, err := bondctl.Open()
	if err != nil {
		return err
	}
	client.Changed = h.options.Changed
	err = client.PutBack(context.Background(), h.journal)
	var left *bondctl.RestoreError
	if errors.As(err, &left) {
		h.left, err = left.Split()
	}
	return errors.Join(err, client.Close())
}

// NotRestoredError says what of this machine could not be put back.
type NotRestoredError struct{ Err error }

func (e *NotRestoredError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *NotRestoredError) Unwrap() error { return e.Err }
