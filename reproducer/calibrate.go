package reproducer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/internal/testbed"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

const (
	// overfill is how many times over the sender must be able to fill a line chosen by "auto".
	overfill         = 3
	capacityDuration = 1000 * time.Millisecond
	capacityWarmup   = 300 * time.Millisecond
	leastLineRate    = 1e6 // bits/s
	// capacityTries: a machine that was busy for a second gets another chance.
	capacityTries = 3
)

// settleLineRate makes the line rates, one a slave: the scenario's own, or a third of what the sender does
// on open lines.
func (s *Session) settleLineRate(ctx context.Context) error {
	sc := s.config.Scenario
	if real, ok := s.place.(testbed.Real); ok {
		s.config.LineRate, s.config.LineRateWhy = real.LineRates()
		return nil
	}
	rates := sc.Topology.Slaves.LineRate
	if !rates.Auto {
		s.config.LineRate = spread(rates.BitsPerSecond, sc.Topology.Slaves.Count)
		s.config.LineRateWhy = "as the scenario says"
		return nil
	}
	var capacity float64
	for try := 0; try < capacityTries && capacity < overfill*leastLineRate; try++ {
		s.options.Progress("measuring what the sender can do on open lines")
		rec, err := s.measure(ctx, "capacity", capacityScenario(sc), nil)
		if err != nil {
			return err
		}
		capacity = lineCapacity(rec)
	}
	s.config.SenderCapacity = capacity
	rate := math.Floor(capacity/overfill/1e6) * 1e6
	if rate < leastLineRate {
		return &KernelError{Reason: fmt.Sprintf("the sender brought only %s to an open line, too little to choose a line rate: give topology.slaves.line_rate", result.BitRate(capacity))}
	}
	s.config.LineRate = spread([]float64{rate}, sc.Topology.Slaves.Count)
	s.config.LineRateWhy = fmt.Sprintf("auto: a third of the %s the sender brings to an open line", result.BitRate(capacity))
	return nil
}

// settleSenders makes a number of "auto": as many senders as surely stay under the preflight sum, one at least: the queue
// alone holds what they have in flight (result.Preflight, Tight).
func (s *Session) settleSenders(sc scenarios.Scenario) scenarios.Scenario {
	if sc.Traffic.Senders != scenarios.AutoSenders {
		return sc
	}
	const most = 4096 // as scenarios allows
	sc.Traffic.Senders = 1
	pf := s.Preflight(sc)
	if pf.PerSender > 0 {
		sc.Traffic.Senders = scenarios.Senders(min(max(pf.TxQueueLen/pf.PerSender, 1), most))
	}
	return sc
}

// spread gives one rate a slave from a list of one for all, or one a slave.
func spread(rates []float64, slaves int) []float64 {
	if len(rates) == 1 {
		return slices.Repeat(rates, slaves)
	}
	return slices.Clone(rates)
}

// capacityScenario is the scenario's sender, unpaced and undisturbed, for a second.
func capacityScenario(sc scenarios.Scenario) scenarios.Scenario {
	sc.Traffic.Rate, sc.Traffic.Burst.Packets = scenarios.Rate{}, 0
	sc.Traffic.Duration = scenarios.Duration(capacityDuration)
	sc.Traffic.Warmup = scenarios.Duration(capacityWarmup)
	sc.Orphan = scenarios.OrphanNone
	sc.Faults = nil
	return sc
}

// lineCapacity is the mean rate, after the warm-up, over the lines that carried traffic, in bits/s.
func lineCapacity(rec result.Recording) float64 {
	if rec.Wire == nil {
		return 0
	}
	var sum float64
	var lines int
	for _, w := range rec.Wire.Slaves {
		if rate := windowRate(w); rate > 0 {
			sum += rate
			lines++
		}
	}
	if lines == 0 {
		return 0
	}
	return sum / float64(lines)
}

// windowRate is a line's rate between the capacity run's warm-up and its end.
func windowRate(w result.WireSlave) float64 {
	from, to := -1, -1
	for i, at := range w.AtMS {
		if from < 0 && at >= float64(capacityWarmup.Milliseconds()) {
			from = i
		}
		if at <= float64(capacityDuration.Milliseconds()) {
			to = i
		}
	}
	if from < 0 || to <= from {
		return 0
	}
	seconds := (w.AtMS[to] - w.AtMS[from]) / 1000
	return float64(w.CumBytes[to]-w.CumBytes[from]) * 8 / seconds
}

// charging is what a packet's charge rests on: its size, and how its buffer is made.
type charging struct {
	payload, mtu, vlan int
	ipv6, zerocopy     bool
	gso                scenarios.Size
}

func chargingOf(sc scenarios.Scenario) charging {
	t := sc.Traffic
	return charging{t.Payload, sc.Topology.MTU, sc.Topology.VLAN, t.IPv6(), bool(t.Socket.ZeroCopy), t.Socket.GSO}
}

// probe learns what one packet of the scenario is charged, before its preflight is printed. It does so once.
func (s *Session) probe(ctx context.Context, sc scenarios.Scenario) error {
	key := chargingOf(sc)
	if _, done := s.known[key]; done {
		return nil
	}
	s.options.Progress("measuring what a packet is charged to its socket")
	probe, err := s.place.Probe(ctx, s.job("probe", sc, nil))
	if err != nil {
		return fromPlace(err)
	}
	if s.known == nil {
		s.known = map[charging]measure.Probe{}
	}
	s.known[key] = probe
	return nil
}

// knownOf is what is known of the scenario's packets, else of those of the session's own.
func (s *Session) knownOf(sc scenarios.Scenario) measure.Probe {
	if probe, known := s.known[chargingOf(sc)]; known {
		return probe
	}
	return s.known[chargingOf(s.config.Scenario)]
}

// partner is the second bond of an arm in 802.3ad; an arm in another mode, such as a control, has none.
func (s *Session) partner(sc scenarios.Scenario) []string {
	if !isLACP(sc) {
		return nil
	}
	return s.place.Partner()
}

func (s *Session) job(arm string, sc scenarios.Scenario, rates []float64) measure.Job {
	s.runs++
	return measure.Job{
		Arm: arm, Run: s.firstRun + s.runs, Scenario: sc, LineRate: rates, Truesize: s.knownOf(sc).Truesize,
		Slaves: s.place.Slaves()[:sc.Topology.Slaves.Count], Partner: s.partner(sc),
	}
}
