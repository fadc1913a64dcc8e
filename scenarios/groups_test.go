package scenarios

import (
	"reflect"
	"testing"
)

// Braces around a list of IPv6 addresses need no quotes: in YAML a colon that no blank follows parts nothing.
func TestAddressesInBraces(t *testing.T) {
	for src, want := range map[string]Groups{
		`traffic: {groups: [ff05::1]}`:                            {"ff05::1"},
		`traffic: {groups: [ff05::1, ff0e::a:3 , "ff05::4"]}`:     {"ff05::1", "ff0e::a:3", "ff05::4"},
		`{traffic: {groups: [ff05:0:0:0:0:0:0:2,ff05::3]}}`:       {"ff05:0:0:0:0:0:0:2", "ff05::3"},
		`traffic: {groups: {first: ff05::1, count: 2}}`:           {"ff05::1", "ff05::2"},
		"traffic:\n  groups:\n    - ff05::1\n    - ff05::2\n":     {"ff05::1", "ff05::2"},
		`traffic: {port: 6001, groups: [ ff05::1 ], payload: 64}`: {"ff05::1"},
	} {
		s, err := Parse("f.yaml", []byte(src))
		if err != nil || !reflect.DeepEqual(s.Traffic.Groups, want) {
			t.Errorf("%s: got %q, %v", src, s.Traffic.Groups, err)
		}
	}
	s, err := Parse("f.yaml", []byte(`control: {traffic.groups: [ff05::5]}`))
	if arm, _ := s.ControlArm(); err != nil || !reflect.DeepEqual(arm.Traffic.Groups, Groups{"ff05::5"}) {
		t.Errorf("as a control: got %q, %v", arm.Traffic.Groups, err)
	}
}
