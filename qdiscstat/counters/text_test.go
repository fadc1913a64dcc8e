package counters_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bondrepro/qdiscstat/counters"
)

func ExampleQdisc_Text() {
	q := counters.Qdisc{
		Dev: "eth0", Kind: "pfifo_fast", Parent: counters.HandleRoot, Refcnt: 2,
		Bytes: 1106527591, Packets: 273802, Drops: 306419, Requeues: 223,
		Options: &counters.Options{PfifoFast: &counters.PfifoFast{Bands: 3,
			Priomap: [16]uint8{1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}}},
	}
	fmt.Print(q.Text())
	// Output:
	// qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
	//  Sent 1106527591 bytes 273802 pkt (dropped 306419, overlimits 0 requeues 223)
	//  backlog 0b 0p requeues 223
}

func ExampleQdisc_AppendJSON() {
	q := counters.Qdisc{Ifindex: 7, Dev: "v0", Kind: "mq", Handle: 0x50000, Parent: counters.HandleRoot, Refcnt: 1, Bytes: 90, Packets: 1}
	line, err := q.AppendJSON(nil, time.Date(2012, 3, 1, 12, 0, 0, 0, time.UTC))
	fmt.Print(string(line), err)
	// Output:
	// {"time":"2012-03-01T12:00:00.000000Z","kind":"mq","handle":"5:","dev":"v0","ifindex":7,"root":true,"options":{},"bytes":90,"packets":1,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}
	// <nil>
}

// The first line, and the backlog, in the cases that tc writes differently.
func TestText(t *testing.T) {
	for _, c := range []struct {
		q    counters.Qdisc
		head string
	}{
		{counters.Qdisc{Kind: "pfifo", Dev: "v0", Handle: 0x80020000, Parent: 0x50002, Refcnt: 1}, "qdisc pfifo 8002: dev v0 parent 5:2"},
		{counters.Qdisc{Kind: "fq", Dev: "v0", Parent: 0x0001, Refcnt: 1}, "qdisc fq 0: dev v0 parent :1"},
		{counters.Qdisc{Kind: "clsact", Dev: "v0", Handle: 0xffff0000, Parent: counters.HandleClsact, Refcnt: 1}, "qdisc clsact ffff: dev v0 parent ffff:fff1"},
		{counters.Qdisc{Kind: "noqueue", Ifindex: 9, Parent: counters.HandleRoot, Refcnt: 2}, "qdisc noqueue 0: dev if9 root refcnt 2"},
	} {
		if got, _, _ := strings.Cut(c.q.Text(), "\n"); got != c.head {
			t.Errorf("head %q, want %q", got, c.head)
		}
	}
	for backlog, want := range map[uint32]string{
		0: "0b", 1000: "1000b", 1024: "1Kb", 1039: "1Kb", 1040: "1040b", 1500: "1500b", 65536: "64Kb",
		1 << 20: "1Mb", 1<<20 + 1023: "1Mb", 1<<20 + 1024: "1025Kb", 5555555: "5555555b", 4294967295: "4096Mb",
	} {
		q := counters.Qdisc{Backlog: backlog, Qlen: 3}
		if !strings.Contains(q.Text(), "backlog "+want+" 3p requeues 0\n") {
			t.Errorf("backlog %d: %q, want %s", backlog, q.Text(), want)
		}
	}
}

func TestDiffText(t *testing.T) {
	d := counters.Diff{Bytes: 1, Packets: 2, Drops: 3, Requeues: 4, Overlimits: 5}
	const want = " in 100ms: 1 bytes 2 pkt (dropped 3, overlimits 5 requeues 4)"
	if got := string(d.AppendText(nil, 100*time.Millisecond, false)); got != want+"\n" {
		t.Errorf("got %q", got)
	}
	if got := string(d.AppendText(nil, 100*time.Millisecond, true)); got != want+" since it was replaced\n" {
		t.Errorf("got %q", got)
	}
}
