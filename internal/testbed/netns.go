package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/measure"
	"bondrepro/internal/netns"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// netem is the one module a scenario can do without.
var netem = netns.Module{Name: "sch_netem", Config: "CONFIG_NET_SCH_NETEM"}

// private is the running kernel, in namespaces of our own.
type private struct {
	place *netns.Place
	host  result.Host
	lacks []string
}

var _ Testbed = (*private)(nil)

// UnusableError says why the running kernel can't be measured, in one sentence without its full stop.
type UnusableError = netns.UnusableError

// NetnsUsable tells whether OpenNetns can measure here: nil, or an *UnusableError; other errors are ours. It makes no
// interface of the machine's own; the kernel may load modules of qdiscs and filters for it.
func NetnsUsable(ctx context.Context) error { return classifyNetns(netns.Usable(ctx)) }

// NetnsUsableFor is NetnsUsable for scenarios that need what the options name: a bond or none, VLAN.
func NetnsUsableFor(o Options) func(context.Context) error {
	return func(ctx context.Context) error {
		if !o.bonds() {
			return classifyNetns(netns.UsableWithoutBond(ctx))
		}
		if err := findVLAN(o); err != nil {
			return &UnusableError{Err: err}
		}
		return NetnsUsable(ctx)
	}
}

// findVLAN looks for VLAN interfaces where an arm needs one.
func findVLAN(o Options) error {
	if !o.VLAN {
		return nil
	}
	return netns.FindVLAN()
}

// OpenNetns makes private namespaces on the running kernel, as root or as a user that may make user namespaces.
// Errors are *UsageError, *KernelError, or of the environment.
func OpenNetns(ctx context.Context, o Options) (Testbed, error) {
	if err := refuseForNetns(o); err != nil {
		return nil, err
	}
	if o.has(scenarios.KindJoined) {
		return nil, &UsageError{Err: errors.New("--testbed netns has no NICs to join, which topology.kind joined needs: use --testbed vm, or topology.kind veth")}
	}
	if o.bonds() {
		if err := cmp.Or(netns.FindBonding(), findVLAN(o)); err != nil {
			return nil, classifyNetns(err)
		}
	}
	o.Progress("making private network namespaces")
	p, err := netns.Start(ctx, netns.Config{Slaves: o.NICs, Queues: o.Queues, Partner: o.Partner})
	if err != nil {
		return nil, classifyNetns(err)
	}
	for _, note := range p.Notes() {
		o.Progress(note)
	}
	t := &private{place: p, host: HostFacts()}
	if has, _ := netns.ReadRunning("/").Has(netem); has == netns.Absent {
		t.lacks = append(t.lacks, netem.Name)
	}
	return t, nil
}

// refuseForNetns refuses what only a guest can honour.
func refuseForNetns(o Options) error {
	for _, x := range []struct {
		flag, what string
		given      bool
	}{
		{"--kernel", "measures the running kernel", o.Kernel != ""},
		{"--modules", "measures the running kernel with its own modules", o.ModulesDir != ""},
		{"--module", "measures the running kernel with its own modules", len(o.Modules) > 0},
		{"--qemu", "starts no QEMU", o.QEMU != ""},
		{"--pcap", "records no frames", o.Pcap != ""},
	} {
		if x.given {
			return &UsageError{Err: fmt.Errorf("--testbed netns %s, so %s can't be honoured: leave it out, or use --testbed vm", x.what, x.flag)}
		}
	}
	return nil
}

// classifyNetns sorts the errors of netns.
func classifyNetns(err error) error {
	var none *netns.NoBondingError
	var noVLAN *netns.NoVLANError
	var ours *netns.PanicError
	var unusable *netns.UnusableError
	switch {
	case errors.As(err, &unusable):
		return unusable
	case errors.As(err, &none) && none.Presence == netns.Absent:
		return &KernelError{Reason: none.Error(), Err: err}
	case errors.As(err, &noVLAN) && noVLAN.Presence == netns.Absent:
		return &KernelError{Reason: noVLAN.Error(), Err: err}
	case errors.As(err, &ours):
		return &exitcode.Error{Code: exitcode.Panicked, Err: err}
	}
	return err
}

func (t *private) Guest() *result.Guest { return nil }
func (t *private) Host() result.Host    { return t.host }

// Complaints are none: the kernel's log is everybody's, and root's to read.
func (t *private) Complaints() []string { return nil }

func (t *private) Slaves() []string  { return t.place.Slaves() }
func (t *private) Partner() []string { return t.place.Partner() }

func (t *private) Lacks(module string) bool { return slices.Contains(t.lacks, module) }

func (t *private) CatchUp(sc scenarios.Scenario) time.Duration { return measure.CatchUp(sc) }

// Probe builds the job's topology on lines that stand still.
func (t *private) Probe(ctx context.Context, job measure.Job) (probe measure.Probe, err error) {
	err = within(ctx, patience(job), measure.KindProbe, func(ctx context.Context) (err error) {
		probe, err = t.place.Probe(ctx, job)
		return classifyNetns(err)
	})
	return probe, err
}

// Measure measures on lines made by tbf; the receivers' counts are in the recording.
func (t *private) Measure(ctx context.Context, job measure.Job) (rec result.Recording, err error) {
	err = within(ctx, patience(job), measure.KindMeasure, func(ctx context.Context) (err error) {
		rec, err = t.place.Measure(ctx, job)
		return classifyNetns(err)
	})
	return rec, err
}

// Sample measures a workload in namespaces of its own.
func (t *private) Sample(ctx context.Context, job measure.Job) (sample result.Sample, err error) {
	err = within(ctx, patience(job), measure.KindSample, func(ctx context.Context) (err error) {
		sample, err = t.place.Sample(ctx, job)
		return classifyNetns(err)
	})
	return sample, err
}

func (t *private) Close() error { return t.place.Close() }
