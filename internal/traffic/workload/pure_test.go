package workload

import (
	"encoding/json"
	"math"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/scenarios"
)

func TestSpecsThatAreWrongAreOneSentence(t *testing.T) {
	good := Spec{Kind: RR, Duration: time.Second}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Spec){
		`kind: "" is no workload; write stream, rr, mixed or udp`:                   func(s *Spec) { s.Kind = "" },
		`protocol: "sctp" is none of rr's; write tcp or udp`:                        func(s *Spec) { s.Protocol = "sctp" },
		`connections: 1025 is not allowed; write 1 to 1024`:                         func(s *Spec) { s.Connections = 1025 },
		`connections: -1 is not allowed; write 1 to 1024`:                           func(s *Spec) { s.Connections = -1 },
		`write: -5 is not allowed; write 1 to 16777216`:                             func(s *Spec) { s.Write = -5 },
		`request: 65508 is not allowed; write 1 to 65507`:                           func(s *Spec) { s.Protocol, s.Request = OverUDP, 65508 },
		`response: 16777217 is not allowed; write 1 to 16777216`:                    func(s *Spec) { s.Response = 16777217 },
		`payload: 65508 is not allowed; write 1 to 65507`:                           func(s *Spec) { s.Payload = 65508 },
		`duration: 0s is not allowed; write more than 0 and at most 1h0m0s`:         func(s *Spec) { s.Duration = 0 },
		`warmup: -1ns is not allowed; write 0 to 1h0m0s`:                            func(s *Spec) { s.Warmup = -1 },
		`group: 239.1.1.1 goes with kind udp and a multicast address only`:          func(s *Spec) { s.Group = netip.MustParseAddr("239.1.1.1") },
		`group: 10.1.1.1 goes with kind udp and a multicast address only`:           func(s *Spec) { s.Kind, s.Group = UDP, netip.MustParseAddr("10.1.1.1") },
		`rate: 10kpps goes with kind udp only; the others send as fast as they can`: func(s *Spec) { s.Rate = scenarios.Rate{PacketsPerSecond: 10000} },
		`client_cpus: -1 is no number of a CPU`:                                     func(s *Spec) { s.ClientCPUs = []int{0, -1} },
		`server_cpus: 1024 is no number of a CPU`:                                   func(s *Spec) { s.ServerCPUs = []int{1024} },
	} {
		s := good
		change(&s)
		if err := s.Check(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if _, err := Listen(s, loopback); err == nil {
			t.Errorf("listening is no error: %s", want)
		}
	}
}

func TestASpecTravelsAsJSON(t *testing.T) {
	for _, s := range []Spec{
		{Kind: UDP, Protocol: OverUDP, Connections: 2, Write: 3, Request: 4, Response: 5, Payload: 6, Rate: scenarios.Rate{BitsPerSecond: 1e9},
			Group: group, Duration: time.Second, Warmup: time.Millisecond, ClientCPUs: []int{0}, ServerCPUs: []int{1, 2}},
		{Kind: Stream, Duration: 1},
	} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got Spec
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s gives %+v, want %+v (%v)", text, got, s, err)
		}
	}
}

func TestSidesArePinnedApartWhenTheyShareNoCPU(t *testing.T) {
	for _, c := range []struct {
		client, server []int
		want           bool
	}{{nil, nil, false}, {[]int{0}, nil, false}, {[]int{0}, []int{0}, false}, {[]int{0, 1}, []int{1, 2}, false}, {[]int{0, 1}, []int{2}, true}} {
		if got := (Spec{ClientCPUs: c.client, ServerCPUs: c.server}).pinnedApart(); got != c.want {
			t.Errorf("%v and %v: apart %v", c.client, c.server, got)
		}
	}
}

// What Mix's comment says of it.
func TestTheMixIsWhatItIsSaidToBe(t *testing.T) {
	const segment, large = 1448, 60 << 10
	var weights, small, big, bytes, bigBytes int
	for _, s := range Mix {
		weights += s.Weight
		both := s.Weight * (s.Request + s.Response)
		bytes += both
		if s.Request <= segment && s.Response <= segment {
			small += s.Weight
		}
		if max(s.Request, s.Response) >= large {
			big += s.Weight
			bigBytes += both
		}
	}
	if weights != 100 || small != 70 || big != 5 || 2*bigBytes <= bytes || bytes/weights != 4992 {
		t.Errorf("weights %d, of small ones %d, of large ones %d, which have %d of %d bytes", weights, small, big, bigBytes, bytes)
	}
}

