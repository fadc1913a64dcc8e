package acceptance

import (
	"testing"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// preset is a scenario that comes with the program, and the fault that it is there to find.
type preset struct {
	scenario string
	mutant   string // of tools/mutants
	code     string // of the finding that decides on the mutant
	says     string // what the command writes of it
	good     check  // on the stock kernel
}

var presets = []preset{
	{"bond-multicast-tx-8", "orphan", "back-pressure-lost", `(?i)back-pressure (is )?lost`, all(noDrops, charged, balanced, controlDrops)},
	{"bond-broadcast", "orphan", "drops-unpredicted", `BAD \(kernel\)`, noDrops},
	{"bond-hash-spread", "hash-one", "expectation-failed", `slaves\.used`, noDrops},
	{"bond-failover", "mute", "expectation-failed", `failover\.arp`, heard(result.EventLinkDown, result.EventLinkUp)},
	{"bond-stuck-queue", "stuck", "stuck-queue", `(?i)stuck`, nil},
	{"bond-return-code", "return-ok", "expectation-failed", `drops\.untold`, drops},
	{"bond-reorder", "reorder", "expectation-failed", `wire\.crossed`, noDrops},
	{"bond-queue-mapping", "one-queue", "expectation-failed", `slaves\.queues\.used`, noDrops},
}

// TestPresets: every scenario that comes with the program is GOOD on the stock kernel and BAD on its mutant.
func TestPresets(t *testing.T) {
	need(t)
	for _, p := range presets {
		for _, c := range []kernelCase{
			{name: p.scenario + ", stock", scenario: p.scenario, exit: 0, verdict: result.Good, says: `GOOD: `, check: p.good},
			{name: p.scenario + ", " + p.mutant, scenario: p.scenario, mutant: p.mutant, exit: 1, verdict: result.Bad, cause: kernel, code: p.code, says: p.says},
		} {
			t.Run(c.name, func(t *testing.T) {
				wall := c.run(t)
				if err := report.add(c.name, c.want(), wall, !t.Failed()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// A scenario that nothing here runs, on good and bad kernels where it has a verdict, is no preset.
func TestEveryPresetIsTested(t *testing.T) {
	tested := map[string]bool{"bond-multicast-tx": true} // TestKernels
	for _, p := range presets {
		tested[p.scenario] = true
	}
	for _, c := range comparisons {
		tested[c.scenario] = true
	}
	for _, name := range scenarios.Names() {
		if !tested[name] {
			t.Errorf("no case runs %s", name)
		}
	}
}
