package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBisectFlaky: a module that orphans in 40 % of its boots. The bisect measures that rate, boots each step often enough,
// and names the commit. It takes some 80 boots, so only the soak has the time; internal/bisect simulates the rest.
func TestBisectFlaky(t *testing.T) {
	need(t)
	if soakReport == "" {
		t.Skip("some 80 boots take a quarter of an hour: make soak runs it")
	}
	seed := bisectSeeds(t)[0]
	h := newHistoryOf(t, seed, "orphan-boots")
	file := filepath.Join(t.TempDir(), "report.json")
	began := time.Now()
	args := append([]string{"bisect", "module", "--module", "bonding", "--source", bondingFolder, "--headers", headers,
		"--kernel", kernelDeb, "--good", h.good, "--bad", "main", "--confidence", "0.9", "-o", file}, brief...)
	code, output := runIn(t, h.folder, nil, binary, append(args, "bond-multicast-tx")...)
	wall := time.Since(began)
	t.Logf("seed %d, %.0f s; it wrote:\n%s", seed, wall.Seconds(), output)
	if code != 0 || !strings.Contains(output, fmt.Sprintf("first bad commit: %s ", h.culprit)) {
		t.Errorf("it ended in %d and does not name %s", code, h.culprit)
	}
	h.checkReport(t, file)
	h.untouched(t)
	if err := report.add("bisect module, a symptom in 40 % of the boots", "0, the culprit named", wall, !t.Failed()); err != nil {
		t.Error(err)
	}
}
