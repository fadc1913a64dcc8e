package workload

// Better is the direction in which a figure improves.
type Better string

// The directions.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Metric is one figure of an Outcome.
type Metric struct {
	Name   string
	Unit   string // bit/s, 1/s, µs, s, s/byte, datagrams, connections
	Better Better
	Doc    string // one sentence

	of func(Outcome) (float64, bool) // false: this Outcome does not have it
}

// Metrics is the table of the figures of workloads.
var Metrics = []Metric{
	{"throughput", "bit/s", Higher, "Payload that arrived: stream and udp count it at the server, rr, mixed and tbench in both directions.",
		func(o Outcome) (float64, bool) { return o.Throughput, o.Throughput > 0 }},
	{"transactions.rate", "1/s", Higher, "Transactions that ended, of all connections together.",
		func(o Outcome) (float64, bool) { return float64(o.Transactions) / o.Seconds, o.Transactions > 0 }},
	{"latency.oneway", "µs", Lower, "0.5/tps of a connection: 0.5 · connections / transactions.rate.", ofLatency(func(l Latency) float64 { return l.OneWay })},
	{"latency.mean", "µs", Lower, "Mean of the round trips.", ofLatency(func(l Latency) float64 { return l.Mean })},
	{"latency.p50", "µs", Lower, "Half of the round trips took at most this.", ofLatency(func(l Latency) float64 { return l.P50 })},
	{"latency.p90", "µs", Lower, "90 % of the round trips took at most this.", ofLatency(func(l Latency) float64 { return l.P90 })},
	{"latency.p99", "µs", Lower, "99 % of the round trips took at most this.", ofLatency(func(l Latency) float64 { return l.P99 })},
	{"latency.p99.9", "µs", Lower, "99.9 % of the round trips took at most this.", ofLatency(func(l Latency) float64 { return l.P999 })},
	{"latency.max", "µs", Lower, "The longest round trip.", ofLatency(func(l Latency) float64 { return l.Max })},
	{"datagrams.lost", "datagrams", Lower, "Datagrams that were sent and did not arrive, or requests that were not answered in time, the warm-up among them.",
		func(o Outcome) (float64, bool) {
			if o.Datagrams == nil {
				return 0, false
			}
			return float64(o.Datagrams.Lost), true
		}},
	{"connections.idle", "connections", Lower, "Connections on which nothing arrived while it was measured.",
		func(o Outcome) (float64, bool) { return float64(o.Idle), o.Connections > 0 && o.Tool == "" }}, // a tool does not tell
	{"cpu.client.user", "s", Lower, "CPU time of the client's threads in user space.", ofCPU(client, func(c CPU) float64 { return c.User })},
	{"cpu.client.system", "s", Lower, "CPU time of the client's threads in the kernel.", ofCPU(client, func(c CPU) float64 { return c.System })},
	{"cpu.client.per_byte", "s/byte", Lower, "CPU time of the client's threads for each byte of payload.", perByte(client)},
	{"cpu.server.user", "s", Lower, "CPU time of the server's threads in user space.", ofCPU(server, func(c CPU) float64 { return c.User })},
	{"cpu.server.system", "s", Lower, "CPU time of the server's threads in the kernel.", ofCPU(server, func(c CPU) float64 { return c.System })},
	{"cpu.server.per_byte", "s/byte", Lower, "CPU time of the server's threads for each byte of payload.", perByte(server)},
	{"cpu.client.softirq", "s", Lower, "Time in soft interrupts on the client's CPUs, where each side has CPUs of its own.", ofShared(clientCPUs, softIRQ)},
	{"cpu.client.irq", "s", Lower, "Time in hard interrupts on the client's CPUs, where each side has CPUs of its own.", ofShared(clientCPUs, irq)},
	{"cpu.client.steal", "s", Lower, "Time that a hypervisor took from the client's CPUs, where each side has CPUs of its own.", ofShared(clientCPUs, steal)},
	{"cpu.client.busy_per_byte", "s/byte", Lower, "Time in which the client's CPUs were busy, with whatever, for each byte of payload, where each side has CPUs of its own.", busyPerByte(clientCPUs)},
	{"cpu.server.softirq", "s", Lower, "Time in soft interrupts on the server's CPUs, where each side has CPUs of its own.", ofShared(serverCPUs, softIRQ)},
	{"cpu.server.irq", "s", Lower, "Time in hard interrupts on the server's CPUs, where each side has CPUs of its own.", ofShared(serverCPUs, irq)},
	{"cpu.server.steal", "s", Lower, "Time that a hypervisor took from the server's CPUs, where each side has CPUs of its own.", ofShared(serverCPUs, steal)},
	{"cpu.server.busy_per_byte", "s/byte", Lower, "Time in which the server's CPUs were busy, with whatever, for each byte of payload, where each side has CPUs of its own.", busyPerByte(serverCPUs)},
	{"cpu.softirq", "s", Lower, "Time in soft interrupts on all of the machine's CPUs, whatever they were for.", ofShared(machine, softIRQ)},
	{"cpu.irq", "s", Lower, "Time in hard interrupts on all of the machine's CPUs, whatever they were for.", ofShared(machine, irq)},
	{"cpu.steal", "s", Lower, "Time that a hypervisor took from the machine's CPUs.", ofShared(machine, steal)},
	{"cpu.busy_per_byte", "s/byte", Lower, "Time in which the machine's CPUs were busy, with whatever, for each byte of payload.", busyPerByte(machine)},
}

