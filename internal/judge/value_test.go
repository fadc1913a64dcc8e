package judge

import (
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// TestValueText: each unit as it is read.
func TestValueText(t *testing.T) {
	for _, c := range []struct {
		metric string
		value  float64
		want   string
	}{
		{"failover.gap", 93.46191999999996, "93.5 ms"},
		{"blocked.share", 0.9358206108677446, "93.6 %"},
		{"failover.lost", 0.0004, "0.04 %"},
		{"failover.lost", 0, "0 %"},
		{"failover.back", 1, "100 %"},
		{"failover.back", 0.9998, "99.98 %"},
		{"rate.achieved", 135e6, "135 Mbit/s"},
		{"outq.max", 219648, "219648"},
		{"offered", 1234567890, "1234567890"},
		{"uncharged.median", -0.5, "-0.5"},
		{"in_flight.median", 25.9124999999999, "25.9125"},
		{"orphaned", 1, "true"},
		{"drain.quiet", 0, "false"},
	} {
		if got := valueText(c.metric, c.value); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.metric, c.value, got, c.want)
		}
	}
}

// TestPreflightTextQueues: the evidence says what the sum is held against where a slave has several TX queues.
func TestPreflightTextQueues(t *testing.T) {
	pf := result.Preflight{Truesize: 8448, Senders: 1}
	for queues, want := range map[int]bool{0: false, 1: false, 4: true} {
		if got := preflightText(pf, queues); strings.HasSuffix(got, " of one TX queue of 4") != want {
			t.Errorf("%d queues: %s", queues, got)
		}
	}
}
