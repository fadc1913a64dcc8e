package qdisctree_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/osrun"

	"github.com/vishvananda/netlink"
)

// port is the NIC that the tests change.
const port = "eth0"

// run runs a command line of tc or ip.
func run(t *testing.T, line string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	words := strings.Fields(line)
	out, err := osrun.Run(ctx, osrun.Cmd{Path: "/bin/" + words[0], Args: words[1:], Timeout: 20 * time.Second})
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", line, err, out.Stderr)
	}
	return string(out.Stdout), nil
}

// all runs command lines; one that begins with "-" may fail. DEV stands for the port.
func all(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		line, mayFail := strings.CutPrefix(strings.ReplaceAll(line, "DEV", port), "-")
		if _, err := run(t, line); err != nil && !mayFail {
			t.Fatal(err)
		}
	}
}

func ifindex(t *testing.T) int {
	t.Helper()
	link, err := netlink.LinkByName(port)
	must(t, err)
	return link.Attrs().Index
}

// queues is the number of the port's TX queues.
func queues(t *testing.T) int {
	t.Helper()
	list, err := filepath.Glob("/sys/class/net/" + port + "/queues/tx-*")
	must(t, err)
	return len(list)
}

// eachQueue repeats lines for every TX queue; N stands for its number as tc writes it.
func eachQueue(t *testing.T, lines ...string) []string {
	var list []string
	for n := range queues(t) {
		for _, line := range lines {
			list = append(list, strings.ReplaceAll(line, "N", fmt.Sprintf("%x", n+1)))
		}
	}
	return list
}

// asNew makes the port as if it had never been up: without a root, an interface that is down has noop.
func asNew(t *testing.T) {
	t.Helper()
	all(t, "ip link set DEV down", "ip link set DEV mtu 1500 txqueuelen 1000", "-tc qdisc del dev DEV clsact", "-tc qdisc del dev DEV ingress",
		"-tc qdisc del dev DEV root", "-tc qdisc add dev DEV root pfifo", "-tc qdisc del dev DEV root")
	setDefault(t, "pfifo_fast")
}

func setDefault(t *testing.T, kind string) {
	t.Helper()
	must(t, os.WriteFile("/proc/sys/net/core/default_qdisc", []byte(kind), 0))
}

// shown is what tc shows of the port, less counters. Classes it shows as text only.
func shown(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, what := range []string{"qdisc", "filter"} {
		out, err := run(t, "tc -j -d "+what+" show dev "+port)
		must(t, err)
		var list []map[string]any
		if strings.TrimSpace(out) != "" {
			must(t, json.Unmarshal([]byte(out), &list))
		}
		for _, entry := range list {
			if options, ok := entry["options"].(map[string]any); ok {
				delete(options, "direct_packets_stat")
			}
			line, err := json.Marshal(entry)
			must(t, err)
			fmt.Fprintf(&text, "%s %s\n", what, line)
		}
	}
	out, err := run(t, "tc -d class show dev "+port)
	must(t, err)
	return text.String() + out
}

// sorted are the lines of a text in order, as tc's order is that of a hash table.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func replaceAll(list []string, oldNew ...string) []string {
	r := strings.NewReplacer(oldNew...)
	var replaced []string
	for _, line := range list {
		replaced = append(replaced, r.Replace(line))
	}
	return replaced
}
