package report

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bondrepro/reproducer/result"
)

// someReceived is a receiver with two interfaces that heard three runs.
func someReceived() result.ReceiverFile {
	at := time.Date(2026, 11, 30, 12, 0, 1, 0, time.UTC)
	series := func(frames, bytes uint64) result.WireSlave {
		return result.WireSlave{Frames: frames, Bytes: bytes, Ours: frames, AtMS: []float64{0, 1000, 2000, 3000},
			CumFrames: []uint64{0, frames / 2, frames / 2, frames}, CumBytes: []uint64{0, bytes / 2, bytes / 2, bytes}}
	}
	lossy := series(9000, 36378000)
	lossy.Overflow, lossy.Foreign = 12, map[string]uint64{"igmp": 2, "arp": 31}
	return result.ReceiverFile{
		Schema: result.ReceiverSchema, Forgotten: 1,
		Receiver: result.Receiver{Kernel: "6.1.0", Groups: []string{"239.66.1.1", "239.66.1.2", "239.66.1.3"}, Port: 6000, Foreign: true,
			Interfaces: []result.ReceiverInterface{{Name: "eth3", Driver: "ixgbe", MTU: 9000}, {Name: "eth4.100", MTU: 9000}}},
		Runs: []result.ReceivedRun{
			{Run: 433586179, First: at, Last: at.Add(3 * time.Second), Wire: result.Wire{
				Slaves: []result.WireSlave{lossy, {}},
				Senders: []result.WireSender{
					{Index: 0, Unique: 5990, Beyond: 6010, Duplicates: 8, Reordered: 3, Copies: 2}, {Index: 1}, {Index: 2, Unique: 3000, Beyond: 3000},
				},
			}},
			{Run: 433586180, First: at.Add(9 * time.Second), Last: at.Add(12 * time.Second), Wire: result.Wire{
				Slaves: []result.WireSlave{series(9000, 36378000), series(1000, 4042000)}, Senders: []result.WireSender{{Unique: 10000, Beyond: 10000}},
			}},
			{Run: 433586181, First: at.Add(20 * time.Second), Last: at.Add(20 * time.Second), Wire: result.Wire{
				Slaves: []result.WireSlave{{Ours: 1, AtMS: []float64{0, 0}, CumBytes: []uint64{0, 4042}}, {}}, Senders: []result.WireSender{{Unique: 1, Beyond: 1}},
			}},
		},
		Warnings: []result.Warning{{Code: "rp-filter", Text: "rp_filter drops what comes in at eth3 from 192.0.2.1, the senders' address where they have no other, for no route back leads out of it."}},
	}
}

func TestReceivedText(t *testing.T) {
	got := Received(someReceived())
	const file = "testdata/received.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test ./internal/report -update writes it):\n%s", file, diff)
	}
	for line := range strings.Lines(got) {
		if n := len([]rune(line)); n > width+1 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	one := someReceived()
	one.Receiver.Interfaces, one.Runs = one.Receiver.Interfaces[:1], one.Runs[:1]
	one.Runs[0].Wire.Slaves = one.Runs[0].Wire.Slaves[:1]
	if text := Received(one); strings.Contains(text, "copies") || !strings.Contains(text, "reordered") {
		t.Errorf("with one interface there are no copies:\n%s", text)
	}
}

// TestReceivingText: the run that was heard last, with the rate of its last second.
func TestReceivingText(t *testing.T) {
	f := someReceived()
	for _, c := range []struct {
		runs []result.ReceivedRun
		want string
	}{
		{nil, ""},
		{f.Runs[:1], "run 433586179: 8990 received, 20 lost, 145.5 Mbit/s, 12 overflowed"},
		{[]result.ReceivedRun{f.Runs[1], f.Runs[0]}, "run 433586180: 10000 received, 0 lost, 161.7 Mbit/s"},
		{f.Runs[2:], "run 433586181: 1 received, 0 lost, 0 bit/s"},
	} {
		if got := Receiving(c.runs); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
