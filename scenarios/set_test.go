package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Each assignment of testdata/set.txt on top of the scenario that comes with the program: what changes, or why not.
func TestSet(t *testing.T) {
	base, _, err := Load("bond-multicast-tx")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := Marshal(base)
	var out strings.Builder
	for _, assignment := range lines(t, "testdata/set.txt") {
		s := base
		err := s.Set(assignment)
		what := "Set: "
		if err == nil {
			err, what = s.Validate(), "Validate: "
		}
		switch {
		case err != nil:
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%s: %v is no *Error", assignment, err)
			}
			fmt.Fprintf(&out, "%s\n%s%v\n\n", assignment, what, err)
		default:
			text, _ := Marshal(s)
			fmt.Fprintf(&out, "%s\n%s\n", assignment, changes(string(before), string(text)))
			roundTrip(t, s)
		}
		if after, _ := Marshal(base); string(after) != string(before) {
			t.Fatalf("%s changed the scenario it was copied from", assignment)
		}
	}
	golden(t, "testdata/set.golden", out.String())
}

// changes are the lines of b that are not in a.
func changes(a, b string) string {
	var out strings.Builder
	for line := range strings.Lines(b) {
		if !strings.Contains(a, line) {
			out.WriteString("  " + line)
		}
	}
	return out.String()
}

// Every field can be set to the value it has.
func TestSetEveryField(t *testing.T) {
	s := Default()
	all := paths("", reflect.TypeFor[Scenario]())
	if len(all) < 50 {
		t.Fatalf("only %d fields", len(all))
	}
	for _, path := range all {
		v := reflect.ValueOf(s)
		for name := range strings.SplitSeq(path, ".") {
			v, _ = fieldByName(v, name)
		}
		if v.Kind() == reflect.Pointer && v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		var w yamlWriter
		value := w.flow(plainValue(v, reflect.Value{}, path, hidesNothing))
		if value == "" {
			value = `""`
		}
		changed := s
		if err := changed.Set(path + "=" + value); err != nil {
			t.Errorf("%s=%s: %v", path, value, err)
		}
	}
}

func TestSetLeavesAloneOnError(t *testing.T) {
	s := Default()
	if err := s.Set("traffic={port: 7000, payload: large}"); err == nil || !s.Equal(Default()) {
		t.Errorf("%v, and %#v", err, s.Traffic)
	}
}

func TestSetOneLine(t *testing.T) {
	s := Default()
	for _, bad := range []string{"name=a\nb", "name=\xff", "name=\x00"} {
		if err := s.Set(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// A rule about two fields points at the one that was set last, on top of a file.
func TestSetPlace(t *testing.T) {
	s, err := Parse("f.yaml", []byte("traffic:\n  payload: 4000\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("traffic.port=7000"); err != nil {
		t.Fatal(err)
	}
	s.Topology.MTU = 1500 // by no assignment: the file's value is what can be shown
	want := "f.yaml:2:12: traffic.payload: "
	if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := s.Set("topology.mtu=1400"); err != nil {
		t.Fatal(err)
	}
	want = "\n    topology.mtu=1400\n                 ^"
	if err := s.Validate(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A value that an assignment replaced as a whole takes the places of its elements with it, and a group that
// leaves a field out is not its place.
func TestPlacesAreReplaced(t *testing.T) {
	s, err := Parse("f.yaml", []byte("traffic:\n  groups: [239.1.1.1, 239.1.1.2]\ntopology: {slaves: {count: 2}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("traffic.groups={first: 239.2.1.1, count: 2}"); err != nil {
		t.Fatal(err)
	}
	s.Traffic.Groups = append(Groups{}, "239.2.1.1", "192.0.2.1")
	want := "traffic.groups.1: 192.0.2.1 is not a multicast address; allowed are 224.0.0.0 to 239.255.255.255, and ff00:: on\n" +
		"    traffic.groups={first: 239.2.1.1, count: 2}\n                   ^"
	if err := s.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.Traffic.Groups = Groups{"239.1.1.1"}
	s.Topology.Slaves.TxQueueLen = 0
	if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), "topology.slaves.txqueuelen: ") {
		t.Errorf("got %v, want no place", err)
	}
}
