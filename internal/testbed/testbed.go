// Package testbed makes the place a scenario runs in, and measures there. That is a
// guest in QEMU (vm), private namespaces on the running kernel (netns), or real ports of this machine (host).
package testbed

import (
	"context"
	"slices"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Testbed is a place that is up. Not for concurrent use. Whoever opened it closes it.
type Testbed interface {
	// Guest is what booted; nil where nothing was booted.
	Guest() *result.Guest
	// Host is the machine below.
	Host() result.Host
	// Complaints are the lines with which the kernel under test reported faults of its own (BUG, WARNING).
	Complaints() []string
	// Slaves are the MAC addresses of the slaves a job may name.
	Slaves() []string
	// Partner are those of the second bond, in the order of the slaves they are cabled to; none without Options.Partner.
	Partner() []string
	// Lacks tells whether the kernel is known to lack a module that a scenario can do without (netem).
	Lacks(module string) bool
	// CatchUp is what a line passes at once after a pause, in time at its rate; 0 of a real one.
	CatchUp(sc scenarios.Scenario) time.Duration
	// Probe builds the job's topology on stopped lines. Errors are *measure.Fault or of the testbed.
	Probe(ctx context.Context, job measure.Job) (measure.Probe, error)
	// Measure runs the job with the lines at job.LineRate (none: as fast as they go), from quiet to quiet at
	// both ends. Errors are *measure.Fault or of the testbed.
	Measure(ctx context.Context, job measure.Job) (result.Recording, error)
	// Sample measures a workload that goes over no bond, in network namespaces of the sample's own. Errors are
	// *measure.Fault, *UsageError where the place can't, or of the testbed.
	Sample(ctx context.Context, job measure.Job) (result.Sample, error)
	Close() error
}

// Options say which place to make.
type Options struct {
	Kernel     string            // --kernel
	ModulesDir string            // --modules
	Modules    map[string]string // --module NAME=FILE
	QEMU       string            // program; empty: qemu-system-x86_64 from $PATH
	Pcap       string            // file for every frame at the wire; empty: none
	Kinds      []string          // topology.kind of the arms; none stands for bond
	NICs       int               // slaves; of kind joined two
	Queues     int               // TX queues of each; 0 stands for 1
	IPv6       bool              // an arm sends IPv6
	VLAN       bool              // an arm has a VLAN on its bond
	Partner    bool              // a second bond is cabled to the slaves: 802.3ad
	LinkSpeed  int               // Mbit/s that the NICs claim; 0: none, which 802.3ad does not take
	Qdiscs     []string          // of the slaves, so that their modules are there
	Host       HostOptions
	Progress   func(text string) // what is being done; never nil
}

// bonds tells whether an arm needs a bond.
func (o Options) bonds() bool { return len(o.Kinds) == 0 || o.has(scenarios.KindBond) }

// has tells whether an arm is of the kind.
func (o Options) has(kind string) bool { return slices.Contains(o.Kinds, kind) }
