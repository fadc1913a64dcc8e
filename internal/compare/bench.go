package compare

import (
	"context"
	"time"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Bench opens places to measure in.
type Bench interface {
	// Open brings up a place that can measure the arm and every other arm of the same Place. The caller closes it, also where
	// there is an error with it. A *reproducer.KernelError says that the kernel failed, which is a finding.
	Open(ctx context.Context, arm Arm) (Place, error)
}

// Place is one boot, for any number of samples. Not for concurrent use.
type Place interface {
	// Sample measures once. Arm, Metrics, Failure and TookS of the answer are used; the rest is the caller's.
	Sample(ctx context.Context, arm string, sc scenarios.Scenario) (result.Sample, error)
	// Preflight is the sum for a scenario, with what was measured here; Sum is 0 where the workload has none.
	Preflight(sc scenarios.Scenario) result.Preflight
	// CatchUp is what a bond's line passes at once after a pause, in time at its rate; 0 of a real one.
	CatchUp(sc scenarios.Scenario) time.Duration
	Facts() Facts
	Close() error
}

// Facts are what a place is.
type Facts struct {
	Testbed  string // netns, vm, host
	Host     result.Host
	Guest    *result.Guest // nil where nothing was booted
	LineRate []float64     // bits/s, one a slave; empty where there is none
}
