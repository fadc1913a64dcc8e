package workload

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Outcome is what was measured. Figures that a workload does not have are zero, and absent from Metrics.
type Outcome struct {
	Kind Kind   `json:"kind,omitempty"`
	Tool string `json:"tool,omitempty"` // an external tool; "": ours
	// Seconds is the time that was measured, after the warm-up, by the clock; all counts are from it but where they say so.
	Seconds float64 `json:"seconds"`
	// Bytes is the payload that arrived: stream and udp at the server, rr and mixed at both ends.
	Bytes uint64 `json:"bytes"`
	// Throughput is Bytes in bits a second.
	Throughput float64 `json:"throughput"`
	// Connections is how many there were, Idle on how many of them nothing arrived.
	Connections int `json:"connections,omitempty"`
	Idle        int `json:"idle,omitempty"`
	// Transactions is how many ended, of all connections.
	Transactions uint64 `json:"transactions,omitempty"`
	// Latency is of the round trips of transactions that ended; nil for stream and udp.
	Latency *Latency `json:"latency,omitempty"`
	// Datagrams is what was sent and what of it did not arrive, nil but for udp and rr over UDP.
	Datagrams *Datagrams `json:"datagrams,omitempty"`
	// Client and Server are the CPU time of each side; nil for external tools that do not tell.
	Client *CPU `json:"client_cpu,omitempty"`
	Server *CPU `json:"server_cpu,omitempty"`
	// Machine is the CPU time of all that ran meanwhile, whoever's.
	Machine *Shared `json:"machine_cpu,omitempty"`
}

// Latency is in µs.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	// OneWay is 0.5/tps of a connection: 0.5 · Connections · Seconds / Transactions. With N netperf TCP_RR instances that is
	// 0.5 over the mean of their tps. As each connection has one transaction under way at any time, it is half of the mean
	// round trip (Little's law), with what passes between two transactions. The mean of each instance's 0.5/tps is another
	// figure: greater where the connections differ, and infinite with one that is idle.
	OneWay float64 `json:"oneway"`
}

// Datagrams are counted from the first datagram to the last, the warm-up among them: from quiet to quiet.
type Datagrams struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Refused  uint64 `json:"refused,omitempty"` // ENOBUFS; of those sent
	Lost     uint64 `json:"lost"`              // sent less received; requests without a response in time
	// Offered is the payload that was sent while it was measured, bits a second.
	Offered float64 `json:"offered,omitempty"`
}

// CPU is the CPU time of one side in seconds.
type CPU struct {
	// User and System are of the side's threads (getrusage(2), RUSAGE_THREAD). Their sum is exact; how it is split is the
	// kernel's estimate from its ticks. Without CONFIG_IRQ_TIME_ACCOUNTING it includes interrupts that hit the threads.
	User   float64 `json:"user"`
	System float64 `json:"system"`
	// Shared is of the side's CPUs, when each side is pinned to CPUs of its own; else nil, and the machine's tells.
	Shared *Shared `json:"cpus,omitempty"`
}

// Shared is CPU time in seconds of all that ran on some CPUs (/proc/stat: in steps of 10 ms).
type Shared struct {
	SoftIRQ float64 `json:"softirq"`
	IRQ     float64 `json:"irq"`
	Steal   float64 `json:"steal"` // what the hypervisor gave to others
	Busy    float64 `json:"busy"`  // user, system, irq and softirq
}

func shared(t cpuTimes) *Shared {
	return &Shared{SoftIRQ: t.SoftIRQ, IRQ: t.IRQ, Steal: t.Steal, Busy: t.busy()}
}

// latency merges the histograms of the connections.
func latency(hs []*hdrhistogram.Histogram, connections int, seconds float64, transactions uint64) *Latency {
	sum := newHistogram()
	for _, h := range hs {
		sum.Merge(h)
	}
	at := func(percentile float64) float64 { return micros(float64(sum.ValueAtPercentile(percentile))) }
	return &Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: micros(float64(sum.Max())), Mean: micros(sum.Mean()),
		OneWay: oneWay(connections, float64(transactions)/seconds)}
}

// oneWay is 0.5/tps of a connection in µs.
func oneWay(connections int, rate float64) float64 { return 0.5e6 * float64(connections) / rate }

func micros(ns float64) float64 { return ns / float64(time.Microsecond) }

// String is one line.
func (o Outcome) String() string {
	s := fmt.Sprintf("%.4g Gbit/s", o.Throughput/1e9)
	if o.Transactions > 0 {
		s += fmt.Sprintf(", %.0f transactions/s, one-way %.4g µs, p50 %.4g µs, p99 %.4g µs", float64(o.Transactions)/o.Seconds, o.Latency.OneWay, o.Latency.P50, o.Latency.P99)
	}
	if o.Datagrams != nil {
		s += fmt.Sprintf(", %d of %d lost", o.Datagrams.Lost, o.Datagrams.Sent)
	}
	return s
}