func TestADeckHasEachKindByItsWeightInTheSameOrder(t *testing.T) {
	first := deck(3)
	if !slices.Equal(first, deck(3)) {
		t.Error("another order the second time")
	}
	if slices.Equal(first, deck(4)) || slices.IsSorted(first) {
		t.Error("the order is not a client's own")
	}
	counts := make([]int, len(Mix))
	for _, kind := range first {
		counts[kind]++
	}
	for kind, n := range counts {
		if n != decks*Mix[kind].Weight {
			t.Errorf("%s: %d, want %d", Mix[kind].Name, n, decks*Mix[kind].Weight)
		}
	}
	// Another generator or another shuffle would make old results another workload.
	if want := []byte{1, 0, 1, 1, 1, 0, 3, 0, 0, 0, 2, 0, 1, 1, 2, 0}; !slices.Equal(first[:len(want)], want) {
		t.Errorf("begins with %v, want %v", first[:len(want)], want)
	}
}

// The report's figure: 58 420 transactions/s on 100 connections are 855.8 µs one way.
func TestOneWayIsHalfOfAConnectionsRoundTrip(t *testing.T) {
	if got := oneWay(100, 58420); math.Abs(got-855.9) > 0.1 {
		t.Errorf("%v µs", got)
	}
}

func TestEveryFigureIsInTheTableOnce(t *testing.T) {
	full := Outcome{Seconds: 2, Bytes: 1000, Throughput: 4000, Connections: 2, Idle: 1, Transactions: 10,
		Latency: &Latency{1, 2, 3, 4, 5, 6, 7}, Datagrams: &Datagrams{Lost: 3},
		Client: &CPU{1, 2, &Shared{3, 4, 5, 6}}, Server: &CPU{7, 8, &Shared{9, 10, 11, 12}}, Machine: &Shared{13, 14, 15, 16}}
	want := map[string]float64{
		"throughput": 4000, "transactions.rate": 5, "datagrams.lost": 3, "connections.idle": 1,
		"latency.p50": 1, "latency.p90": 2, "latency.p99": 3, "latency.p99.9": 4, "latency.max": 5, "latency.mean": 6, "latency.oneway": 7,
		"cpu.client.user": 1, "cpu.client.system": 2, "cpu.client.per_byte": 0.003,
		"cpu.client.softirq": 3, "cpu.client.irq": 4, "cpu.client.steal": 5, "cpu.client.busy_per_byte": 0.006,
		"cpu.server.user": 7, "cpu.server.system": 8, "cpu.server.per_byte": 0.015,
		"cpu.server.softirq": 9, "cpu.server.irq": 10, "cpu.server.steal": 11, "cpu.server.busy_per_byte": 0.012,
		"cpu.softirq": 13, "cpu.irq": 14, "cpu.steal": 15, "cpu.busy_per_byte": 0.016,
	}
	if got := full.Metrics(); !reflect.DeepEqual(got, want) || len(got) != len(Metrics) {
		t.Errorf("%d figures in the table, got %v", len(Metrics), got)
	}
	for _, m := range Metrics {
		if m.Unit == "" || m.Better != Higher && m.Better != Lower || !strings.HasSuffix(m.Doc, ".") {
			t.Errorf("%+v", m)
		}
	}
	if got := (Outcome{}).Metrics(); len(got) != 0 {
		t.Errorf("an empty outcome has %v", got)
	}
}

func TestPeriodOfAPacedSender(t *testing.T) {
	for _, c := range []struct {
		rate             scenarios.Rate
		payload, senders int
		want             time.Duration
	}{
		{scenarios.Rate{}, 100, 1, 0},
		{scenarios.Rate{PacketsPerSecond: 1000}, 100, 2, 2 * time.Millisecond},
		{scenarios.Rate{BitsPerSecond: 8e6}, 1000, 1, time.Millisecond},
	} {
		if got := period(c.rate, c.payload, c.senders); got != c.want {
			t.Errorf("%v with %d bytes of %d senders: %v, want %v", c.rate, c.payload, c.senders, got, c.want)
		}
	}
}

