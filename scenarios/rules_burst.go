package scenarios

import "time"

// leastPolls is how many polls a burst's period must have: two in its second half, where a queue that stands still is
// told from one that drains (the metric slaves.qdisc.stuck).
const leastPolls = 4

// burstRules are about senders that stop and start again.
var burstRules = []rule{
	func(s *Scenario) *problem {
		switch b := s.Traffic.Burst; {
		case b.Packets == 0:
		case !s.Traffic.Rate.Unpaced():
			return bad("traffic.burst.packets", "goes with traffic.rate unpaced only; a burst is not paced").also("traffic.rate")
		case b.Every > s.Traffic.Duration:
			return bad("traffic.burst.every", "%s is longer than traffic.duration %s", b.Every, s.Traffic.Duration).also("traffic.duration")
		case b.Every < leastPolls*s.Sampling.Interval:
			return bad("traffic.burst.every", "%s is too short for sampling.interval %s: a queue is seen to be stuck between two bursts only; write at least %s",
				b.Every, s.Sampling.Interval, leastPolls*s.Sampling.Interval).also("sampling.interval")
		}
		return nil
	},
	func(s *Scenario) *problem {
		n, gso := s.Traffic.Burst.Packets, int(s.Traffic.Socket.GSO)
		if gso > 1 && n%gso != 0 {
			return bad("traffic.burst.packets", "%d is no multiple of traffic.socket.gso %d, the packets that one send makes", n, gso).also("traffic.socket.gso")
		}
		return nil
	},
	func(s *Scenario) *problem {
		b := s.Traffic.Burst
		if took := s.burstTime(); b.Packets > 0 && took > b.Every.D() {
			return bad("traffic.burst.packets", "%d packets of each sender take the line at least %s, longer than traffic.burst.every %s; the senders would never stop",
				b.Packets, took.Round(time.Microsecond), b.Every).also("traffic.burst.every", "traffic.payload", "traffic.senders", "topology.slaves.line_rate")
		}
		return nil
	},
}

// burstTime is how long all lines together have at least with one burst; 0 where their rates are not known yet.
func (s *Scenario) burstTime() time.Duration {
	var rate float64
	for i := range s.Topology.Slaves.Count {
		rate += s.Topology.Slaves.LineRate.Of(i)
	}
	if rate == 0 {
		return 0
	}
	frame := s.Traffic.Payload + s.Traffic.headers() + etherBytes
	packets := s.Traffic.Burst.Packets * max(1, int(s.Traffic.Senders))
	return time.Duration(float64(packets) * float64(frame) * 8 / rate * float64(time.Second))
}
