package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"bondrepro/internal/kernel"
	"bondrepro/internal/measure"
	"bondrepro/internal/netns"
	"bondrepro/internal/vm"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// neededModules are those no measurement can do without, by topology.kind.
var neededModules = map[string][]string{
	scenarios.KindBond:   {"virtio_pci", "virtio_net", "bonding", "sch_ingress", "cls_matchall", "act_gact"},
	scenarios.KindVeth:   {"veth"},
	scenarios.KindJoined: {"virtio_pci", "virtio_net"},
}

// usefulModules make a control or an option possible; a kernel may lack them.
var usefulModules = []string{"sch_netem"}

// qdiscModules are the modules of the qdiscs a scenario may give its slaves; the others are part of every
// kernel (net/sched/sch_generic.c, sch_fifo.c).
var qdiscModules = map[string]string{"fq": "sch_fq", "fq_codel": "sch_fq_codel"}

// sysctls keep the guest quiet: no IPv6 neighbour discovery, which would put foreign frames into the ledger.
var sysctls = map[string]string{
	"net.ipv6.conf.all.disable_ipv6":     "1",
	"net.ipv6.conf.default.disable_ipv6": "1",
}

// moduleParams: without max_bonds=0 bonding makes a bond0 of its own, in balance-rr. Without napi_tx, which is on by
// default from Linux 5.3 and there from 4.12, virtio_net orphans each packet itself and completes it only at the
// next one: nothing could be said of who is charged.
var moduleParams = map[string]string{"bonding": "max_bonds=0", "virtio_net": "napi_tx=1"}

// builtInParams are the same on the kernel's command line, for modules that are built in.
func builtInParams() string {
	var params []string
	for _, module := range slices.Sorted(maps.Keys(moduleParams)) {
		params = append(params, module+"."+moduleParams[module])
	}
	return strings.Join(params, " ")
}

const (
	// spareTime is what a measurement may take on top of its traffic on a slow machine, partnerTime what LACP may.
	spareTime   = 60 * time.Second
	partnerTime = 60 * time.Second
	// wireQuiet is how long the lines must bring nothing before a run's count is closed.
	wireQuiet = 100 * time.Millisecond
	// idleLimit is how long they may go on: a full ring and queue on a slow line take some seconds.
	idleLimit = 30 * time.Second
)

// guestVM is a booted kernel whose slaves' other ends are in this process.
type guestVM struct {
	machine  *vm.Machine
	nics     int  // slaves: the first NICs
	partner  bool // as many NICs again, cabled to them
	bare     bool // a kernel that came without any module or list of what is built in
	guest    result.Guest
	host     result.Host
	lacks    []string
	pcap     *os.File // nil without --pcap
	stopPcap func() error
}

var _ Testbed = (*guestVM)(nil)

// OpenVM boots the kernel the options name and proves which kernel and modules run. No root is needed. Errors
// are *UsageError, *KernelError, or of the environment.
func OpenVM(ctx context.Context, o Options) (Testbed, error) {
	g, err := openVM(ctx, o)
	if err != nil {
		return nil, classify(err)
	}
	return g, nil
}

