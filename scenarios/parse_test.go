package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	var out strings.Builder
	files := sources(t, "testdata/bad/*.yaml")
	for _, name := range sortedKeys(files) {
		_, err := Parse(name, files[name])
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an *Error", name, err)
			continue
		}
		fmt.Fprintf(&out, "%v\n\n", err)
	}
	golden(t, "testdata/bad.golden", out.String())
}

func TestParseAccepts(t *testing.T) {
	var out strings.Builder
	files := sources(t, "testdata/good/*.yaml")
	for _, name := range sortedKeys(files) {
		s, err := Parse(name, files[name])
		if err != nil {
			t.Error(err)
			continue
		}
		roundTrip(t, s)
		text, _ := Marshal(s)
		fmt.Fprintf(&out, "%s\n", text)
	}
	golden(t, "testdata/good.golden", out.String())
}

// roundTrip checks that a scenario survives YAML, JSON, and YAML made of its JSON.
func roundTrip(t *testing.T, s Scenario) {
	t.Helper()
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse("again.yaml", text)
	if err != nil {
		t.Fatalf("refused what Marshal wrote: %v\n%s", err, text)
	}
	if !back.Equal(s) {
		t.Fatalf("YAML changed\n%#v\nto\n%#v\nby\n%s", s, back, text)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON Scenario
	if err := json.Unmarshal(data, &fromJSON); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if !fromJSON.Equal(s) {
		t.Fatalf("JSON changed\n%#v\nto\n%#v\nby\n%s", s, fromJSON, data)
	}
}

// A file that says nothing but its name is the default.
func TestLeftOutIsDefault(t *testing.T) {
	s, err := Parse("dir/short.yaml", []byte("topology: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Name = "short"
	if !s.Equal(want) {
		t.Errorf("got %#v", s)
	}
}

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// The main scenario that comes with the program writes out every default.
func TestMainScenario(t *testing.T) {
	s, src, err := Load("bond-multicast-tx")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths("", reflect.TypeFor[Scenario]()) {
		if _, last := cutLast(path); !s.hides(path) && !strings.Contains(string(src), last+":") && !strings.HasPrefix(path, "topology.bond.") {
			t.Errorf("the file does not show %s", path)
		}
	}
	for _, commit := range []string{"fc6055a5ba31", "62b1a8ab9b36"} {
		if !strings.Contains(s.Summary, commit) {
			t.Errorf("the summary does not name %s", commit)
		}
	}
	s.Summary = ""
	if !s.Equal(Default()) {
		t.Errorf("differs from Default: %#v", s)
	}
	_, _, err = Load("bond-multicst-tx")
	want := `there is no scenario "bond-multicst-tx"; did you mean bond-multicast-tx? (there are: ` + strings.Join(Names(), ", ") + `; a file's name ends in .yaml)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestIsFile(t *testing.T) {
	for arg, want := range map[string]bool{"bond-multicast-tx": false, "x.yaml": true, "./x": true, "x.yml": true, "yaml": false} {
		if IsFile(arg) != want {
			t.Errorf("IsFile(%q) is %v", arg, !want)
		}
	}
}

// What would take the library long, or fill the screen, is refused early and shown in part.
func TestTooMuch(t *testing.T) {
	for src, want := range map[string]string{
		strings.Repeat("[", maxSource+1):                                                         "x.yaml: is longer than 65536 bytes",
		strings.Repeat("[", maxSource):                                                           "x.yaml:1:51: more than 50 brackets within each other",
		"control: {a: " + strings.Repeat("[", 49) + strings.Repeat("]", 49) + "}":                "can't be set: there is no field \"a\"",
		"summary: " + strings.Repeat("ä", 500) + "\nname: {a: " + strings.Repeat("x", 500) + "}": "x.yaml:2:7: name: is a group of fields; a text is wanted\n    name: {a: xxx",
	} {
		_, err := Parse("x.yaml", []byte(src))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestLongLineShowsTheCaretsPlace(t *testing.T) {
	line := strings.Repeat("a", 300) + "X" + strings.Repeat("b", 300)
	shown := strings.Split((&Error{Source: line, Column: 301, Message: "m"}).Error(), "\n")
	if caret := strings.Index(shown[2], "^"); []rune(shown[1])[caret] != 'X' {
		t.Errorf("got\n%s\n%s", shown[1], shown[2])
	}
}
