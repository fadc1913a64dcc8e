package scenarios_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bondrepro/internal/judge"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// A scenario as the first version wrote it into a result file is read, valid, and means what it meant.
func TestScenarioOfAnOldResult(t *testing.T) {
	old, err := os.ReadFile("testdata/old/scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, young := range []string{`"queues"`, `"vlan"`, `"burst"`, `"join"`, `"accept"`, `"kind"`, `"load"`, `"arms"`} {
		if strings.Contains(string(old), young) {
			t.Fatalf("the old file has %s: it is not old", young)
		}
	}
	const doc = `{"schema": 1, "config": {"scenario": %s}, "arms": [{"name": "test", "scenario": %s, "preflight": {"truesize": 4352, "ring": 256}, "runs": []}]}`
	r, err := result.Decode("old.json", fmt.Appendf(nil, doc, old, old))
	if err != nil {
		t.Fatal(err)
	}
	main, _, err := scenarios.Load("bond-multicast-tx")
	if err != nil {
		t.Fatal(err)
	}
	if err := main.Set("sampling.interval=50ms"); err != nil { // as that run had it
		t.Fatal(err)
	}
	for _, s := range []scenarios.Scenario{r.Config.Scenario, r.Arms[0].Scenario} {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if !s.Equal(main) {
			t.Errorf("got %#v", s)
		}
	}
	if pf := judge.Again(r).Arms[0].Preflight; pf.Senders != 1 || pf.Exceeds {
		t.Errorf("preflight: %+v", pf)
	}
}
