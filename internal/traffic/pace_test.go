package traffic

import (
	"testing"

	"bondrepro/scenarios"
)

func TestPacer(t *testing.T) {
	const start = 1e9
	// 1000 packets of 1000 bytes a second, said in both ways.
	for name, rate := range map[string]scenarios.Rate{
		"packets": {PacketsPerSecond: 1000},
		"bits":    {BitsPerSecond: 8e6},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := newPacer(rate, 1000, 1, 2, 0, start), newPacer(rate, 1000, 1, 2, 1, start)
			if a, b := first.next(0), second.next(0); a != start || b != start+1e6 {
				t.Errorf("two senders begin at %d and %d, want %d and 1 ms later", a, b, int64(start))
			}
			first.sent(5) // a batch
			if got := first.next(start); got != start+10e6 {
				t.Errorf("after 5 messages of 500 a second the next is due at +%d ns, want +10 ms", got-start)
			}
		})
	}
}

func TestPacerCatchesUpBounded(t *testing.T) {
	p := newPacer(scenarios.Rate{PacketsPerSecond: 1000}, 1000, 1, 1, 0, 0)
	now := int64(5e9) // 5 s late
	sent := 0
	for p.next(now) <= now {
		p.sent(1)
		sent++
	}
	if want := int(maxLag.Milliseconds()) + 1; sent != want {
		t.Errorf("%d messages at once after a long stall, want %d", sent, want)
	}
}

func TestGSOIsPacedByPackets(t *testing.T) {
	p := newPacer(scenarios.Rate{PacketsPerSecond: 1000}, 1000, 10, 1, 0, 0)
	p.sent(1)
	if got := p.next(0); got != 10e6 {
		t.Errorf("after a send of 10 segments the next is due at %d ns, want 10 ms", got)
	}
}

func TestUnpacedIsAlwaysDue(t *testing.T) {
	p := newPacer(scenarios.Rate{}, 1000, 1, 1, 0, 1e9)
	p.sent(1000)
	if got := p.next(7); got != 7 {
		t.Errorf("due at %d, want now", got)
	}
}
