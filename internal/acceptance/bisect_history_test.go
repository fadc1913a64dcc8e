package acceptance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/osrun"
)

// bondingHistory is a git repository with a made-up history of the distribution's bonding driver: 12 commits after the
// import, of which one brings the early orphaning, one does not compile, and one panics when it is loaded.
type bondingHistory struct {
	folder  string
	good    string // the import
	culprit string
	skipped []string // the commits that can't be measured
	seed    uint64
}

// bondingFolder is where a kernel's tree has the driver.
const bondingFolder = "drivers/net/bonding"

// edit is one commit: the patch of tools/mutants that it applies or takes back, or a change that does no harm.
type edit struct {
	subject string
	patch   string
	back    bool
	change  func(folder string) error
}

// newHistory makes the history that a seed stands for: units of edits in a random order. What breaks a commit is mended by
// the next one, in the same unit. So no broken commit is right before the culprit, where nobody could tell the two apart,
// and the newest one is not broken. One that is broken is in the middle, where a bisect looks first.
func newHistory(t *testing.T, seed uint64) *bondingHistory {
	t.Helper()
	return newHistoryOf(t, seed, "orphan")
}

// newHistoryOf makes one whose culprit is a mutant of tools/mutants.
func newHistoryOf(t *testing.T, seed uint64, fault string) *bondingHistory {
	t.Helper()
	h := &bondingHistory{folder: t.TempDir(), seed: seed}
	driver := filepath.Join(h.folder, bondingFolder)
	if err := os.CopyFS(driver, os.DirFS(filepath.Join(headers, "../../..", bondingFolder))); err != nil {
		t.Fatal(err)
	}
	h.git(t, "init", "--quiet", "-b", "main")
	h.write(t, ".gitignore", "*.o\n*.ko\n*.mod\n*.mod.c\n.*.cmd\nmodules.order\nModule.symvers\n")
	h.good = h.commit(t, "bonding: as distributed")

	units := [][]edit{
		{{subject: "bonding: orphan packets early", patch: fault}},
		{{subject: "bonding: use a helper that is to come", change: appendTo("bond_alb.c", "int bonding_broken = no_such_helper;\n")},
			{subject: "bonding: do without the helper", change: cutFrom("bond_alb.c", "int bonding_broken = no_such_helper;\n")}},
		{{subject: "bonding: check the module when it is loaded", patch: "panic-load"},
			{subject: "bonding: no such check", patch: "panic-load", back: true}},
	}
	for i := range 7 {
		units = append(units, []edit{harmless(i)})
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for !brokenInTheMiddle(units) {
		random.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	}
	n := 0
	for _, unit := range units {
		for i, e := range unit {
			h.apply(t, e)
			id := h.commit(t, e.subject)
			n++
			switch {
			case e.patch == fault:
				h.culprit = id
				t.Logf("seed %d: commit %d of 12, %s, is the culprit", seed, n, id)
			case len(unit) > 1 && i == 0:
				h.skipped = append(h.skipped, id)
			}
		}
	}
	if n != historyLength {
		t.Fatalf("the history has %d commits", n)
	}
	return h
}

// historyLength is how many commits there are after the import.
const historyLength = 12

// brokenInTheMiddle tells whether the commit that has as many before it as from it on is one that can't be measured.
func brokenInTheMiddle(units [][]edit) bool {
	n := 0
	for _, unit := range units {
		if n++; n == historyLength/2 {
			return len(unit) > 1
		}
		n += len(unit) - 1
	}
	return false
}

// harmless is a change that a good kernel stays good with: of a comment, which leaves the module as it is and needs no boot,
// or of code.
func harmless(i int) edit {
	files := []string{"bond_procfs.c", "bond_netlink.c", "bond_options.c"}
	file := files[i%len(files)]
	if i%3 > 0 {
		return edit{subject: fmt.Sprintf("bonding: remark %d", i), change: appendTo(file, fmt.Sprintf("/* Remark %d. */\n", i))}
	}
	return edit{subject: fmt.Sprintf("bonding: note %d", i), change: appendTo(file, fmt.Sprintf("static const char bonding_note_%d[] __used = \"note %d\";\n", i, i))}
}

func appendTo(file, text string) func(string) error {
	return rewrite(file, func(old string) string { return old + text })
}

func cutFrom(file, text string) func(string) error {
	return rewrite(file, func(old string) string { return strings.Replace(old, text, "", 1) })
}

func rewrite(file string, change func(string) string) func(string) error {
	return func(folder string) error {
		name := filepath.Join(folder, file)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, []byte(change(string(text))), 0o644)
	}
}

func (h *bondingHistory) apply(t *testing.T, e edit) {
	t.Helper()
	if e.change != nil {
		if err := e.change(filepath.Join(h.folder, bondingFolder)); err != nil {
			t.Fatal(err)
		}
		return
	}
	patch, err := os.Open("../../tools/mutants/" + e.patch + ".patch")
	if err != nil {
		t.Fatal(err)
	}
	defer patch.Close()
	args := []string{"-p1", "--fuzz=3", "--no-backup-if-mismatch", "-s"}
	if e.back {
		args = append(args, "-R")
	}
	if _, err := osrun.Run(t.Context(), osrun.Cmd{Path: "patch", Args: args, Dir: h.folder, Stdin: patch}); err != nil {
		t.Fatal(err)
	}
}

func (h *bondingHistory) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *bondingHistory) commit(t *testing.T, subject string) string {
	t.Helper()
	h.git(t, "add", "--all")
	h.git(t, "commit", "--quiet", "-m", subject)
	return h.git(t, "rev-parse", "HEAD")
}

func (h *bondingHistory) git(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)
	out, err := osrun.Run(context.Background(), osrun.Cmd{Path: "git", Args: args, Dir: h.folder})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out.Stdout))
}

// bisectSeeds are the histories to try: one, of the environment's seed or a new one, and five in a soak.
func bisectSeeds(t *testing.T) []uint64 {
	t.Helper()
	if text := os.Getenv("BONDREPRO_BISECT_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("BONDREPRO_BISECT_SEED: %v", err)
		}
		return []uint64{seed}
	}
	first := uint64(time.Now().Unix())
	if soakReport == "" {
		return []uint64{first}
	}
	return []uint64{first, first + 1, first + 2, first + 3, first + 4}
}

// brief makes a boot short, and long enough for the 20 samples that a verdict takes.
var brief = set("traffic.duration=1s", "traffic.warmup=200ms")

// bisectPatience is far longer than a bisect of a dozen commits takes, also of a flaky symptom.
const bisectPatience = 2 * time.Hour

// runIn runs a program in a folder and gives its exit code and output. Its temporary folder must be empty after it.
func runIn(t *testing.T, dir string, env []string, path string, args ...string) (code int, output string) {
	t.Helper()
	tmp := shortTemp(t)
	var both lines
	_, err := osrun.Run(context.Background(), osrun.Cmd{
		Path: path, Args: args, Dir: dir, Env: append(append(os.Environ(), "TMPDIR="+tmp, "XDG_RUNTIME_DIR="+tmp), env...),
		Stdout: &both, Stderr: &both, Timeout: bisectPatience,
	})
	var failed *osrun.Error
	if err != nil && (!errors.As(err, &failed) || failed.Err != nil || failed.ExitCode < 0) {
		t.Fatalf("%v; it wrote:\n%s", err, both.String())
	}
	if failed != nil {
		code = failed.ExitCode
	}
	nothingLeft(t, tmp)
	return code, both.String()
}
