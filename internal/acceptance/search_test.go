package acceptance

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"bondrepro/internal/vmtest"
	"bondrepro/reproducer/result"
)

// The line of TestInsideSearch, a tbf, in bits/s.
const line = 20e6

// TestSearch runs TestInsideSearch in a guest.
func TestSearch(t *testing.T) {
	need(t)
	netnsKernel{name: "stock"}.run(t, "^TestInsideSearch$")
}

// searches are `bondrepro search --max rate --until 'slaves.qdisc.dropped == 0'` over a line of tbf, with senders that nothing throttles.
// The queue is short, as it takes in what a run offers above the line's rate; tbf itself lets 100 ms pass after a pause, of which
// a batch of 256 packets is more at any rate.
var searches = []struct {
	name   string
	set    []string
	answer result.SearchAnswer
}{
	{"finds the line rate", []string{"traffic.duration=20s"}, result.SearchFound},
	{"loss at any rate", []string{"traffic.duration=2s", "traffic.batch=256"}, result.SearchFails},
}

// TestInsideSearch: the answer is the line's rate within 1 %, and where packets are lost at any rate that is what it says.
func TestInsideSearch(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("runs on a guest's kernel: TestSearch starts it there")
	}
	for _, c := range searches {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"search", "bond-multicast-tx", "--testbed", "netns", "--json", "--max", "rate", "--until", "slaves.qdisc.dropped == 0",
				"--from", "19mbit", "--to", "21mbit", "--resolution", "0.8"}
			for _, set := range append([]string{"orphan=netem", "topology.slaves.line_rate=20mbit", "topology.slaves.txqueuelen=20"}, c.set...) {
				args = append(args, "--set", set)
			}
			code, output := inGuest(t, nil, args...)
			var s result.Search
			if err := json.NewDecoder(strings.NewReader(output[strings.Index(output, "{"):])).Decode(&s); code != 0 || err != nil {
				t.Fatalf("%d, %v: %s", code, err, output)
			}
			t.Logf("%s: from %.3f to %.3f Mbit/s", s.Answer, s.Pass/1e6, s.Fail/1e6)
			if s.Answer != c.answer {
				t.Errorf("%s, want %s: %s", s.Answer, c.answer, output)
			}
			if middle := (s.Pass + s.Fail) / 2; s.Answer == result.SearchFound && math.Abs(middle/line-1) > 0.01 {
				t.Errorf("the line has %v Mbit/s: %s", line/1e6, output)
			}
		})
	}
}
