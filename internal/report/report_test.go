package report

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

var update = flag.Bool("update", false, "write the golden reports")

// results are the stored results, written by the tests of internal/judge.
func results(t *testing.T) map[string]result.Result {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no results in testdata: %v", err)
	}
	out := map[string]result.Result{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r result.Result
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return out
}

func whole(r result.Result) string {
	var pf result.Preflight
	if len(r.Arms) > 0 {
		pf = r.Arms[0].Preflight
	}
	return Header(r.Config, r.Host, r.Guest, pf) + "\n" + Text(r)
}

func TestGolden(t *testing.T) {
	for name, r := range results(t) {
		got := whole(r)
		file := "testdata/" + name + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (go test ./internal/report -update writes it):\n%s", file, diff)
		}
	}
}

// TestForm holds what every report must be: narrow, plain, and ending in the verdict.
func TestForm(t *testing.T) {
	verdicts := map[string]string{"good": "GOOD: ", "bad": "BAD (", "cannot": "CANNOT TELL: "}
	for name, r := range results(t) {
		text := whole(r)
		for _, line := range strings.Split(text, "\n") {
			if n := len([]rune(line)); n > width {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
			if strings.TrimRight(line, " \t") != line {
				t.Errorf("%s: blanks at the end of %q", name, line)
			}
		}
		if strings.ContainsAny(text, "\x1b\t\r") {
			t.Errorf("%s: control characters", name)
		}
		kind, _, _ := strings.Cut(name, "-")
		_, last, _ := strings.Cut(text, "\nverdict\n")
		if !strings.HasPrefix(last, verdicts[kind]) {
			t.Errorf("%s: ends in %q", name, last)
		}
	}
}

// TestHeaderOptions: what is set shows, what is off does not.
func TestHeaderOptions(t *testing.T) {
	cfg := result.Config{Scenario: scenarios.Default(), Testbed: "netns", NoControl: true}
	host := result.Host{Kernel: "6.1.0", CPUs: 1, CPU: "some CPU"}
	text := Header(cfg, host, nil, result.Preflight{})
	for _, want := range []string{"6.1.0 (running here)", "active-backup, miimon 100ms, xmit_hash_policy layer2, mtu 9000", "blocking, sndbuf 212992", "unpaced", "1 sender of 4000-byte", "truesize of a packet is not known", "--no-control", "not known yet"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, unwanted := range []string{"tx_timestamping", "gso", "orphan", "priority", "<nil>", "burst", "join", "faults", "accept", "primary", "TX queues"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%q in\n%s", unwanted, text)
		}
	}
	one, sc := 1, &cfg.Scenario
	sc.Topology.Bond.Primary, sc.Topology.Slaves.Queues = &one, 4
	sc.Traffic.Burst.Packets, sc.Traffic.Join, sc.Traffic.Senders = 1, true, scenarios.AutoSenders
	sc.Accept = []string{result.BroadcastClones}
	sc.Faults = []scenarios.Fault{{At: scenarios.Duration(2e9), SlaveUp: &one}, {At: scenarios.Duration(1e9), SlaveDown: &one}}
	text = Header(cfg, host, nil, result.Preflight{})
	for _, want := range []string{
		", primary 1, mtu 9000", "4 TX queues each, under mq", "burst      1 packet of each sender, all together, every 50ms", "join       the sending side is a member",
		"faults     at 1s slave_down 1, at 2s slave_up 1", "accept     broadcast-clones (broadcast clones overflow the slower slave)", "(auto) of 4000-byte",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	sc.Traffic.Senders = 1
	s := &cfg.Scenario.Traffic.Socket
	s.TxTimestamping, s.SndBufForce, s.Blocking, s.GSO, s.Priority = true, 64<<20, false, 16, 6
	cfg.Scenario.Orphan = "netem"
	guest := &result.Guest{Kernel: "6.1.0", Modules: []result.Module{{Name: "bonding", File: "b.ko", Swapped: true}}}
	text = Header(cfg, host, guest, result.Preflight{Senders: 2, Truesize: 8448, Sum: 9, Exceeds: true})
	if pf := preflightText(result.Preflight{Truesize: 8448}, 1); strings.Contains(pf, "TX queue") {
		t.Errorf("one TX queue: %s", pf)
	}
	if pf := preflightText(result.Preflight{Truesize: 8448}, 4); !strings.Contains(pf, "held against one of a slave's 4 TX queues: txqueuelen") {
		t.Errorf("4 TX queues: %s", pf)
	}
	for _, want := range []string{"non-blocking, sndbuf_force 67108864, priority 6, tx_timestamping on, gso 16", "netem on the bond", "NOT PROVEN", "DOES NOT FIT", "2 senders ×"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestControlled: a control that does not count is no clean one.
func TestControlled(t *testing.T) {
	for _, c := range []struct {
		control result.ControlJudgement
		want    string
	}{
		{result.ControlJudgement{Note: "the scenario has none"}, "not measured: the scenario has none"},
		{result.ControlJudgement{Measured: true, Bad: true, Kind: "netem", Note: "dropped 9"}, "BAD, as it must be (netem): dropped 9"},
		{result.ControlJudgement{Measured: true, Kind: "other", Note: "nothing"}, "NOT BAD as it must be: nothing"},
		{result.ControlJudgement{Measured: true, Invalid: true, Kind: "netem", Note: "guard line_full failed: so"}, "the control does not count (netem): guard line_full failed: so"},
	} {
		if got := controlled(c.control); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestOlderFormula: the kernels whose hash fits are named where they are not the newest.
func TestOlderFormula(t *testing.T) {
	s := result.Spread{Predicted: true, Formula: "Linux 4.15 to 5.14", Slaves: []result.SlaveShare{{Name: "eth0"}}, Flows: []result.FlowSpread{{Seen: []uint64{9}}}}
	for older, want := range map[bool]string{
		false: "1 of 1 went where the hash puts them\n",
		true:  "1 of 1 went where the hash of Linux 4.15 to 5.14 puts them, which fits better than that of newer\n  kernels\n",
	} {
		var b strings.Builder
		s.Older = older
		spread(&b, &s)
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("%s\nwant %s", b.String(), want)
		}
	}
}

// TestVanishedShows: where packets that vanished keep the oracle from finding orphaning, the report says so.
func TestVanishedShows(t *testing.T) {
	o := result.Oracle{Available: true, Median: 50, Threshold: 10, Vanished: 90}
	if word, text := unchargedText(o); word != "ok" || !strings.Contains(text, "the threshold is 10 + 90") {
		t.Errorf("got %s %s", word, text)
	}
	for _, o := range []result.Oracle{{Available: true, Threshold: 10}, {Available: true, Median: 9, Threshold: 10, Vanished: 90}, {Available: true, Median: 200, Threshold: 10, Vanished: 90, Orphaned: true}} {
		if _, text := unchargedText(o); text != "" {
			t.Errorf("got %s", text)
		}
	}
}

// TestVanishedIsNotInFlight: packets that vanished do not show as uncharged ones, but where back-pressure is lost as well.
func TestVanishedIsNotInFlight(t *testing.T) {
	text := func(o result.Oracle) string {
		a := result.Arm{Name: "test", Runs: []result.Run{{Judgement: result.RunJudgement{Oracle: o}}}}
		var b strings.Builder
		table(&b, []shown{{&a, &a.Runs[0], 0}})
		return b.String()
	}
	const foot = "(in flight, test arm: 48 packets vanished uncounted"
	lossy := result.Oracle{Available: true, Samples: 99, Median: 48, InFlight: 48, Vanished: 48}
	if got := text(lossy); strings.Contains(got, "48.0") || !strings.Contains(got, foot) {
		t.Error(got)
	}
	orphaned, clean := lossy, lossy
	orphaned.Orphaned, clean.Vanished = true, 0
	for _, o := range []result.Oracle{orphaned, clean} {
		if got := text(o); strings.Count(got, "48.0") != 2 || strings.Contains(got, "vanished") {
			t.Error(got)
		}
	}
}

// TestQdiscsInOrder: a root first, then by TX queue.
func TestQdiscsInOrder(t *testing.T) {
	var got []uint32
	for _, q := range inOrder([]counters.Qdisc{{Parent: 0x100004}, {Parent: 0x10000a}, {Parent: 0x100001}, {Parent: counters.HandleRoot}}) {
		got = append(got, q.Parent)
	}
	if diff := cmp.Diff([]uint32{counters.HandleRoot, 0x100001, 0x100004, 0x10000a}, got); diff != "" {
		t.Error(diff)
	}
}

// TestUnmeasured: of a kernel that did not come up there is no table; a run that ended shows beside one that did not.
func TestUnmeasured(t *testing.T) {
	failed := result.Run{Judgement: result.RunJudgement{Guards: []result.Guard{{Name: "finished", Evidence: "no kernel"}}}}
	ended := result.Run{Judgement: result.RunJudgement{Metrics: map[string]float64{"offered": 4711}}}
	r := result.Result{
		Arms:      []result.Arm{{Name: result.ArmTest, Runs: []result.Run{failed}}},
		Warnings:  []result.Warning{{Code: "kernel-complaints", Text: "Oops."}},
		Judgement: result.Judgement{Verdict: result.Inconclusive, Reason: "Nothing could be measured: no kernel."},
	}
	const want = "warnings\n  kernel-complaints: Oops.\n\nverdict\nCANNOT TELL: Nothing could be measured: no kernel.\n"
	if diff := cmp.Diff(want, Text(r)); diff != "" {
		t.Error(diff)
	}
	r.Arms[0].Runs = []result.Run{ended, failed}
	if text := Text(r); !strings.Contains(text, "run 1 of 2") || !strings.Contains(text, "4711") {
		t.Error(text)
	}
}