func openVM(ctx context.Context, o Options) (_ *guestVM, err error) {
	if _, err := vm.QEMUVersion(ctx, o.QEMU); err != nil {
		return nil, err // before anything is fetched
	}
	o.Progress("looking for the kernel " + o.Kernel)
	k, err := kernel.Open(ctx, o.Kernel, kernel.Options{ModulesDir: o.ModulesDir, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	modules, lacks, err := modulesFor(k, o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file, which becomes the guest's init: %w", err)
	}
	pcap, err := createPcap(o.Pcap)
	if err != nil {
		return nil, err
	}
	g := &guestVM{lacks: lacks, host: HostFacts(), pcap: pcap, nics: o.NICs, partner: o.Partner}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	o.Progress("booting " + k.Release)
	g.machine, err = vm.Start(ctx, vm.Config{
		Image: k.Image, Self: self, Modules: modules, ModuleParams: moduleParams, Append: builtInParams(), Sysctls: sysctls,
		NICs: g.lines(), Queues: o.Queues, Cables: g.cables(), LinkSpeed: o.LinkSpeed, Joined: o.has(scenarios.KindJoined), QEMU: o.QEMU, Progress: o.Progress,
	})
	if err != nil {
		return nil, err
	}
	if pcap != nil {
		if g.stopPcap, err = g.machine.Wire().Pcap(pcap); err != nil {
			return nil, err
		}
	}
	g.host.QEMU = g.machine.QEMUVersion()
	_, known := k.BuiltIn("bonding")
	g.bare = len(modules) == 0 && !known
	proven, err := prove(k.Release, k.BuildID(), modules, g.machine.Hello())
	g.guest = describe(g.machine, proven)
	return g, err
}

// modulesFor resolves what to load, and which useful modules the kernel is known to lack.
func modulesFor(k *kernel.Kernel, o Options) (modules []kernel.Module, lacks []string, err error) {
	kinds := o.Kinds
	if len(kinds) == 0 {
		kinds = []string{scenarios.KindBond}
	}
	var names []string
	for _, kind := range kinds {
		names = append(names, neededModules[kind]...)
	}
	for _, q := range o.Qdiscs {
		if m, ok := qdiscModules[q]; ok {
			names = append(names, m)
		}
	}
	if o.IPv6 && k.Has("ipv6") { // else it is built in, or not there: the guest will tell
		names = append(names, "ipv6")
	}
	if o.VLAN {
		names = append(names, netns.VLAN.Name)
	}
	for _, name := range usefulModules {
		if !o.bonds() {
			break
		}
		_, known := k.BuiltIn(name)
		switch {
		case k.Has(name):
			names = append(names, name)
		case known: // else it may be built in: the kernel itself will tell
			lacks = append(lacks, name)
		}
	}
	modules, err = k.Resolve(names, o.Modules)
	return modules, lacks, err
}

// createPcap opens the file before anything boots; no name is no file.
func createPcap(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, &UsageError{Err: fmt.Errorf("--pcap: %w", err)}
	}
	return f, nil
}

// describe is what booted.
func describe(m *vm.Machine, modules []result.Module) result.Guest {
	hello := m.Hello()
	return result.Guest{
		Kernel: hello.Release, Version: strings.TrimSpace(hello.Version), BuildID: hello.BuildID,
		Accelerator: m.Accelerator().Name, AcceleratorWhy: m.Accelerator().Why, CPUs: hello.CPUs,
		MemoryMB: hello.MemoryMB, Modules: modules, BootMS: m.BootMS(), Tainted: hello.Tainted,
	}
}

func (g *guestVM) Guest() *result.Guest { return &g.guest }
func (g *guestVM) Host() result.Host    { return g.host }

func (g *guestVM) Complaints() []string { return g.machine.Complaints() }

func (g *guestVM) Slaves() []string { return macs(0, g.nics) }

func (g *guestVM) Partner() []string { return macs(g.nics, g.lines()) }

// macs are the addresses of the NICs from the first on to before the end.
func macs(first, end int) []string {
	var list []string
	for i := first; i < end; i++ {
		list = append(list, vm.MAC(i))
	}
	return list
}

// lines is how many NICs there are: the slaves, then the partner's.
func (g *guestVM) lines() int {
	if g.partner {
		return 2 * g.nics
	}
	return g.nics
}

// cables join each slave to the partner's NIC of the same number.
func (g *guestVM) cables() [][2]int {
	var list [][2]int
	for i := g.nics; i < g.lines(); i++ {
		list = append(list, [2]int{i - g.nics, i})
	}
	return list
}

// rates are those of all lines: the slaves' first ones as given, the rest open.
func (g *guestVM) rates(slaves []float64) []float64 {
	rates := slices.Repeat([]float64{math.Inf(1)}, g.lines())
	copy(rates, slaves)
	return rates
}

func (g *guestVM) Lacks(module string) bool { return slices.Contains(g.lacks, module) }

func (g *guestVM) CatchUp(scenarios.Scenario) time.Duration { return vm.CatchUp }

// Probe stops every slave's line for as long as it takes, so that nothing leaves before its charge was read.
func (g *guestVM) Probe(ctx context.Context, job measure.Job) (measure.Probe, error) {
	w := g.machine.Wire()
	w.SetRates(g.rates(make([]float64, g.nics)))
	var probe measure.Probe
	err := g.call(ctx, measure.KindProbe, job, &probe)
	w.SetRates(g.rates(nil))
	var fault *measure.Fault
	if g.bare && errors.As(err, &fault) {
		return probe, &UsageError{Err: fmt.Errorf("%w; the kernel came without modules: unless all it needs is built in, give --modules DIR", err)}
	}
	if err != nil {
		return probe, err
	}
	return probe, g.waitIdle(ctx)
}

// waitIdle waits until the lines bring nothing more. A guest that goes on sending after its run is not well.
func (g *guestVM) waitIdle(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, idleLimit)
	defer cancel()
	err := g.machine.Wire().WaitIdle(limited, wireQuiet)
	if err != nil && ctx.Err() == nil {
		return &KernelError{Reason: fmt.Sprintf("the guest still sends %v after its run ended: %v", idleLimit, err), Err: err}
	}
	return err
}