// Metrics are the figures that the Outcome has, by their names in the table.
func (o Outcome) Metrics() map[string]float64 {
	figures := map[string]float64{}
	for _, m := range Metrics {
		if v, ok := m.of(o); ok {
			figures[m.Name] = v
		}
	}
	return figures
}

func ofLatency(f func(Latency) float64) func(Outcome) (float64, bool) {
	return func(o Outcome) (float64, bool) {
		if o.Latency == nil {
			return 0, false
		}
		v := f(*o.Latency)
		return v, v > 0 // an external tool does not tell all of them
	}
}

func client(o Outcome) *CPU { return o.Client }
func server(o Outcome) *CPU { return o.Server }

func ofCPU(side func(Outcome) *CPU, f func(CPU) float64) func(Outcome) (float64, bool) {
	return func(o Outcome) (float64, bool) {
		c := side(o)
		if c == nil {
			return 0, false
		}
		return f(*c), true
	}
}

func perByte(side func(Outcome) *CPU) func(Outcome) (float64, bool) {
	return func(o Outcome) (float64, bool) {
		c := side(o)
		if c == nil || o.Bytes == 0 {
			return 0, false
		}
		return (c.User + c.System) / float64(o.Bytes), true
	}
}

func machine(o Outcome) *Shared    { return o.Machine }
func clientCPUs(o Outcome) *Shared { return sharedOf(o.Client) }
func serverCPUs(o Outcome) *Shared { return sharedOf(o.Server) }

func sharedOf(c *CPU) *Shared {
	if c == nil {
		return nil
	}
	return c.Shared
}

func softIRQ(s Shared) float64 { return s.SoftIRQ }
func irq(s Shared) float64     { return s.IRQ }
func steal(s Shared) float64   { return s.Steal }

func ofShared(of func(Outcome) *Shared, f func(Shared) float64) func(Outcome) (float64, bool) {
	return func(o Outcome) (float64, bool) {
		s := of(o)
		if s == nil {
			return 0, false
		}
		return f(*s), true
	}
}

func busyPerByte(of func(Outcome) *Shared) func(Outcome) (float64, bool) {
	return func(o Outcome) (float64, bool) {
		s := of(o)
		if s == nil || o.Bytes == 0 {
			return 0, false
		}
		return s.Busy / float64(o.Bytes), true
	}
}
