package judge

import (
	"slices"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// accepts tells whether a scenario provokes a diagnosis on purpose, so that it does not make a run BAD.
func accepts(sc scenarios.Scenario, code string) bool { return slices.Contains(sc.Accept, code) }

// acceptsDrops tells whether a scenario provokes drops: then drops alone show nothing.
func acceptsDrops(sc scenarios.Scenario) bool {
	return accepts(sc, result.SndbufExceedsQueue) || accepts(sc, result.BroadcastClones)
}

// standard are the expectations that are about throttling and nothing else: bond-multicast-tx's.
var standard = []string{"slaves.qdisc.dropped == 0", "orphaned == false"}

// aboutThrottling tells whether GOOD means that the socket throttled the sender, and no more.
func aboutThrottling(sc scenarios.Scenario) bool {
	return len(sc.Accept) == 0 && !slices.ContainsFunc(sc.Expect, func(x string) bool { return !slices.Contains(standard, x) })
}

// held lists the expectations that hold.
func held(es []result.Expectation) (out []string) {
	for _, e := range es {
		if e.Evaluated && e.OK {
			out = append(out, e.Expr)
		}
	}
	return out
}
