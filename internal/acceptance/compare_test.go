package acceptance

import (
	"encoding/json"
	"testing"

	"bondrepro/reproducer/result"
)

// comparison is a scenario that is measured without a verdict, in a guest.
type comparison struct {
	scenario string
	command  []string
	samples  int    // that it takes, each case and arm once; external tools are not in a guest
	metric   string // that every sample must have, above 0
}

var comparisons = []comparison{
	{"gro-batch", []string{"compare", "gro-batch"}, 6, "throughput"},
	{"loopback-tso", []string{"compare", "loopback-tso"}, 4, "throughput"},
	{"timestamp-ab", []string{"compare", "timestamp-ab"}, 2, "rate.achieved"},
	{"sndbuf-sweep", []string{"sweep", "sndbuf-sweep", "--over", "traffic.senders=1,16", "--set", "traffic.socket.sndbuf_force=1703936"}, 2, "rate.achieved"},
}

// TestComparisons: every scenario that is compared or swept is measured in a guest, once an arm.
func TestComparisons(t *testing.T) {
	need(t)
	for _, c := range comparisons {
		t.Run(c.scenario, func(t *testing.T) {
			args := append(c.command, "--testbed", "vm", "--kernel", kernelDeb, "-n", "1", "--warmup", "0", "--json",
				"--set", "traffic.duration=500ms", "--set", "traffic.warmup=100ms")
			in := once(t, 0, nil, args...)
			var got struct { // of a Comparison and of a Sweep
				Samples   []result.Sample
				Crossings []result.Crossing
			}
			if err := json.Unmarshal([]byte(in.stdout.String()), &got); err != nil {
				t.Fatal(err)
			}
			measured := 0
			for _, s := range got.Samples {
				if s.Failure != "" || s.Metrics[c.metric] > 0 {
					measured++
				}
				if s.Failure != "" && c.metric != "rate.achieved" { // a guard may fail on a busy machine
					t.Errorf("arm %s, case %q: %s", s.Arm, s.Case, s.Failure)
				}
			}
			if measured != c.samples {
				t.Errorf("%d samples with %s, want %d: %+v", measured, c.metric, c.samples, got.Samples)
			}
			if c.scenario == "sndbuf-sweep" && len(got.Crossings) == 0 {
				t.Error("nothing is said of where slaves begin to drop")
			}
		})
	}
}
