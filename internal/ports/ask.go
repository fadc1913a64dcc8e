package ports

import "bondrepro/scenarios"

// Bytes of a frame before its UDP payload.
const (
	ethernetHeader = 14
	vlanTag        = 4
	ipv4Header     = 20
	ipv6Header     = 40
	udpHeader      = 8
)

// AskOf is what a scenario wants of the port that becomes its slave of that number, from 0.
func AskOf(s scenarios.Scenario, slave int) Ask {
	a := Ask{
		MTU: s.Topology.MTU, Queues: s.Topology.Slaves.Queues,
		LineRate:   s.Topology.Slaves.LineRate.Of(slave),
		FrameBytes: ethernetHeader + ipv4Header + udpHeader + s.Traffic.Payload,
	}
	if s.Traffic.IPv6() {
		a.FrameBytes += ipv6Header - ipv4Header
	}
	if s.Topology.VLAN != 0 {
		a.FrameBytes += vlanTag
	}
	return a
}