func recorded(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRecordedOutputsOfTools(t *testing.T) {
	messages := Spec{Connections: 1, Request: 64, Response: 64, Protocol: OverTCP}
	datagrams := messages
	datagrams.Protocol = OverUDP
	for _, c := range []struct {
		file  string
		parse func(Spec, []byte) (Outcome, error)
		spec  Spec
		want  Outcome
	}{
		{"iperf3.json", parseIperf3, Spec{}, Outcome{Seconds: 1.9982, Bytes: 1510024000, Throughput: 6045536983.2849569}},
		{"iperf-2.csv", parseIperf, Spec{Connections: 2}, Outcome{Bytes: 4388056060 + 1234760060, Throughput: 17471714579 + 4917790467,
			Seconds: 8 * float64(4388056060+1234760060) / (17471714579 + 4917790467)}},
		{"iperf-1.csv", parseIperf, Spec{Connections: 1}, Outcome{Bytes: 3097488060, Throughput: 12369449876, Seconds: 8 * 3097488060.0 / 12369449876}},
		{"tbench.txt", parseTbench, Spec{Duration: 3 * time.Second}, Outcome{Seconds: 3, Bytes: 2182812000, Throughput: 5820832000, Latency: &Latency{Max: 227286}}},
		{"sockperf-tcp.txt", parseSockperf, messages, Outcome{Seconds: 1.549, Transactions: 77193, Bytes: 77193 * 128, Throughput: 8 * 77193 * 128 / 1.549,
			Latency: &Latency{P50: 2 * 5.873, P90: 2 * 6.174, P99: 2 * 25.077, P999: 2 * 354.967, Max: 2 * 56040.620, Mean: 2 * 10.023, OneWay: 0.5e6 / (77193 / 1.549)}}},
		{"sockperf-udp.txt", parseSockperf, datagrams, Outcome{Seconds: 1.554, Transactions: 123280, Bytes: 123280 * 128, Throughput: 8 * 123280 * 128 / 1.554,
			Latency:   &Latency{P50: 2 * 4.732, P90: 2 * 5.042, P99: 2 * 19.519, P999: 2 * 316.497, Max: 2 * 14059.698, Mean: 2 * 6.291, OneWay: 0.5e6 / (123280 / 1.554)},
			Datagrams: &Datagrams{Sent: 123280, Received: 123280}}},
	} {
		got, err := c.parse(c.spec, recorded(t, c.file))
		if err != nil || !near(got, c.want) {
			t.Errorf("%s: %+v %+v %+v (%v), want %+v %+v", c.file, got, got.Latency, got.Datagrams, err, c.want, c.want.Latency)
		}
	}
}

// near compares what JSON holds of outcomes; floating-point numbers may differ in their last digits.
func near(a, b Outcome) bool {
	flat := func(o Outcome) map[string]float64 {
		m := o.Metrics()
		m["seconds"], m["bytes"] = o.Seconds, float64(o.Bytes)
		if o.Datagrams != nil {
			m["sent"], m["received"] = float64(o.Datagrams.Sent), float64(o.Datagrams.Received)
		}
		return m
	}
	x, y := flat(a), flat(b)
	for name, v := range x {
		if w, ok := y[name]; !ok || math.Abs(v-w) > 1e-9*math.Abs(v) {
			return false
		}
	}
	return len(x) == len(y)
}

// The tools exit with 0 also when nothing was measured.
func TestToolsThatMeasuredNothing(t *testing.T) {
	for _, c := range []struct {
		parse      func(Spec, []byte) (Outcome, error)
		said, want string
	}{
		{parseIperf3, string(recorded(t, "iperf3-refused.json")), "iperf3: unable to connect to server: Connection refused"},
		{parseIperf3, "", "iperf3 -J: unexpected end of JSON input"},
		{parseIperf3, `{"end":{}}`, "iperf3 -J: end.sum_received says nothing"},
		{parseIperf, "tcp connect failed: Connection refused\n", "iperf -y C: 0 of 1 streams are reported: tcp connect failed: Connection refused"},
		{parseIperf, "", "iperf -y C: 0 of 1 streams are reported: it wrote nothing"},
		{parseIperf, "t,a,1,b,2,1,0.0-2.0,x,y\n", `iperf -y C: strconv.ParseUint: parsing "x": invalid syntax` + "\n" + `strconv.ParseFloat: parsing "y": invalid syntax`},
		{parseTbench, "FAILED TO START 2 CLIENTS (started -1)\nThroughput 0 MB/sec  2 clients  2 procs  max_latency=0.000 ms\n", "tbench: nothing was transferred: its clients could not start"},
		{parseTbench, "no such host", "tbench: no throughput in its output: no such host"},
		{parseSockperf, "sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m\nsockperf: ERROR: Can`t connect socket (errno=111 Connection refused)\n",
			"sockperf: no figures in its output: sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)"},
	} {
		if o, err := c.parse(Spec{Connections: 1}, []byte(c.said)); err == nil || err.Error() != c.want {
			t.Errorf("%q: %+v, error %v, want %s", c.said, o, err, c.want)
		}
	}
}

func TestWhatAToolCantDoIsOneSentence(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		tool string
		spec Spec
		want string
	}{
		{"netperf", Spec{Duration: second}, `tool: "netperf" is not known; write iperf, iperf3, sockperf, tbench`},
		{"iperf3", Spec{Kind: RR, Duration: second}, "kind: iperf3 does stream, not rr"},
		{"iperf3", Spec{Duration: 1500 * time.Millisecond}, "duration: iperf3 counts whole seconds; write a whole number of them for duration 1.5s and warmup 0s"},
		{"iperf3", Spec{}, "duration: 0s is not allowed; write more than 0 and at most 1h0m0s"},
		{"iperf", Spec{Duration: second, Warmup: second}, "iperf: warmup: its own can't be set; write 0, not 1s"},
		{"tbench", Spec{Duration: second}, "tbench: duration: it adds up once a second; write at least 2s, not 1s"},
		{"sockperf", Spec{Duration: second, Connections: 2}, "sockperf: connections: it has one, not 2"},
		{"sockperf", Spec{Duration: second, Request: 20}, "sockperf: response: its answers are as long as its requests; write 20, not 1"},
		{"sockperf", Spec{Duration: second}, "sockperf: request: its messages have 14 to 65507 bytes, not 1"},
	} {
		if _, err := findTool(c.tool, c.spec); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

func TestCommandLinesOfTools(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.0.1:5201")
	for name, want := range map[string][2]string{
		"iperf":    {"-s -B 10.0.0.1 -p 5201", "-c 10.0.0.1 -P 4 -l 8000 -t 10 -y C -p 5201"},
		"iperf3":   {"-s -1 -B 10.0.0.1 -p 5201", "-c 10.0.0.1 -p 5201 -P 4 -l 8000 -t 10 -O 2 -J"},
		"sockperf": {"server -i 10.0.0.1 -p 5201 --tcp", "ping-pong -t 10 -m 64 -i 10.0.0.1 -p 5201 --tcp"},
		"tbench":   {"", "-t 10 4 10.0.0.1"},
	} {
		i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
		s := Spec{Connections: 4, Write: 8000, Request: 64, Duration: 10 * time.Second, Warmup: 2 * time.Second}.withDefaults()
		if server, client := strings.Join(tools[i].listen(s, at), " "), strings.Join(tools[i].connect(s, at), " "); server != want[0] || client != want[1] {
			t.Errorf("%s: %q and %q", name, server, client)
		}
	}
}

func TestSocketsOfAProcessInItsTables(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2B67 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2571320 1 0 100 0 0 10 0
   1: 0100007F:2B67 0100007F:1389 06 00000000:00000000 03:00001401 00000000     0        0 0 3 0
`
	if got := boundTo(table, "0A", 0x2b67); !slices.Equal(got, []string{"2571320"}) {
		t.Errorf("inodes %v", got)
	}
	if got := boundTo(table, "0A", 0x2b68); got != nil {
		t.Errorf("inodes %v of another port", got)
	}
	if has(os.Getpid(), "2571320") {
		t.Error("this process has a socket of another one")
	}
}

// A CPU may stand in a list twice, as thread i goes to the CPU i modulo the length.
func TestACPUThatIsNamedTwiceCountsOnce(t *testing.T) {
	stat := []byte("cpu  30 0 30 300 0 0 0 0 0 0\ncpu0 10 0 20 100 0 0 0 0 0 0\ncpu2 20 0 10 200 0 0 0 0 0 0\n")
	got, err := sumCPUs(stat, []int{0, 0, 2})
	want, _ := sumCPUs(stat, []int{0, 2})
	if err != nil || got != want || got.User == 0 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := sumCPUs(stat, []int{0, 1}); err == nil {
		t.Error("CPU 1 is not there")
	}
}
