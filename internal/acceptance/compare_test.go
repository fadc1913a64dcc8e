package acceptance

import (
	"encoding/json"
	"fmt"
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
			if err := json.Unmarshal(in.stdout.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			measured := 0
			for _, s := range got.Samples {
				if s.Metrics[c.metric] > 0 {
					measured++
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

// TestKernelsCompared: two kernels of the distribution, booted in turns. What is counted is boots.
func TestKernelsCompared(t *testing.T) {
	need(t)
	kernels := distributionKernels(t)
	const boots = 2
	in := once(t, 0, nil, "compare", "gro-batch", "--arm", "old:kernel=deb:"+kernels[len(kernels)-2], "--arm", "new:kernel="+kernelDeb,
		"-n", "4", "--boots", fmt.Sprint(boots), "--warmup", "0", "--json", "--set", "traffic.duration=500ms", "--set", "traffic.warmup=100ms")
	var c result.Comparison
	if err := json.Unmarshal(in.stdout.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Arms) != 2 || c.Arms[0].Boots != boots || c.Arms[1].Boots != boots || c.Arms[0].Release() == c.Arms[1].Release() {
		t.Errorf("arms: %+v", c.Arms)
	}
	rows := map[string]bool{}
	for _, d := range c.Differences {
		rows[d.Case] = true
		if d.Counts != "boots" || d.BaseIs.N != boots || d.OtherIs.N != boots || d.BaseIs.Runs != 4 || d.OtherIs.Runs != 4 {
			t.Errorf("%s, %s: %d and %d %s of %d and %d runs, want %d boots of 4 runs", d.Metric, d.Case, d.BaseIs.N, d.OtherIs.N, d.Counts, d.BaseIs.Runs, d.OtherIs.Runs, boots)
		}
	}
	// The rows are the report's: each workload with GRO off and on.
	if want := 3 * 2; len(rows) != want {
		t.Errorf("rows %v, want %d", rows, want)
	}
}
