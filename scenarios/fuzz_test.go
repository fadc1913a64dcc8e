package scenarios

import (
	"encoding/json"
	"errors"
	"testing"
)

// refused checks that an error is one of ours with its place inside its source.
func refused(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Message == "" || e.Column < 0 || e.Line < 0 {
		t.Fatalf("got %#v, want an *Error", err)
	}
	_ = e.Error()
}

// No file makes the parser panic, and one it takes is the same after a round trip.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		_, src, err := Load(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		for _, src := range sources(f, pattern) {
			f.Add(src)
		}
	}
	for _, nasty := range []string{"\xef\xbb\xbfname: a", "name: |\n  a\n", "? a\n: b", "---\n...\n", "%YAML 1.2\n---\nname: a", "name: !!str 5", "a: \"\\u0000\"",
		"arms: {a: {}, a: {}}", "arms: {\"\": {}, b: {}}", "workload: rr\ntopology: {kind: veth}\narms: {a: {workload: stream}, b: {sysctl.a.b: 1}}", "sweep: {a: [], b: [1]}",
		"traffic: {port: 0x10}", "traffic: {port: 99999999999999999999}", "control: {a: [[{}]], b: {c: {}}}", "[[[[[[", "name: 'a''b'", "\r\nname: a\r\n", ": :", "- - -"} {
		f.Add([]byte(nasty))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse("fuzz.yaml", src)
		if err != nil {
			refused(t, err)
			return
		}
		roundTrip(t, s)
	})
}

// No assignment makes Set panic; what it takes and Validate passes is the same after a round trip.
func FuzzSet(f *testing.F) {
	for _, assignment := range lines(f, "testdata/set.txt") {
		f.Add(assignment)
	}
	f.Fuzz(func(t *testing.T, assignment string) {
		s := Default()
		if err := s.Set(assignment); err != nil {
			refused(t, err)
			return
		}
		if err := s.Validate(); err != nil {
			refused(t, err)
			return
		}
		roundTrip(t, s)
	})
}

// No scenario of a result file makes a rule panic, and one that Validate passes is the same after a round trip.
func FuzzJSON(f *testing.F) {
	for _, name := range Names() {
		s, _, err := Load(name)
		if err != nil {
			f.Fatal(err)
		}
		data, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"traffic": {"groups": {"first": "ff05::1", "count": 4}, "senders": "auto"}, "accept": null, "control": {"faults": []}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Scenario
		if json.Unmarshal(data, &s) != nil {
			return
		}
		if err := s.Validate(); err != nil {
			refused(t, err)
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Scenario
		if err := json.Unmarshal(again, &back); err != nil || !back.Equal(s) {
			t.Fatalf("changed (%v)\n%#v\nto\n%#v\nby\n%s", err, s, back, again)
		}
	})
}

// No text makes ParseExpr panic; what it takes uses known metrics, can be evaluated, and is known when they are.
func FuzzParseExpr(f *testing.F) {
	for _, text := range lines(f, "testdata/expr.txt") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpr(text)
		if err != nil {
			refused(t, err)
			return
		}
		if len(e.Metrics()) == 0 {
			t.Fatal("uses no metric")
		}
		if _, evaluated := e.Eval(func(string) (float64, bool) { return 1, true }); !evaluated {
			t.Fatal("not evaluated with all metrics there")
		}
	})
}
