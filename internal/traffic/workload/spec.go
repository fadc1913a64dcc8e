package workload

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"bondrepro/scenarios"
)

// Kind is what a workload does.
type Kind string

// The kinds.
const (
	Stream Kind = "stream" // TCP, one way, from the client to the server
	RR     Kind = "rr"     // request and response, one at a time on each connection
	Mixed  Kind = "mixed"  // the many small and few large transfers of a file-serving load (see Mix)
	UDP    Kind = "udp"    // datagrams, one way, unicast or multicast
)

// Protocol is what rr goes over.
type Protocol string

// The protocols.
const (
	OverTCP Protocol = "tcp"
	OverUDP Protocol = "udp"
)

// Limits of a Spec's numbers.
const (
	maxConnections = 1024
	maxBytes       = 16 << 20 // of one write, request or response
	maxDatagram    = 65507    // bytes of payload in an IPv4 datagram
	maxTime        = time.Hour
	maxCPU         = 1024 // of sched_setaffinity(2) with a cpu_set_t
)

// Spec says which workload to run. Zero fields stand for the defaults named beside them.
type Spec struct {
	Kind Kind `json:"kind"`
	// Protocol is rr's; "": tcp.
	Protocol Protocol `json:"protocol,omitempty"`
	// Connections is how many connections there are (udp: senders), each with one thread on each side; 0: 1.
	Connections int `json:"connections,omitempty"`
	// Write is the bytes of one write of stream; 0: 131072, as iperf3 writes.
	Write int `json:"write,omitempty"`
	// Request and Response are the bytes of rr's messages; 0: 1, as netperf's TCP_RR has them.
	Request  int `json:"request,omitempty"`
	Response int `json:"response,omitempty"`
	// Payload is the bytes of a datagram of udp; 0: 1400.
	Payload int `json:"payload,omitempty"`
	// Rate is what all senders of udp together offer, in datagrams or bits of payload a second; zero: unpaced.
	Rate scenarios.Rate `json:"rate,omitzero"`
	// Group is the multicast group udp is sent to; the zero Addr: unicast.
	Group netip.Addr `json:"group,omitzero"`
	// Duration is what is measured, after the Warmup.
	Duration time.Duration `json:"duration"`
	Warmup   time.Duration `json:"warmup,omitempty"`
	// ClientCPUs and ServerCPUs pin that side's threads: thread i to the CPU i modulo their number. Empty: not pinned.
	ClientCPUs []int `json:"client_cpus,omitempty"`
	ServerCPUs []int `json:"server_cpus,omitempty"`
}

// withDefaults is the Spec with each default in its place.
func (s Spec) withDefaults() Spec {
	if s.Protocol == "" {
		s.Protocol = OverTCP
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&s.Connections, 1}, {&s.Write, 128 << 10}, {&s.Request, 1}, {&s.Response, 1}, {&s.Payload, 1400}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return s
}

// Check says in one sentence what is wrong with the Spec.
func (s Spec) Check() error {
	s = s.withDefaults()
	if !slices.Contains([]Kind{Stream, RR, Mixed, UDP}, s.Kind) {
		return fmt.Errorf("kind: %q is no workload; write stream, rr, mixed or udp", s.Kind)
	}
	if s.Protocol != OverTCP && s.Protocol != OverUDP {
		return fmt.Errorf("protocol: %q is none of rr's; write tcp or udp", s.Protocol)
	}
	message := maxBytes
	if s.Protocol == OverUDP {
		message = maxDatagram
	}
	for _, n := range []struct {
		field            string
		value, low, high int
	}{
		{"connections", s.Connections, 1, maxConnections}, {"write", s.Write, 1, maxBytes},
		{"request", s.Request, 1, message}, {"response", s.Response, 1, message}, {"payload", s.Payload, 1, maxDatagram},
	} {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s: %d is not allowed; write %d to %d", n.field, n.value, n.low, n.high)
		}
	}
	if s.Duration <= 0 || s.Duration > maxTime {
		return fmt.Errorf("duration: %v is not allowed; write more than 0 and at most %v", s.Duration, maxTime)
	}
	if s.Warmup < 0 || s.Warmup > maxTime {
		return fmt.Errorf("warmup: %v is not allowed; write 0 to %v", s.Warmup, maxTime)
	}
	if s.Group.IsValid() && (s.Kind != UDP || !s.Group.IsMulticast()) {
		return fmt.Errorf("group: %v goes with kind udp and a multicast address only", s.Group)
	}
	if !s.Rate.Unpaced() && s.Kind != UDP {
		return fmt.Errorf("rate: %v goes with kind udp only; the others send as fast as they can", s.Rate)
	}
	for _, side := range []struct {
		field string
		cpus  []int
	}{{"client_cpus", s.ClientCPUs}, {"server_cpus", s.ServerCPUs}} {
		for _, cpu := range side.cpus {
			if cpu < 0 || cpu >= maxCPU {
				return fmt.Errorf("%s: %d is no number of a CPU", side.field, cpu)
			}
		}
	}
	return nil
}

// datagrams tells whether the workload goes over UDP.
func (s Spec) datagrams() bool { return s.Kind == UDP || s.Kind == RR && s.Protocol == OverUDP }

// pinnedApart tells whether each side has CPUs of its own.
func (s Spec) pinnedApart() bool {
	if len(s.ClientCPUs) == 0 || len(s.ServerCPUs) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.ClientCPUs, func(cpu int) bool { return slices.Contains(s.ServerCPUs, cpu) })
}
