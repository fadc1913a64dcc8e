package result_test

import (
	"testing"
	"time"

	"bondrepro/reproducer/result"
)

// A driver that is not known is waited for longer than those whose device writes its counters once a second.
func TestCounterLag(t *testing.T) {
	for driver, atLeast := range map[string]time.Duration{"bnxt_en": time.Second, "never-heard-of": time.Second, "e1000": 2 * time.Second} {
		if got := result.CounterLag(driver); got <= atLeast || got > 5*time.Second {
			t.Errorf("%s: %v", driver, got)
		}
	}
	if got := result.CounterLag("veth"); got != 0 {
		t.Errorf("veth counts at once, and is waited for %v", got)
	}
}

func TestCountsCompletions(t *testing.T) {
	for driver, want := range map[string]bool{"virtio_net": true, "veth": true, "mlx5_core": false, "": false} {
		if got := result.CountsCompletions(driver); got != want {
			t.Errorf("%q: %v", driver, got)
		}
	}
}
