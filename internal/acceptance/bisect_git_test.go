package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bondrepro/reproducer/result"
)

// lines is a buffer for two streams at once.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestBisectModule: `bondrepro bisect module` names the commit that brought the fault, and skips those that can't be
// measured.
func TestBisectModule(t *testing.T) {
	need(t)
	for _, seed := range bisectSeeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, seed)
			file := filepath.Join(t.TempDir(), "report.json")
			began := time.Now()
			args := append([]string{"bisect", "module", "--module", "bonding", "--source", bondingFolder, "--headers", headers,
				"--kernel", kernelDeb, "--good", h.good, "--bad", "main", "--confidence", moduleConfidence(), "-o", file}, brief...)
			code, output := runIn(t, h.folder, nil, binary, append(args, "bond-multicast-tx")...)
			wall := time.Since(began)
			defer func() {
				if err := report.add("bisect module, a history of 12 commits", "0, the culprit named", wall, !t.Failed()); err != nil {
					t.Error(err)
				}
			}()
			t.Logf("%.0f s; it wrote:\n%s", wall.Seconds(), output)
			if code != 0 {
				t.Fatalf("it ended in %d", code)
			}
			if want := "first bad commit: " + h.culprit + " bonding: orphan packets early"; !strings.Contains(output, want) {
				t.Errorf("it does not say %q", want)
			}
			h.checkReport(t, file)
			h.untouched(t)
		})
	}
}

// moduleConfidence saves boots where there is only one history to look at.
func moduleConfidence() string {
	if soakReport != "" {
		return "0.99"
	}
	return "0.9"
}

// checkReport wants the culprit in the report, and no outcome for what can't be measured.
func (h *bondingHistory) checkReport(t *testing.T, file string) {
	t.Helper()
	var r result.BisectReport
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Culprit != h.culprit || r.Kind != "module" || r.Diagnosis != result.BackPressureLost || r.Wrong > 1-r.Confidence {
		t.Errorf("the report names %s (%s, %s, wrong by %g)", r.Culprit, r.Kind, r.Diagnosis, r.Wrong)
	}
	skipped := 0
	for _, s := range r.Steps {
		if s.Outcome == "skipped" {
			skipped++
		}
		if broken := slices.Contains(h.skipped, s.ID); broken != (s.Outcome == "skipped") {
			t.Errorf("%s is %s: %s", s.Name, s.Outcome, s.Why)
		}
	}
	if skipped == 0 {
		t.Error("no commit was skipped")
	}
}

// untouched wants the user's checkout as it was.
func (h *bondingHistory) untouched(t *testing.T) {
	t.Helper()
	if branch, status := h.git(t, "branch", "--show-current"), h.git(t, "status", "--porcelain"); branch != "main" || status != "" {
		t.Errorf("the checkout is on %q and has changes:\n%s", branch, status)
	}
	if list := h.git(t, "worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("worktrees are left:\n%s", list)
	}
}

// TestBisectStep: `git bisect run bondrepro bisect step`, as a user types it, ends at the commit that brought the fault.
func TestBisectStep(t *testing.T) {
	need(t)
	for _, seed := range bisectSeeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, seed)
			build := fmt.Sprintf("make -s -C %s M=$PWD/%s modules", headers, bondingFolder)
			step := append([]string{"bondrepro", "bisect", "step", "--kernel", kernelDeb,
				"--module", "bonding=" + bondingFolder + "/bonding.ko", "--build=" + build}, brief...)
			step = append(step, "bond-multicast-tx")
			path := []string{"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")}
			began := time.Now()
			var all string
			for _, c := range []struct {
				exit    int
				command []string
			}{
				{0, []string{"git", "bisect", "start", "main", h.good}},
				{0, []string{"git", "checkout", "--quiet", "main"}},
				{1, step}, // once on the bad end, whose diagnosis then counts
				{0, append([]string{"git", "bisect", "run"}, step...)},
			} {
				program := map[string]string{"git": "git", "bondrepro": binary}[c.command[0]]
				code, output := runIn(t, h.folder, path, program, c.command[1:]...)
				all += output
				if code != c.exit {
					t.Fatalf("%.40q ended in %d; it wrote:\n%s", c.command, code, all)
				}
			}
			wall := time.Since(began)
			t.Logf("%.0f s; it wrote:\n%s", wall.Seconds(), all)
			if want := h.culprit + " is the first bad commit"; !strings.Contains(all, want) {
				t.Errorf("it does not say %q", want)
			}
			if want := "its verdict stands"; !strings.Contains(all, want) { // git begins with the bad end
				t.Errorf("it does not say %q", want)
			}
			log := h.git(t, "bisect", "log")
			if !strings.Contains(log, "git bisect skip") {
				t.Errorf("no commit was skipped:\n%s", log)
			}
			for _, id := range h.skipped {
				if strings.Contains(log, "git bisect good "+id) || strings.Contains(log, "git bisect bad "+id) {
					t.Errorf("%s can't be measured, and was judged:\n%s", id, log)
				}
			}
			if err := report.add("git bisect run bondrepro bisect step, a history of 12 commits", "0, the culprit named", wall, !t.Failed()); err != nil {
				t.Error(err)
			}
		})
	}
}
