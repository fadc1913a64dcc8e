package workload

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tool is an external program that measures, as a workload.
type tool struct {
	name    string
	pkg     string // Debian's
	server  string // the programs
	client  string
	kind    Kind
	limits  func(Spec) error // what of a Spec it can't honour
	port    int              // fixed; 0: a free one is found
	listen  func(s Spec, at netip.AddrPort) []string
	connect func(s Spec, to netip.AddrPort) []string
	parse   func(s Spec, output []byte) (Outcome, error)
}

// tools are sorted by name.
var tools = []tool{
	{name: "iperf", pkg: "iperf", server: "iperf", client: "iperf", kind: Stream, limits: noWarmup, parse: parseIperf,
		listen: func(s Spec, at netip.AddrPort) []string { return iperf(at, "-s", "-B", at.Addr().String()) },
		connect: func(s Spec, to netip.AddrPort) []string {
			return iperf(to, "-c", to.Addr().String(), "-P", strconv.Itoa(s.Connections), "-l", strconv.Itoa(s.Write), "-t", seconds(s.Duration), "-y", "C")
		}},
	{name: "iperf3", pkg: "iperf3", server: "iperf3", client: "iperf3", kind: Stream, limits: noLimits, parse: parseIperf3,
		listen: func(s Spec, at netip.AddrPort) []string {
			return []string{"-s", "-1", "-B", at.Addr().String(), "-p", port(at)}
		},
		connect: func(s Spec, to netip.AddrPort) []string {
			return []string{"-c", to.Addr().String(), "-p", port(to), "-P", strconv.Itoa(s.Connections), "-l", strconv.Itoa(s.Write), "-t", seconds(s.Duration), "-O", seconds(s.Warmup), "-J"}
		}},
	{name: "sockperf", pkg: "sockperf", server: "sockperf", client: "sockperf", kind: RR, limits: sockperfLimits, parse: parseSockperf,
		listen: func(s Spec, at netip.AddrPort) []string { return sockperf(s, at, "server") },
		connect: func(s Spec, to netip.AddrPort) []string {
			return sockperf(s, to, "ping-pong", "-t", seconds(s.Duration), "-m", strconv.Itoa(s.Request))
		}},
	{name: "tbench", pkg: "dbench", server: "tbench_srv", client: "tbench", kind: Mixed, limits: tbenchLimits, port: 7003, parse: parseTbench,
		listen: func(Spec, netip.AddrPort) []string { return nil },
		connect: func(s Spec, to netip.AddrPort) []string {
			return []string{"-t", seconds(s.Duration), strconv.Itoa(s.Connections), to.Addr().String()}
		}},
}

// findTool finds a tool by its name and checks that it can do what the Spec says.
func findTool(name string, s Spec) (tool, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		var names []string
		for _, t := range tools {
			names = append(names, t.name)
		}
		return tool{}, fmt.Errorf("tool: %q is not known; write %s", name, strings.Join(names, ", "))
	}
	t := tools[i]
	if s.Kind == "" {
		s.Kind = t.kind
	}
	if err := s.Check(); err != nil {
		return tool{}, err
	}
	if s.Kind != t.kind {
		return tool{}, fmt.Errorf("kind: %s does %s, not %s", t.name, t.kind, s.Kind)
	}
	if s.Duration%time.Second != 0 || s.Warmup%time.Second != 0 {
		return tool{}, fmt.Errorf("duration: %s counts whole seconds; write a whole number of them for duration %v and warmup %v", t.name, s.Duration, s.Warmup)
	}
	if err := t.limits(s.withDefaults()); err != nil {
		return tool{}, fmt.Errorf("%s: %w", t.name, err)
	}
	return t, nil
}

func noLimits(Spec) error { return nil }

// noWarmup: tbench leaves out a fifth of its duration by itself, sockperf 400 ms, iperf nothing.
func noWarmup(s Spec) error {
	if s.Warmup != 0 {
		return fmt.Errorf("warmup: its own can't be set; write 0, not %v", s.Warmup)
	}
	return nil
}

// tbenchLimits: it adds up once a second, and not at its end: with 1 s it says 0 MB/sec.
func tbenchLimits(s Spec) error {
	if least := 2 * time.Second; s.Duration < least {
		return fmt.Errorf("duration: it adds up once a second; write at least %v, not %v", least, s.Duration)
	}
	return noWarmup(s)
}

// sockperfLeast is the header of its messages.
const sockperfLeast = 14

func sockperfLimits(s Spec) error {
	switch {
	case s.Connections != 1:
		return fmt.Errorf("connections: it has one, not %d", s.Connections)
	case s.Request != s.Response:
		return fmt.Errorf("response: its answers are as long as its requests; write %d, not %d", s.Request, s.Response)
	case s.Request < sockperfLeast || s.Request > maxDatagram:
		return fmt.Errorf("request: its messages have %d to %d bytes, not %d", sockperfLeast, maxDatagram, s.Request)
	}
	return noWarmup(s)
}

func sockperf(s Spec, at netip.AddrPort, args ...string) []string {
	args = append(args, "-i", at.Addr().String(), "-p", port(at))
	if s.Protocol == OverTCP {
		args = append(args, "--tcp")
	}
	return args
}

func iperf(at netip.AddrPort, args ...string) []string {
	args = append(args, "-p", port(at))
	if at.Addr().Is6() {
		args = append(args, "-V")
	}
	return args
}

func port(a netip.AddrPort) string { return strconv.Itoa(int(a.Port())) }

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