// Measure has the guest measure, and adds what the wire saw.
func (g *guestVM) Measure(ctx context.Context, job measure.Job) (rec result.Recording, err error) {
	job.Machine = true
	w := g.machine.Wire()
	w.SetRates(g.rates(job.LineRate))
	g.machine.TakeComplaints() // of what went before
	w.Begin(job.Run, job.Scenario.Traffic, job.Scenario.Topology.VLAN)
	err = g.call(ctx, measure.KindMeasure, job, &rec)
	if err == nil {
		err = g.waitIdle(ctx)
	}
	rec.KernelLog = g.machine.TakeComplaints()
	if err != nil {
		return rec, err
	}
	wire := w.End()
	wire.Slaves = wire.Slaves[:len(job.Slaves)]
	rec.Wire = &wire
	return rec, nil
}

// Sample measures a workload inside of the guest.
func (g *guestVM) Sample(ctx context.Context, job measure.Job) (sample result.Sample, err error) {
	job.Machine = true
	err = g.call(ctx, measure.KindSample, job, &sample)
	if tool := measure.LacksTool(err); tool != "" {
		err = &measure.Fault{Class: measure.Refused, What: tool, Text: fmt.Sprintf("load.tool: %s is not in a guest, which holds no program but ours: measure it with --testbed netns", tool)}
	}
	return sample, err
}

// patience is how long a job may take.
func patience(job measure.Job) time.Duration {
	limit := job.Scenario.Traffic.Duration.D() + spareTime
	if len(job.Partner) > 0 {
		limit += partnerTime
	}
	if !job.Scenario.OnBond() { // its warm-up comes before, and a tool takes longer than it is told
		limit += job.Scenario.Traffic.Warmup.D() + job.Scenario.Traffic.Duration.D()/2
	}
	return limit
}

// call has the guest do a job; its refusals come back as *measure.Fault.
func (g *guestVM) call(ctx context.Context, kind string, job measure.Job, out any) error {
	limit := patience(job)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var reply measure.Reply
	err := g.machine.Call(ctx, kind, job, &reply, nil)
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return &KernelError{Reason: fmt.Sprintf("the guest did not finish to %s within %v", kind, limit), Err: err}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return classify(err)
	}
	if reply.Fault != nil {
		return reply.Fault
	}
	if err := json.Unmarshal(reply.Answer, out); err != nil {
		return fmt.Errorf("the guest's answer to %s: %w", kind, err)
	}
	return nil
}

func (g *guestVM) Close() error {
	var errs []error
	if g.machine != nil {
		errs = append(errs, g.machine.Close())
	}
	if g.stopPcap != nil {
		errs = append(errs, g.stopPcap())
	}
	if g.pcap != nil {
		errs = append(errs, g.pcap.Close())
	}
	return errors.Join(errs...)
}
