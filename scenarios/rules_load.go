package scenarios

import (
	"net/netip"
	"time"
)

// maxCPUs is what a CPU's number is below: the most that sched_setaffinity(2) is asked for here (unix.CPUSet).
const maxCPUs = 1024

// loadRules are about the workloads that go over no bond.
var loadRules = []rule{
	func(s *Scenario) *problem {
		if most := loopbackMTU - 1; s.Topology.Kind != KindLoopback && s.Topology.MTU > most {
			return bad("topology.mtu", "%d bytes are more than topology.kind %s takes, %d", s.Topology.MTU, s.Topology.Kind, most).also("topology.kind")
		}
		return nil
	},
	func(s *Scenario) *problem {
		if s.Workload == WorkloadExternal && s.Load.Tool == "" {
			return bad("load.tool", "is missing: workload external needs one of tbench, iperf3, iperf, sockperf").also("workload")
		}
		return nil
	},
	func(s *Scenario) *problem {
		if s.Workload != WorkloadExternal {
			return nil
		}
		switch tr := s.Traffic; {
		case tr.Duration.D()%time.Second != 0:
			return bad("traffic.duration", "%s counts whole seconds; write a whole number of them, not %s", s.Load.Tool, tr.Duration).also("load.tool")
		case s.Load.Tool == "iperf3" && tr.Warmup.D()%time.Second != 0:
			return bad("traffic.warmup", "iperf3 counts whole seconds; write a whole number of them, not %s", tr.Warmup).also("load.tool")
		case s.Load.Tool != "iperf3" && tr.Warmup != 0:
			return bad("traffic.warmup", "%s has no warm-up of ours; write 0s, not %s", s.Load.Tool, tr.Warmup).also("load.tool")
		}
		return nil
	},
	func(s *Scenario) *problem {
		l := s.Load
		for _, m := range []struct {
			path  string
			bytes int
		}{{"load.request", l.Request}, {"load.response", l.Response}} {
			if l.Protocol == "udp" && m.bytes > maxMessage {
				return bad(m.path, "%d bytes are more than the %d of a datagram", m.bytes, maxMessage).also("load.protocol")
			}
		}
		return nil
	},
	func(s *Scenario) *problem {
		if s.Load.Group == "" {
			return nil
		}
		if a, err := netip.ParseAddr(s.Load.Group); err != nil || !a.Is4() || !a.IsMulticast() {
			return bad("load.group", "%q is not an IPv4 multicast address, such as 239.66.1.1", s.Load.Group)
		}
		return nil
	},
	func(s *Scenario) *problem {
		for _, side := range []struct {
			path string
			cpus []int
		}{{"load.client_cpus", s.Load.ClientCPUs}, {"load.server_cpus", s.Load.ServerCPUs}} {
			for _, cpu := range side.cpus {
				if cpu < 0 || cpu >= maxCPUs {
					return bad(side.path, "%d is no number of a CPU", cpu)
				}
			}
		}
		return nil
	},
}
