package scenarios

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// presets are the scenarios that come with the program, in the order list shows them.
var presets = []string{
	"bond-broadcast", "bond-failover", "bond-hash-spread", "bond-multicast-tx", "bond-multicast-tx-8",
	"bond-queue-mapping", "bond-reorder", "bond-return-code", "bond-stuck-queue",
	"gro-batch", "loopback-tso", "sndbuf-sweep", "timestamp-ab",
}

// source is an abbreviated commit, as kernel people write it, or the report that a comparison is from.
var source = regexp.MustCompile(`\b[0-9a-f]{12}\b|netdev 20\d\d`)

// Each preset says where it comes from and what good and bad kernels show, and hides no field that matters.
func TestPresets(t *testing.T) {
	if got := Names(); !reflect.DeepEqual(got, presets) {
		t.Fatalf("names are %s", got)
	}
	for _, name := range presets {
		s, src, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		roundTrip(t, s)
		if s.Name != name || !source.MatchString(s.Summary) {
			t.Errorf("%s: its name is %s; its summary names no commit and no report: %s", name, s.Name, s.Summary)
		}
		for _, path := range paths("", reflect.TypeFor[Scenario]()) {
			if _, last := cutLast(path); !s.hides(path) && !strings.Contains(string(src), last+":") && !strings.HasPrefix(path, "topology.bond.") {
				t.Errorf("%s does not show %s", name, path)
			}
		}
		if s.judged() && len(s.Sweep) == 0 && name != "bond-multicast-tx" && (!strings.Contains(string(src), "\n# Good kernel: ") || !strings.Contains(string(src), "\n# Bad kernel: ")) {
			t.Errorf("%s does not say what good and bad kernels show", name)
		}
		if len(s.Expect)+len(s.Arms)+len(s.Sweep) == 0 {
			t.Errorf("%s expects, compares and sweeps nothing", name)
		}
		for at, line := range strings.Split(string(src), "\n") {
			if len(line) > 135 || strings.TrimRight(line, " ") != line {
				t.Errorf("%s.yaml:%d: too long a line, or blanks at its end", name, at+1)
			}
		}
	}
}

// A preset runs in well under a minute where everything is slow: its clean runs, its control and the calibration.
func TestPresetsAreShort(t *testing.T) {
	const boot, overhead, calibration, limit = 5 * time.Second, 1500 * time.Millisecond, time.Second, 45 * time.Second
	for _, name := range presets {
		s, _, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		arms := s.Runs.Needed()
		if len(s.Control) > 0 {
			arms++
		}
		took := boot + time.Duration(arms)*(s.Traffic.Duration.D()+overhead)
		if s.Topology.Slaves.LineRate.Auto {
			took += calibration + overhead
		}
		if took > limit {
			t.Errorf("%s takes about %s", name, took)
		}
	}
}
