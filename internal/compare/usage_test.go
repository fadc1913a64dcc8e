package compare

import (
	"fmt"
	"strings"
	"testing"
)

func TestArmsThatCanNotBe(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		want  string
	}{
		{Flags{}, "there are no arms to compare: give them as --a KEY=VALUE and --b KEY=VALUE, or name a scenario that has arms"},
		{Flags{Letters: [4][]string{{"offload.tso=off"}, {"offload.tso=off"}}}, "the arms a and b do not differ: give one of them a setting that the other does not have, such as --b offload.tso=off"},
		{Flags{Letters: [4][]string{nil, {"load.connections=1"}}}, "the arms a and b do not differ: give one of them a setting that the other does not have, such as --b offload.tso=off"},
		{Flags{Letters: [4][]string{{"offload.tso=off"}, {"ofload.tso=on"}}}, `arm b: there is no field "ofload" at the top; did you mean offload? (fields at the top: name, summary, workload, topology, traffic, load, orphan, offload, sysctl, sampling, guards, expect, accept, control, runs, faults, arms, cases, sweep)`},
		{Flags{Letters: [4][]string{{"load.connections=many"}, {"load.connections=2"}}}, `arm a: load.connections: is the text "many"; a whole number is wanted`},
		{Flags{Letters: [4][]string{{"tso"}}}, "--a tso: it must be KEY=VALUE, as in offload.tso=off"},
		{Flags{Letters: [4][]string{{"offload.tso="}}}, "--a offload.tso=: it must be KEY=VALUE, as in offload.tso=off"},
		{Flags{Letters: [4][]string{{"offload.tso=on", "offload.tso=off"}}}, "--a offload.tso=off: offload.tso of arm a was given already"},
		{Flags{Named: []string{"old"}}, "--arm old: it must be NAME:KEY=VALUE, as in old:kernel=./linux"},
		{Flags{Named: []string{"kernel=deb:x"}}, "--arm kernel=deb:x: it must be NAME:KEY=VALUE, as in old:kernel=./linux"},
	} {
		v, err := c.flags.Variants()
		if err == nil {
			_, _, err = Arms(Base{Scenario: stream(t)}, v)
		}
		if text, _, _ := strings.Cut(fmt.Sprint(err), "\n"); text != c.want { // below it the place is shown
			t.Errorf("%v:\n got %v\nwant %s", c.flags, err, c.want)
		}
	}
}

func TestArmsFromFlags(t *testing.T) {
	v, err := Flags{Letters: [4][]string{nil, {"load.connections=4", "kernel=deb:x=1"}}, Named: []string{"big:load.write=65536", "big:offload.tso=off"}}.Variants()
	if err != nil {
		t.Fatal(err)
	}
	_, arms, err := Arms(Base{Scenario: stream(t), Modules: map[string]string{"veth": "v.ko"}}, v)
	if err != nil {
		t.Fatal(err)
	}
	if len(arms) != 3 || arms[0].Name != "a" || len(arms[0].Settings) != 0 || arms[1].Kernel != "deb:x=1" || arms[1].Scenarios[0].Load.Connections != 4 ||
		arms[2].Scenarios[0].Load.Write != 65536 || arms[2].Modules["veth"] != "v.ko" {
		t.Errorf("%+v", arms)
	}
	if got := groups(arms); len(got) != 2 || len(got[0]) != 2 {
		t.Errorf("groups %v", got)
	}
}

func TestGatesThatCanNotBe(t *testing.T) {
	for text, want := range map[string]string{
		"throughput":           `--fail-if "throughput": it must be METRIC < PERCENT, with <, <=, > or >=, as in 'throughput < -5%'`,
		"throughput < -5":      `--fail-if "throughput < -5": it must be METRIC < PERCENT, with <, <=, > or >=, as in 'throughput < -5%'`,
		"throughput == 5%":     `--fail-if "throughput == 5%": it must be METRIC < PERCENT, with <, <=, > or >=, as in 'throughput < -5%'`,
		"troughput < -5%":      `--fail-if "troughput < -5%": "troughput" is not a metric; did you mean throughput? (docs/metrics.md lists them)`,
		"throughput < -5.5.5%": `--fail-if "throughput < -5.5.5%": "-5.5.5" is not a number`,
	} {
		if _, err := ParseGate(text); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{"throughput<-5%", " throughput >= +2.5 % "} {
		if _, err := ParseGate(text); err != nil {
			t.Error(err)
		}
	}
}

func TestFilesThatCanNotBe(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"{", "a.json: not a result file: line 1, column 1: unexpected end of JSON input"},
		{"{}", "a.json: not a result file: it is JSON without a schema version"},
		{`{"kind":"comparison","schema":99}`, "a.json: its schema is version 99 and this program reads version 1: use the bondrepro that wrote it"},
		{`{"kind":"comparison","schema":1,"arms":[{"name":"a","boots":1}]}`, "compare: the file holds one arm only: name a second file, or a scenario with --a and --b"},
	} {
		if _, err := Files([]File{{"a.json", []byte(c.data)}}, Claims{}, ""); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.data, err, c.want)
		}
	}
}
