package scenarios

import (
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
