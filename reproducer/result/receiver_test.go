package result

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

func someReceiverFile() ReceiverFile {
	at := time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)
	return ReceiverFile{
		Schema: ReceiverSchema, Tool: "bondrepro test", Started: at, Written: at.Add(time.Minute), Ended: true, Forgotten: 2,
		Receiver: Receiver{Kernel: "6.1", Interfaces: []ReceiverInterface{{Name: "eth3", Ifindex: 4, MTU: 9000, Driver: "ixgbe", ReceiveBuffer: 1}}, Groups: []string{"239.66.1.1"}, Port: 6000, Foreign: true},
		Runs: []ReceivedRun{
			{Run: 1, First: at, Last: at, Wire: Wire{Slaves: []WireSlave{{Frames: 3, Ours: 3, Overflow: 4}}, Senders: []WireSender{{Unique: 2, Duplicates: 1, Beyond: 5}, {Index: 1, Unique: 9}}}},
			{Run: 7, First: at, Last: at, Wire: Wire{Slaves: []WireSlave{{}}}},
		},
		Warnings: []Warning{{Code: "no-carrier", Text: "eth3 has no carrier."}},
	}
}

func TestReceiverFileThereAndBack(t *testing.T) {
	want := someReceiverFile()
	var b bytes.Buffer
	if err := EncodeReceiver(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := DecodeReceiver("rx.json", b.Bytes())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%v)", got, err)
	}
	if n := got.Runs[0].Heard(); n != 2+9+4 {
		t.Errorf("%d heard, want 15", n)
	}
}

func TestReceiverFilesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		``:                       "not a receiver's file: ",
		`no JSON`:                "not a receiver's file: line 1, column ",
		`{}`:                     "it is JSON without a schema version",
		`{"schema":9}`:           "its schema is version 9 and this program reads version 1",
		`{"schema":1,"arms":[]}`: "it is a result",
		`{"schema":1,"x":2}`:     `unknown field "x"`,
		`{"schema":1,"runs":[{"run":10,"wire":{"slaves":[{}],"senders":[]}}]}`: "run 10 has 1 lines, and there are 0 interfaces",
	} {
		_, err := DecodeReceiver("rx.json", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "rx.json: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestReceiverIsAddedToRuns: what is there is replaced, what is not is said, and a run that did not end is left alone.
func TestReceiverIsAddedToRuns(t *testing.T) {
	old := &Reception{Missing: "old"}
	arms := []Arm{
		{Runs: []Run{{Recording: Recording{Run: 7, Receiver: old}}, {Recording: Recording{Run: 9}}}},
		{Runs: []Run{{Recording: Recording{Run: 1, Failure: "panic"}}, {Recording: Recording{Run: 1}}}},
	}
	f := someReceiverFile()
	f.AddTo(arms)
	for i, want := range []*ReceivedRun{&f.Runs[1], nil} {
		got := arms[0].Runs[i].Recording.Receiver
		if got == old || !reflect.DeepEqual(got.Received, want) || (got.Missing == "") != (want != nil) {
			t.Errorf("run %d: %+v", i, got)
		}
	}
	if got := arms[0].Runs[1].Recording.Receiver.Missing; !strings.Contains(got, "no run 9") || !strings.Contains(got, "forgotten 2 runs") {
		t.Errorf("a missing run: %s", got)
	}
	if arms[1].Runs[0].Recording.Receiver != nil || arms[1].Runs[1].Recording.Receiver.Received.Wire.Senders[1].Unique != 9 {
		t.Errorf("got %+v", arms[1])
	}
}
