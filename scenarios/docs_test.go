package scenarios

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// docs/scenario.md is the one description of the format: no field may be missing from it.
func TestEveryFieldIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	groups := []string{"topology", "topology.bond", "topology.slaves", "traffic", "traffic.burst", "traffic.socket", "sampling", "guards", "runs", "load"}
	documented := func(path string) bool { return strings.Contains(string(text), "`"+path+"`") }
	for _, path := range paths("", reflect.TypeFor[Scenario]()) {
		isGroup := false
		for _, g := range groups {
			isGroup = isGroup || g == path
		}
		if !isGroup && !documented(path) {
			t.Errorf("docs/scenario.md says nothing of %s", path)
		}
	}
	for _, action := range fieldNames(reflect.TypeFor[Fault]()) {
		if !strings.Contains(string(text), action+": ") {
			t.Errorf("docs/scenario.md says nothing of the fault %s", action)
		}
	}
	for _, name := range Names() {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("docs/scenario.md says nothing of the scenario %s", name)
		}
	}
	for _, code := range acceptable {
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("docs/scenario.md says nothing of accepting %s", code)
		}
	}
}
