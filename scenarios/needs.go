package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// need is what metrics take that not every scenario has.
type need struct {
	metrics []string
	lacks   func(*Scenario) string // why such a scenario can't have them; "" when it can
	fields  []string               // that it rests on
}

// settle is what a slave that was set up again is given before its share counts (settleMS of internal/judge).
const settle = Duration(500 * time.Millisecond)

// predicting are the modes that spread by xmit_hash_policy, and so the only ones of which a flow's slave can be told.
var predicting = []string{"balance-xor", "802.3ad"}

// needs tell which metrics a run of a scenario can never have (internal/judge leaves them out). The oracle for lost
// back-pressure is not among them: a condition that rests on it is left open where there is none.
var needs = []need{
	{namesOf(LoadMetrics), func(s *Scenario) string {
		return when(s.OnBond(), "it is of the workloads %s, and workload is %s", strings.Join(workloads[1:], ", "), s.Workload)
	}, []string{"workload"}},
	{namesOf(BondMetrics), func(s *Scenario) string {
		return when(!s.OnBond(), "it is of workload %s, and workload is %s", WorkloadMulticast, s.Workload)
	}, []string{"workload"}},
	{[]string{"transactions.rate", "latency.oneway", "latency.mean", "latency.p50", "latency.p90", "latency.p99", "latency.p99.9", "latency.max"}, func(s *Scenario) string {
		return when(s.does() == WorkloadStream || s.does() == WorkloadUDP, "there are no transactions in workload %s", s.Workload)
	}, []string{"workload"}},
	{[]string{"datagrams.lost"}, func(s *Scenario) string {
		return when(!s.datagrams(), "it needs datagrams: workload udp, or rr with load.protocol: udp")
	}, []string{"workload", "load.protocol"}},
	{namesOf(sideMetrics()), func(s *Scenario) string {
		return when(s.Workload == WorkloadExternal, "an external tool does not tell the CPU time of its sides")
	}, []string{"workload"}},
	{[]string{"failover.arp", "failover.igmp", "failover.lost", "failover.back"}, func(s *Scenario) string {
		return when(len(s.Faults) == 0, "there is no fault; add one such as faults: [{at: 1s, slave_down: 0}]")
	}, []string{"faults"}},
	{[]string{"failover.back"}, func(s *Scenario) string {
		return when(!s.setsUpAgain(), "it needs a slave_down, a later slave_up of the same slave, and more than %s after that, as in faults: [{at: 1s, slave_down: 0}, {at: 2s, slave_up: 0}]", settle)
	}, []string{"faults", "traffic.duration"}},
	{[]string{"failover.lost", "ledger.remainder"}, func(s *Scenario) string {
		return when(s.has("replace_qdisc"), "the counts of a qdisc that is replaced are gone, and there is a fault replace_qdisc")
	}, []string{"faults"}},
	{[]string{"slaves.qdisc.stuck"}, func(s *Scenario) string {
		return when(s.Traffic.Burst.Packets == 0, "it is about senders that stop; set traffic.burst.packets")
	}, []string{"traffic.burst.packets"}},
	{[]string{"slaves.qdisc.stuck", "flows.mispredicted", "ledger.remainder"}, func(s *Scenario) string {
		return when(s.has("slave_down"), "the slaves that can send are not the same all the time, as there is a fault slave_down")
	}, []string{"faults"}},
	{[]string{"wire.crossed", "failover.lost"}, func(s *Scenario) string {
		return when(s.Topology.Bond.Mode == "broadcast", "broadcast mode sends every packet more than once")
	}, []string{"topology.bond.mode"}},
	{[]string{"wire.lost", "failover.lost", "ledger.remainder"}, func(s *Scenario) string {
		return when(s.Traffic.Socket.GSO > 0, "with traffic.socket.gso one send becomes many packets, which nobody counts one by one")
	}, []string{"traffic.socket.gso"}},
	{[]string{"flows.mispredicted"}, func(s *Scenario) string {
		mode := s.Topology.Bond.Mode
		return when(!slices.Contains(predicting, mode), "mode %s does not spread by xmit_hash_policy; balance-xor and 802.3ad do", mode)
	}, []string{"topology.bond.mode"}},
	{[]string{"flows.mispredicted"}, func(s *Scenario) string {
		p := s.Topology.Bond.XmitHashPolicy
		return when(p != nil && *p == "encap3+4", "what encap3+4 gives can't be told from outside the kernel; set another topology.bond.xmit_hash_policy")
	}, []string{"topology.bond.xmit_hash_policy"}},
}

// when is the text where it applies, else "".
func when(applies bool, format string, args ...any) string {
	if !applies {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// has tells whether the scenario has a fault with that action.
func (s *Scenario) has(action string) bool {
	for _, f := range s.Faults {
		for _, a := range f.actions() {
			if a.name == action && a.slave != nil {
				return true
			}
		}
	}
	return false
}

// setsUpAgain tells whether a slave is set down, up again later, and given time to carry something.
func (s *Scenario) setsUpAgain() bool {
	for _, down := range s.Faults {
		for _, up := range s.Faults {
			if down.SlaveDown != nil && up.SlaveUp != nil && *down.SlaveDown == *up.SlaveUp &&
				up.At > down.At && up.At+settle < s.Traffic.Duration {
				return true
			}
		}
	}
	return false
}

// Lacks says why no run of the scenario can have a metric, in a clause; "" when one may.
func (s *Scenario) Lacks(metric string) string {
	if n := s.never(metric); n != nil {
		return n.lacks(s)
	}
	return ""
}

// datagrams tells whether a workload goes over UDP.
func (s *Scenario) datagrams() bool {
	return s.does() == WorkloadUDP || s.does() == WorkloadRR && s.Load.Protocol == "udp"
}

// sideMetrics are the CPU times of one side.
func sideMetrics() []Metric {
	return slices.DeleteFunc(slices.Clone(LoadMetrics), func(m Metric) bool {
		return !strings.HasPrefix(m.Name, "cpu.client.") && !strings.HasPrefix(m.Name, "cpu.server.")
	})
}

// namesOf are the names of metrics.
func namesOf(metrics []Metric) []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.Name
	}
	return names
}

// never is the need that keeps a metric from being there, or nil.
func (s *Scenario) never(metric string) *need {
	for i := range needs {
		if n := &needs[i]; slices.Contains(n.metrics, metric) && n.lacks(s) != "" {
			return n
		}
	}
	return nil
}

// expectRule refuses an expectation that no run of the test arm could meet for want of a metric. It is none of rules: a
// control arm keeps the expectations, and may take away what they rest on.
func expectRule(s *Scenario) *problem {
	for i, text := range s.Expect {
		e, err := ParseExpr(text)
		if err != nil {
			return nil // another rule says so
		}
		c := e.unmet(func(metric string) bool { return s.never(metric) == nil })
		if c == nil {
			continue
		}
		n := s.never(c.metric)
		p := bad(fmt.Sprintf("expect.%d", i), "%s can never be evaluated here: %s (or take the condition out of expect)", c.metric, n.lacks(s)).also(n.fields...)
		p.offset = c.at
		return p
	}
	return nil
}
