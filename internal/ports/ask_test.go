package ports

import (
	"testing"

	"bondrepro/scenarios"
)

func TestAskOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *scenarios.Scenario)
		slave  int
		want   Ask
	}{
		{"as it comes", func(*scenarios.Scenario) {}, 1, Ask{FrameBytes: 4042, MTU: 9000, Queues: 1}},
		{"VLAN", func(s *scenarios.Scenario) { s.Topology.VLAN = 5 }, 0, Ask{FrameBytes: 4046, MTU: 9000, Queues: 1}},
		{"IPv6", func(s *scenarios.Scenario) { s.Traffic.Groups = scenarios.Groups{"ff15::1"} }, 0, Ask{FrameBytes: 4062, MTU: 9000, Queues: 1}},
		{"a line rate each", func(s *scenarios.Scenario) {
			s.Topology.Slaves.LineRate = scenarios.LineRates{BitsPerSecond: []float64{1e9, 10e9}}
		}, 1, Ask{FrameBytes: 4042, MTU: 9000, Queues: 1, LineRate: 10e9}},
		{"queues", func(s *scenarios.Scenario) { s.Topology.Slaves.Queues, s.Topology.MTU = 8, 5000 }, 0, Ask{FrameBytes: 4042, MTU: 5000, Queues: 8}},
	} {
		s := scenarios.Default()
		c.change(&s)
		if got := AskOf(s, c.slave); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
