package scenarios

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func parsed(t *testing.T, src string) Scenario {
	t.Helper()
	s, err := Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const twoByTwo = `workload: stream
topology: {kind: loopback}
arms:
  z: {offload.tso: off}
  a: {offload.tso: on, sysctl.net.ipv4.tcp_sack: 0}
cases:
  small: {load.write: 100}
  asks: {workload: rr, load.request: 9}
`

// Arms and cases keep their order, in files and in results.
func TestVariantsKeepTheirOrder(t *testing.T) {
	s := parsed(t, twoByTwo)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Scenario
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Scenario{s, back} {
		if arms, cases := s.Arms.Names(), s.Cases.Names(); !reflect.DeepEqual(arms, []string{"z", "a"}) || !reflect.DeepEqual(cases, []string{"small", "asks"}) {
			t.Errorf("got %v, %v", arms, cases)
		}
	}
	if !strings.Contains(string(data), `"arms":[{"name":"z","set":{"offload.tso":"off"}},`) {
		t.Errorf("got %s", data)
	}
}

// With is one measurement: the variants' settings, and nothing of comparisons.
func TestWith(t *testing.T) {
	s := parsed(t, twoByTwo)
	one, err := s.With(s.Cases[1], s.Arms[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Validate(); err != nil {
		t.Error(err)
	}
	if one.Workload != "rr" || one.Load.Request != 9 || one.Offload["tso"] != "on" || one.Sysctl["net.ipv4.tcp_sack"] != "0" || len(one.Arms)+len(one.Cases) != 0 {
		t.Errorf("got %#v", one)
	}
	if s.Workload != "stream" || len(s.Offload) != 0 || len(s.Arms) != 2 {
		t.Errorf("the scenario itself changed: %#v", s)
	}
	if all := s.Each(); len(all) != 4 || !all[3].Equal(one) || all[0].Load.Write != 100 || all[0].Offload["tso"] != "off" {
		t.Errorf("each: %#v", all)
	}
	if all := parsed(t, "name: a").Each(); all != nil {
		t.Errorf("each of nothing: %#v", all)
	}
	if _, err := s.With(Variant{Name: "x", Set: map[string]any{"load.wirte": 1.0}}); err == nil || !strings.Contains(err.Error(), "did you mean write?") {
		t.Errorf("got %v", err)
	}
}

// What the arms of a file set becomes rows under other arms, unless those set it, too.
func TestCompared(t *testing.T) {
	kernels := Variants{{Name: "old", Set: map[string]any{"kernel": "a.deb"}}, {Name: "new", Set: map[string]any{"kernel": "b.deb", "module.veth": "veth.ko"}}}
	s, err := parsed(t, twoByTwo).Compared(kernels)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"small, z", "small, a", "asks, z", "asks, a"}; !reflect.DeepEqual(s.Cases.Names(), want) || len(s.Each()) != 8 {
		t.Errorf("got %v", s.Cases.Names())
	}
	if v := s.Arms[1]; v.Kernel() != "b.deb" || !reflect.DeepEqual(v.Modules(), map[string]string{"veth": "veth.ko"}) || !reflect.DeepEqual(v.Settings(), []string{"kernel=b.deb", "module.veth=veth.ko"}) {
		t.Errorf("got %q, %v, %q", v.Kernel(), v.Modules(), v.Settings())
	}
	s, err = parsed(t, twoByTwo).Compared(Variants{{Name: "a", Set: map[string]any{"offload.tso": "on"}}, {Name: "b", Set: map[string]any{"offload.tso": "off"}}})
	if err != nil || !reflect.DeepEqual(s.Cases.Names(), []string{"small", "asks"}) {
		t.Errorf("got %v, %v", s.Cases.Names(), err)
	}
	// A scenario with a verdict has none as a comparison.
	s, err = Default().Compared(Variants{{Name: "a", Set: map[string]any{}}, {Name: "b", Set: map[string]any{"traffic.senders": 8.0}}})
	if err != nil || len(s.Expect)+len(s.Control) != 0 {
		t.Errorf("got %#v, %v", s, err)
	}
	roundTrip(t, s)
	_, err = Default().Compared(Variants{{Name: "a", Set: map[string]any{}}, {Name: "b", Set: map[string]any{"traffic.senders": 1.0}}})
	if err == nil || !strings.Contains(err.Error(), "arms.b: does not differ from a") {
		t.Errorf("arms that do not differ: %v", err)
	}
}

// What a scenario can't have in any run is told, also of a tool's.
func TestLacks(t *testing.T) {
	for _, c := range []struct{ src, metric, why string }{
		{"name: a", "throughput", "workload is udp-multicast"},
		{"name: a", "slaves.qdisc.dropped", ""},
		{twoByTwo, "slaves.qdisc.dropped", "workload is stream"},
		{twoByTwo, "latency.oneway", "no transactions"},
		{twoByTwo, "throughput", ""},
		{"workload: rr\ntopology: {kind: veth}", "latency.oneway", ""},
		{"workload: rr\ntopology: {kind: veth}", "datagrams.lost", "needs datagrams"},
		{"workload: rr\ntopology: {kind: veth}\nload: {protocol: udp}", "datagrams.lost", ""},
		{"workload: external\ntopology: {kind: veth}\nload: {tool: tbench}\ntraffic: {warmup: 0s}", "cpu.client.user", "external tool"},
		{"workload: external\ntopology: {kind: veth}\nload: {tool: iperf3}\ntraffic: {warmup: 0s}", "latency.mean", "no transactions"},
	} {
		s := parsed(t, c.src)
		if why := s.Lacks(c.metric); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s of %q: %q, want %q", c.metric, c.src, why, c.why)
		}
	}
}

// A field that does not go with a scenario is one that a file may leave out, and Marshal does.
func TestScopes(t *testing.T) {
	for _, c := range scopes {
		if _, ok := fieldAt(c.path); !ok {
			t.Errorf("there is no field %s", c.path)
		}
	}
	text, err := Marshal(parsed(t, twoByTwo))
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"bond", "slaves", "senders", "expect", "guards", "response", "tool"} {
		if strings.Contains(string(text), absent+":") {
			t.Errorf("%s is in\n%s", absent, text)
		}
	}
}

func fieldAt(path string) (v reflect.Value, ok bool) {
	v = reflect.ValueOf(Default())
	for name := range strings.SplitSeq(path, ".") {
		if v, ok = fieldByName(v, name); !ok {
			return v, false
		}
	}
	return v, true
}
