package bisect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

func newJournal(t *testing.T) (folder string, j *journal) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "bisect")
	j, err := createJournal(folder)
	if err != nil {
		t.Fatal(err)
	}
	sc, _, err := scenarios.Load("bond-multicast-tx")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []event{
		{Kind: evBegin, Params: &Params{Kind: "module", Scenario: sc, Good: "a", Bad: "b", Confidence: 0.99, Module: &ModuleOptions{Name: "bonding"}}},
		{Kind: evMade, ID: "b", Name: "b: breaks it", Role: roleBadEnd, Fingerprint: "f", BuildS: 3},
		{Kind: evTrial, ID: "b", Role: roleBadEnd, Trial: &result.Trial{Verdict: result.Bad, Diagnosis: symptom, Reason: "Lost.", LineRate: []float64{1e8, 1e8}, Fingerprint: "f"}},
	} {
		if err := j.add(e); err != nil {
			t.Fatal(err)
		}
	}
	return folder, j
}

// What is read back is what was written, and a line that a crash cut off is as if it had never been begun.
func TestJournalSurvivesATornLine(t *testing.T) {
	folder, j := newJournal(t)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, journalName)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(whole, `{"kind":"trial","id":"b","tri`...), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := openJournal(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	s := newState()
	for _, e := range again.events {
		s.apply(e)
	}
	if len(again.events) != 3 || s.diagnosis != symptom || len(s.lineRate) != 2 || s.params.Module.Name != "bonding" || s.params.Scenario.Name != "bond-multicast-tx" {
		t.Errorf("%d events, state %+v", len(again.events), s)
	}
	if err := again.add(event{Kind: evBroken, ID: "c", Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(data)), "\n"); len(lines) != 4 || !strings.Contains(lines[3], evBroken) {
		t.Errorf("after a torn line and one more:\n%s", data)
	}
}

func TestJournalIsForOneProcess(t *testing.T) {
	folder, j := newJournal(t)
	defer j.Close()
	_, err := openJournal(folder)
	wantUsage(t, err, "is under way in another process")
	_, err = createJournal(folder)
	wantUsage(t, err, "is under way in another process")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = createJournal(folder)
	wantUsage(t, err, "holds a bisect that did not end")
	over, err := openJournal(folder)
	if err == nil {
		err = errors.Join(over.add(event{Kind: evEnd}), over.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = createJournal(folder)
	wantUsage(t, err, "holds a bisect that is over")
}

func TestNoJournal(t *testing.T) {
	folder := t.TempDir()
	for _, read := range []func() error{
		func() error { _, err := openJournal(folder); return err },
		func() error { _, err := Log(folder); return err },
		func() error { _, err := Status(folder); return err },
	} {
		wantUsage(t, read(), "holds no bisect")
	}
}

func TestJournalOfAnotherVersion(t *testing.T) {
	folder, j := newJournal(t)
	if err := errors.Join(j.add(event{Kind: "vote"}), j.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := openJournal(folder)
	wantUsage(t, err, `journal.jsonl:4: there is no event "vote" in this version`)
}

func TestStatusAndLog(t *testing.T) {
	folder, j := newJournal(t)
	defer j.Close()
	status, err := Status(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bisect module of bond-multicast-tx: good a, bad b", "1 boot", "back-pressure-lost, in 1 of 1 boots of the bad end", "bondrepro bisect resume --dir " + folder} {
		if !strings.Contains(status, want) {
			t.Errorf("status lacks %q:\n%s", want, status)
		}
	}
	lines, err := Log(folder)
	if err != nil || len(lines) != 3 || !strings.Contains(lines[1], "bad end: b: breaks it, ready in 3 s") || !strings.Contains(lines[2], "BAD in 0 s: Lost.") {
		t.Errorf("log %q, %v", lines, err)
	}
}

// A bisect that can't be begun leaves nothing behind; a folder that was there stays, without what was put in it.
func TestWhatCanNotBeBegunLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	openers["none"] = func(_ context.Context, _ *Params, folder string, _ Env) (Space, error) {
		for _, name := range []string{logsName, outName} {
			if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
				return nil, err
			}
		}
		return nil, &UsageError{Err: errors.New("no such revision")}
	}
	defer delete(openers, "none")
	for _, folder := range []string{filepath.Join(parent, "new"), parent} {
		_, err := Begin(t.Context(), folder, Params{Kind: "none", Confidence: 0.99, QEMU: "true"}, Env{Log: func(string) {}, Progress: func(string) {}})
		wantUsage(t, err, "no such revision")
		left, err := os.ReadDir(parent)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", folder, left, err)
		}
	}
	openers["none"] = func(context.Context, *Params, string, Env) (Space, error) { return nil, context.Canceled }
	if _, err := Begin(t.Context(), filepath.Join(parent, "new"), Params{Kind: "none", Confidence: 0.99, QEMU: "true"}, Env{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("interrupted before it began: left behind: %v, %v", left, err)
	}
	for _, name := range []string{"results", "images", "logs"} { // the user's own
		if err := os.MkdirAll(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Begin(t.Context(), parent, Params{Kind: "none", Confidence: 0.99, QEMU: "true"}, Env{})
	wantUsage(t, err, "holds images, which is of no bisect")
	if left, err := os.ReadDir(parent); err != nil || len(left) != 3 {
		t.Errorf("the user's folder holds %v, %v", left, err)
	}
	_, err = Begin(t.Context(), filepath.Join(parent, "new"), Params{Kind: "none", Confidence: 1}, Env{})
	wantUsage(t, err, "--confidence 1: it must lie between 0 and 1")
}

// builtLine is a line whose points can't be made, and are built with something.
type builtLine struct {
	line
	with string
}

func (l *builtLine) Make(context.Context, string) (Image, error) {
	return Image{}, errors.New("stopped")
}
func (l *builtLine) BuiltWith() (string, error) { return l.with, nil }

// A bisect is not resumed when what its points are built with is another: boots of both would be mixed.
func TestResumedWithAnotherConfig(t *testing.T) {
	space := &builtLine{line: line{n: 8, culprit: 5}, with: "one"}
	openers["built"] = func(context.Context, *Params, string, Env) (Space, error) { return space, nil }
	defer delete(openers, "built")
	folder := filepath.Join(t.TempDir(), "bisect")
	env := Env{Log: func(string) {}, Progress: func(string) {}}
	p := Params{Kind: "built", Good: "0", Bad: "7", Confidence: 0.99, QEMU: "true"}
	if _, err := Begin(t.Context(), folder, p, env); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Fatal(err)
	}
	if _, err := Resume(t.Context(), folder, env); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("with the same: %v", err)
	}
	space.with = "two"
	_, err := Resume(t.Context(), folder, env)
	wantUsage(t, err, "what commits are built with has changed")
}

// Without QEMU nothing is begun: it would be found out after the first build.
func TestNoQEMU(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bisect")
	_, err := Begin(t.Context(), folder, Params{Kind: "tree", Confidence: 0.99, QEMU: "no-such-qemu"}, Env{})
	wantUsage(t, err, "guests need QEMU", "no-such-qemu", "--qemu")
	if _, err := os.Stat(folder); err == nil {
		t.Error("a folder is left")
	}
}
