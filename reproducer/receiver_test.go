package reproducer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bondrepro/reproducer/result"
)

// receiverFile is the file of a receiver that heard so many packets of run 7.
func receiverFile(unique uint64) result.ReceiverFile {
	return result.ReceiverFile{
		Schema: result.ReceiverSchema, Receiver: result.Receiver{Interfaces: []result.ReceiverInterface{{Name: "eth3"}}},
		Runs: []result.ReceivedRun{{Run: 7, Wire: result.Wire{Slaves: []result.WireSlave{{Ours: unique}}, Senders: []result.WireSender{{Unique: unique}}}}},
	}
}

func write(t *testing.T, name string, f result.ReceiverFile) {
	t.Helper()
	var b bytes.Buffer
	if err := result.EncodeReceiver(&b, f); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWaitForTheReceiver: when a wait is over, and what it has then. Times are from its beginning.
func TestWaitForTheReceiver(t *testing.T) {
	const sent = 100
	type moment struct {
		at     time.Duration
		unique int    // -1: nothing is written, else the file from then on
		raw    string // instead
		over   bool
	}
	missing, torn := -1, ""
	for _, c := range []struct {
		name    string
		run     uint32
		moments []moment
		unique  uint64 // of what was found; 0: nothing
		why     string
	}{
		{"complete and still", 7, []moment{{0, sent, torn, false}, {299 * time.Millisecond, missing, torn, false}, {receiverStill, missing, torn, true}}, sent, ""},
		{"complete later", 7, []moment{{0, 40, torn, false}, {time.Second, sent, torn, false}, {1200 * time.Millisecond, missing, torn, false}, {1300 * time.Millisecond, missing, torn, true}}, sent, ""},
		{"never complete", 7, []moment{{0, 99, torn, false}, {1900 * time.Millisecond, missing, torn, false}, {receiverPatience, missing, torn, true}}, 99, ""},
		{"never still", 7, []moment{{0, 1, torn, false}, {4900 * time.Millisecond, 2, torn, false}, {receiverLimit, missing, torn, true}}, 2, ""},
		{"not there before the end", 7, []moment{{0, missing, torn, false}, {4 * time.Second, 99, torn, false}, {4300 * time.Millisecond, missing, torn, true}}, 99, ""},
		{"never there", 7, []moment{{0, missing, torn, false}, {receiverLimit, missing, torn, true}}, 0, "no such file"},
		{"another's run", 8, []moment{{0, sent, torn, false}, {4 * time.Second, missing, torn, false}, {receiverLimit, missing, torn, true}}, 0, "the receiver's file has no run 8"},
		{"half a file", 7, []moment{{0, missing, `{"schema":1,`, false}, {3 * time.Second, missing, torn, false}, {receiverLimit, missing, torn, true}}, 0, "could not be read"},
		{"half a file at first", 7, []moment{{0, missing, `{"schema":1,`, false}, {time.Second, sent, torn, false}, {1300 * time.Millisecond, missing, torn, true}}, sent, ""},
	} {
		began := time.Now()
		w := wait{name: filepath.Join(t.TempDir(), "rx.json"), run: c.run, sent: sent, began: began}
		for _, m := range c.moments {
			if m.unique >= 0 {
				write(t, w.name, receiverFile(uint64(m.unique)))
			}
			if m.raw != "" {
				if err := os.WriteFile(w.name, []byte(m.raw), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if over := w.look(began.Add(m.at)); over != m.over {
				t.Errorf("%s: after %v it is over: %t", c.name, m.at, over)
			}
		}
		switch got := w.found; {
		case c.unique > 0 && (got.Received == nil || got.Received.Heard() != c.unique || got.Missing != ""):
			t.Errorf("%s: found %+v, want %d", c.name, got, c.unique)
		case c.unique == 0 && (got.Received != nil || !strings.Contains(got.Missing, c.why)):
			t.Errorf("%s: found %+v, want nothing because %q", c.name, got, c.why)
		}
	}
}

// TestRunsGetTheirReceiver: every run of both arms, and not the measurements before them.
func TestRunsGetTheirReceiver(t *testing.T) {
	stock, control := recording(t, "stock", "test"), recording(t, "stock", "control")
	file := filepath.Join(t.TempDir(), "rx.json")
	f := receiverFile(14207)
	f.Runs = append(f.Runs, f.Runs[0])
	f.Runs[0].Run, f.Runs[1].Run = stock.Run, control.Run
	write(t, file, f)
	e := experimentAt(t, &place{answers: []answer{{rec: stock}, {rec: stock}, {rec: control}}})
	e.session.options.Receiver = file
	if err := e.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := e.result()
	for _, a := range r.Arms {
		for i := range a.Runs {
			if got := a.Runs[i].Recording.Receiver; got == nil || got.Received == nil || got.Received.Run != a.Runs[i].Recording.Run {
				t.Errorf("%s arm, run %d: %+v", a.Name, i+1, got)
			}
			if _, ok := a.Runs[i].Judgement.Metrics["receiver.frames"]; !ok {
				t.Errorf("%s arm, run %d: nothing of the receiver is judged", a.Name, i+1)
			}
		}
	}
	if r.Judgement.Verdict != result.Good {
		t.Errorf("%s: %s", r.Judgement.Verdict, r.Judgement.Reason)
	}
}

// TestTheWaitEndsWithItsContext: a signal ends the command, not only the measurement.
func TestTheWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	s := &Session{options: Options{Receiver: "no-such-file", Progress: func(string) {}}}
	rec := recording(t, "stock", "test")
	if err := s.attach(ctx, &rec); !errors.Is(err, stopped) || rec.Receiver != nil {
		t.Errorf("%v, %+v", err, rec.Receiver)
	}
	rec.Failure = "the kernel panicked"
	if err := s.attach(ctx, &rec); err != nil {
		t.Errorf("a run that did not end is waited for: %v", err)
	}
}

func TestReceiversThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	good, notes, old := filepath.Join(folder, "rx.json"), filepath.Join(folder, "notes"), filepath.Join(folder, "old.json")
	write(t, good, receiverFile(1))
	for name, text := range map[string]string{notes: "no JSON", old: `{"schema": 99}`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ file, bed, want string }{
		{"", testbedVM, ""},
		{good, "host", ""},
		{filepath.Join(folder, "to-come.json"), "host", ""},
		{notes, "host", "not a receiver's file: line 1"},
		{old, "host", "its schema is version 99"},
		{folder, "host", "is a directory"},
		{good, testbedVM, "--receiver is for real ports (--testbed host): in the testbed vm"},
		{good, testbedNetns, "in the testbed netns"},
	} {
		err := checkReceiver(Options{Receiver: c.file}, c.bed)
		var usage *UsageError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s for %s: %v, want %q", c.file, c.bed, err, c.want)
		}
	}
}
