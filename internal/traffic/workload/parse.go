package workload

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The parsers are pure. All of these tools exit with 0 also when they could not connect: what they wrote tells.

// parseIperf3 reads iperf3 -J: what the server received.
func parseIperf3(s Spec, output []byte) (Outcome, error) {
	var report struct {
		End struct {
			Received struct {
				Seconds       float64 `json:"seconds"`
				Bytes         float64 `json:"bytes"`
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return Outcome{}, fmt.Errorf("iperf3 -J: %w", err)
	}
	if report.Error != "" {
		return Outcome{}, fmt.Errorf("iperf3: %s", report.Error)
	}
	r := report.End.Received
	if r.Seconds <= 0 || r.Bytes <= 0 {
		return Outcome{}, errors.New("iperf3 -J: end.sum_received says nothing")
	}
	return Outcome{Seconds: r.Seconds, Bytes: uint64(r.Bytes), Throughput: r.BitsPerSecond}, nil
}

// Columns of iperf -y C: time, client address and port, server address and port, number, interval, bytes, bit/s.
const (
	iperfNumber  = 5
	iperfBytes   = 7
	iperfBits    = 8
	iperfColumns = 9
	iperfSum     = "-1" // the number of the line that some versions add for the sum
)

// parseIperf reads iperf -y C: what the client sent; iperf does not tell what of it arrived.
func parseIperf(s Spec, output []byte) (Outcome, error) {
	r := csv.NewReader(bytes.NewReader(output))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return Outcome{}, fmt.Errorf("iperf -y C: %w", err)
	}
	var o Outcome
	streams := 0
	for _, line := range lines {
		if len(line) < iperfColumns || line[iperfNumber] == iperfSum {
			continue
		}
		sent, err1 := strconv.ParseUint(line[iperfBytes], 10, 64)
		bits, err2 := strconv.ParseFloat(line[iperfBits], 64)
		if err := errors.Join(err1, err2); err != nil {
			return Outcome{}, fmt.Errorf("iperf -y C: %w", err)
		}
		o.Bytes += sent
		o.Throughput += bits
		streams++
	}
	if streams != s.Connections || o.Throughput == 0 {
		return Outcome{}, fmt.Errorf("iperf -y C: %d of %d streams are reported: %s", streams, s.Connections, lastLine(output))
	}
	o.Seconds = 8 * float64(o.Bytes) / o.Throughput
	return o, nil
}

// tbenchThroughput is tbench's last line. Its MB are 10^6 bytes, of what is read and written in both directions.
var tbenchThroughput = regexp.MustCompile(`(?m)^Throughput ([0-9.e+]+) MB/sec.* (\d+) procs  max_latency=([0-9.]+) ms$`)

// parseTbench reads tbench. Its time is what it was asked for.
func parseTbench(s Spec, output []byte) (Outcome, error) {
	m := tbenchThroughput.FindSubmatch(output)
	if m == nil {
		return Outcome{}, fmt.Errorf("tbench: no throughput in its output: %s", lastLine(output))
	}
	rate, err1 := strconv.ParseFloat(string(m[1]), 64)
	longest, err2 := strconv.ParseFloat(string(m[3]), 64)
	if err := errors.Join(err1, err2); err != nil {
		return Outcome{}, fmt.Errorf("tbench: %w", err)
	}
	if rate == 0 {
		return Outcome{}, errors.New("tbench: nothing was transferred: its clients could not start")
	}
	o := Outcome{Seconds: s.Duration.Seconds(), Throughput: 8e6 * rate, Latency: &Latency{Max: 1000 * longest}}
	o.Bytes = uint64(1e6 * rate * o.Seconds)
	return o, nil
}

var (
	escapes           = regexp.MustCompile(`\x1b?\[[0-9;]*m`)
	sockperfValid     = regexp.MustCompile(`\[Valid Duration\] RunTime=([0-9.]+) sec; SentMessages=(\d+); ReceivedMessages=(\d+)`)
	sockperfLatency   = regexp.MustCompile(`Summary: Latency is ([0-9.]+) usec`)
	sockperfDropped   = regexp.MustCompile(`# dropped messages = (\d+)`)
	sockperfQuantiles = regexp.MustCompile(`(?:percentile ([0-9.]+)|<(MAX)> observation) = +([0-9.]+)`)
)

// parseSockperf reads sockperf ping-pong. Its latencies are half of the round trips, ours are round trips.
func parseSockperf(s Spec, output []byte) (Outcome, error) {
	text := escapes.ReplaceAllString(string(output), "")
	valid, mean := sockperfValid.FindStringSubmatch(text), sockperfLatency.FindStringSubmatch(text)
	dropped := sockperfDropped.FindStringSubmatch(text)
	if valid == nil || mean == nil || dropped == nil {
		return Outcome{}, fmt.Errorf("sockperf: no figures in its output: %s", lastLine([]byte(text)))
	}
	o := Outcome{Seconds: number(valid[1]), Transactions: uint64(number(valid[3])), Latency: &Latency{Mean: 2 * number(mean[1])}}
	if o.Seconds == 0 || o.Transactions == 0 {
		return Outcome{}, errors.New("sockperf: nothing was answered")
	}
	o.Latency.OneWay = oneWay(1, float64(o.Transactions)/o.Seconds)
	o.Bytes = o.Transactions * uint64(s.Request+s.Response)
	o.Throughput = 8 * float64(o.Bytes) / o.Seconds
	if s.Protocol == OverUDP {
		o.Datagrams = &Datagrams{Sent: uint64(number(valid[2])), Received: o.Transactions, Lost: uint64(number(dropped[1]))}
	}
	for _, q := range sockperfQuantiles.FindAllStringSubmatch(text, -1) {
		if to := map[string]*float64{"50.000": &o.Latency.P50, "90.000": &o.Latency.P90, "99.000": &o.Latency.P99, "99.900": &o.Latency.P999, "MAX": &o.Latency.Max}[q[1]+q[2]]; to != nil {
			*to = 2 * number(q[3])
		}
	}
	return o, nil
}

// number reads what a pattern has found to be one; a number of too many digits is infinite.
func number(digits string) float64 {
	v, _ := strconv.ParseFloat(digits, 64)
	return v
}

// lastLine is the end of what a program wrote.
func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "it wrote nothing"
}
