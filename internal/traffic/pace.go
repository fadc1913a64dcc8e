package traffic

import (
	"time"

	"bondrepro/scenarios"
)

// maxLag bounds how far behind its schedule a sender may be and still catch up.
const maxLag = 10 * time.Millisecond

// pacer is an absolute schedule: message m is due m periods after the start. The zero pacer sets no limit.
type pacer struct {
	period float64 // ns a message
	due    float64 // CLOCK_MONOTONIC, ns
}

// newPacer shares the rate evenly and staggers the senders, so that they do not all send at once.
// frame is the size of a packet in bytes of layer 2 without FCS, segments are packets a message (1 without GSO).
func newPacer(rate scenarios.Rate, frame, segments, senders, index int, start int64) pacer {
	pps := packetsPerSecond(rate, frame)
	if pps == 0 {
		return pacer{}
	}
	period := 1e9 * float64(segments) * float64(senders) / pps
	return pacer{period: period, due: float64(start) + period*float64(index)/float64(senders)}
}

func packetsPerSecond(rate scenarios.Rate, frame int) float64 {
	if rate.BitsPerSecond > 0 {
		return rate.BitsPerSecond / (8 * float64(frame))
	}
	return rate.PacketsPerSecond
}

// bytesPerSecond is the rate in layer-2 bytes, as fq counts for SO_MAX_PACING_RATE.
func bytesPerSecond(rate scenarios.Rate, frame int) uint64 {
	return uint64(packetsPerSecond(rate, frame) * float64(frame))
}

// next is when the next message is due, in ns of CLOCK_MONOTONIC; a time that has passed means now.
func (p *pacer) next(now int64) int64 {
	if p.period == 0 {
		return now
	}
	p.due = max(p.due, float64(now)-float64(maxLag))
	return int64(p.due)
}

// sent moves the schedule on by n messages.
func (p *pacer) sent(n int) { p.due += float64(n) * p.period }
