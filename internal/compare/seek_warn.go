package compare

import (
	"fmt"
	"time"

	"bondrepro/reproducer/result"
)

// short is the share of a rate that the senders must have offered.
const short = 0.98

// offered is the metric that tells what the senders offered, in bit/s.
const offered = "rate.offered"

// starved tells whether a run offered less than the rate that it was to try: that nothing was lost then says little. A machine that was
// busy meanwhile offers it the next time; a socket that is throttled never does, which is warned of.
func (s *Seeker) starved(sample result.Sample, v float64) bool {
	got, ok := s.offer(sample)
	return ok && got < short*v
}

// offer is what a run's senders offered, where that is what is looked for.
func (s *Seeker) offer(sample result.Sample) (bitsPerSecond float64, ok bool) {
	bitsPerSecond, ok = sample.Metrics[offered]
	return bitsPerSecond, ok && s.quantity.path == ratePath && s.quantity.unit == "bit/s"
}

// warn says what the answer's reader should know: values at which runs contradict each other, and a rate that was never offered.
func (s *Seeker) warn() {
	for _, t := range s.report.Trials {
		if t.Mixed() {
			s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "mixed",
				Text: fmt.Sprintf("At %s the condition held in %d of %s.", s.quantity.say(t.Value), t.Held, result.Plural(t.Runs, "run"))})
		}
		if t.Holds && s.report.Answer == result.SearchFound && t.Value > s.report.Fail {
			s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "not-monotonic",
				Text: fmt.Sprintf("It held at %s, though it failed below that.", s.quantity.say(t.Value))})
		}
	}
	most, seen := 0.0, false
	for _, x := range s.report.Samples {
		if v, ok := s.offer(x); ok && x.Arm == s.quantity.text(s.report.Pass) {
			most, seen = max(most, v), true
		}
	}
	if seen && most < short*s.report.Pass {
		s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "not-offered",
			Text: fmt.Sprintf("At %s the senders offered %s only: what a higher rate would do is not known.", s.quantity.say(s.report.Pass), result.BitRate(most))})
	}
}

// headers are those of a UDP datagram in an Ethernet frame, bytes.
const headers = 14 + 20 + 8

// warnOfQueue says what a run is too short to see: queue and ring take in what comes above the line's rate until they are full, and the line
// makes up for the time before the first packet.
func (s *Seeker) warnOfQueue() {
	sc, lines := s.report.Scenario, s.report.LineRate
	seconds := time.Duration(sc.Traffic.Duration).Seconds()
	if s.quantity.path != ratePath || len(lines) == 0 || lines[0] == 0 || seconds == 0 || s.report.Answer == result.SearchFails {
		return
	}
	room := s.place.Preflight(sc).Room()
	hidden := float64(room*(sc.Traffic.Payload+headers)*8)/(lines[0]*seconds) + s.place.CatchUp(sc).Seconds()/seconds
	if hidden > s.report.Resolution {
		s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "short-runs",
			Text: fmt.Sprintf("A run of %v may hide a rate of up to %.1f %% above the line's: queue and ring hold %s before one is dropped, and a line makes up for a pause. A longer traffic.duration or a shorter topology.slaves.txqueuelen hides less.",
				sc.Traffic.Duration, 100*hidden, result.Plural(room, "packet"))})
	}
}
