package bisect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/kbuild"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// reader is a Runner whose kernels are files of words, one a boot: the next boot is what the next word says, and the last
// word stays. A word that begins with # only tells a kernel from others.
type reader struct {
	boots int
	rates [][]float64 // given, one a boot
}

// stories are what the words of a kernel stand for.
var stories = map[string]result.Trial{
	"clean":   {Verdict: result.Good, Reason: "nothing was dropped"},
	"orphan":  {Verdict: result.Bad, Cause: result.CauseKernel, Diagnosis: result.BackPressureLost, Reason: "back-pressure is lost"},
	"drops":   {Verdict: result.Bad, Cause: result.CauseKernel, Diagnosis: result.DropsUnpredicted, Reason: "slaves drop"},
	"sndbuf":  {Verdict: result.Bad, Cause: result.CauseConfiguration, Diagnosis: result.SndbufExceedsQueue, Reason: "the send buffers are too large"},
	"tight":   {Verdict: result.Good, Predicted: true, Reason: "the send buffers may be too large"},
	"panic":   {Verdict: result.Inconclusive, Failed: true, Reason: "the kernel panicked"},
	"unclear": {Verdict: result.Inconclusive, Reason: "the line was not full"},
}

func (r *reader) words(image Image) []string {
	text, err := os.ReadFile(filepath.Join(image.Kernel, bzImage))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

func (r *reader) Fingerprint(_ context.Context, image Image) (string, error) {
	words := r.words(image)
	switch {
	case len(words) == 0:
		return "", &UsageError{Err: errors.New("it is no kernel")}
	case words[0] == "bare":
		return "", &BrokenError{Reason: "the kernel has no bonding"}
	case words[0] == "ill":
		return "", errors.New("the disk is on fire")
	}
	return strings.Join(words, " "), nil
}

func (r *reader) Run(_ context.Context, image Image, rate []float64) (result.Trial, error) {
	words := slices.DeleteFunc(r.words(image), func(w string) bool { return w[0] == '#' })
	r.rates = append(r.rates, rate)
	word := words[min(r.boots, len(words)-1)]
	r.boots++
	if word == "error" {
		return result.Trial{}, errors.New("QEMU was killed")
	}
	t, ok := stories[word]
	if !ok {
		return t, fmt.Errorf("no story %q", word)
	}
	t.LineRate = rate
	if t.Failed {
		t.LineRate = nil // it did not come so far
	} else if rate == nil {
		t.LineRate = []float64{float64(1000 + r.boots)}
	}
	return t, nil
}

// kernels is a repository whose commits hold a kernel each.
type kernels struct {
	*commits
	runner  *reader
	options StepOptions
	lines   []string // logged
}

func newKernels(t *testing.T) *kernels {
	k := &kernels{commits: newCommits(t)}
	k.options = StepOptions{
		Dir: k.dir, Log: func(line string) { k.lines = append(k.lines, line) },
		Run: reproducer.Options{
			Scenario: scenarios.Scenario{Runs: scenarios.Runs{SymptomRate: 0.9, Confidence: 0.99, Max: 3}}, // two clean boots
			Progress: func(string) {},
		},
	}
	return k
}

func (k *kernels) kernel(words string) string {
	return k.add(bzImage, words, "number", fmt.Sprint(time.Now().UnixNano()))
}

// step takes one step at what is checked out.
func (k *kernels) step(change ...func(*StepOptions)) (result.BisectStep, error) {
	k.t.Helper()
	o := k.options
	for _, c := range change {
		c(&o)
	}
	k.runner, k.lines = &reader{}, nil
	u := tools{
		runner: k.runner,
		tree: func(_ context.Context, t kbuild.Tree) (string, error) {
			if strings.HasPrefix(t.Command, "fail") {
				return "", &kbuild.BuildError{Reason: "a.c:1: error"}
			}
			text, err := os.ReadFile(filepath.Join(t.Source, "source"))
			return t.Out, cmp.Or(err, errors.Join(os.MkdirAll(filepath.Join(t.Out, filepath.Dir(bzImage)), 0o755), os.WriteFile(filepath.Join(t.Out, bzImage), text, 0o644)))
		},
		command: kbuild.Command,
	}
	step, err := u.step(k.t.Context(), o)
	return step, asUsage(err)
}

// want takes a step and wants that outcome after so many boots.
func (k *kernels) want(outcome string, boots int, says string, change ...func(*StepOptions)) result.BisectStep {
	k.t.Helper()
	step, err := k.step(change...)
	if err != nil {
		k.t.Fatal(err)
	}
	if step.Outcome != outcome || len(step.Trials) != boots || k.runner.boots != boots || !strings.Contains(step.Why, says) {
		k.t.Errorf("%s after %d boots (%d told), %q; want %s after %d, %q", step.Outcome, k.runner.boots, len(step.Trials), step.Why, outcome, boots, says)
	}
	return step
}

// rate is the line rate that the first boot of the last step was given; nil: none.
func (k *kernels) rate() []float64 {
	k.t.Helper()
	if len(k.runner.rates) == 0 {
		k.t.Fatal("nothing was booted")
	}
	return k.runner.rates[0]
}

func TestStepOutcomes(t *testing.T) {
	k := newKernels(t)
	for _, x := range []struct {
		words   string
		outcome string
		boots   int
		says    string
		usage   bool
	}{
		{"clean", isGood, 2, "nothing was dropped", false},
		{"orphan", isBad, 1, "back-pressure is lost", false},
		{"clean orphan", isBad, 2, "back-pressure is lost", false},
		{"unclear clean clean", isGood, 3, "nothing was dropped", false},
		{"unclear unclear orphan", isBad, 3, "back-pressure is lost", false},
		{"clean unclear unclear", isSkipped, 3, "1 of 3 boots were clean, and good takes 2: the line was not full", false},
		{"panic", isSkipped, 1, "the kernel panicked", false},
		{"clean panic", isSkipped, 2, "the kernel panicked", false},
		{"bare", isSkipped, 0, "no bonding", false},
		{"sndbuf", "", 0, "fails on good kernels, too", true},
		{"tight", "", 0, "fails on good kernels, too", true},
		{"", "", 0, "no kernel", true},
		{"error", "", 0, "QEMU was killed", false},
		{"ill", "", 0, "the disk is on fire", false},
	} {
		id := k.kernel(x.words)
		if x.outcome != "" {
			if step := k.want(x.outcome, x.boots, x.says); step.ID != id || !strings.HasPrefix(step.Name, id[:12]+" ") {
				t.Errorf("%q: the step is of %s, %q", x.words, step.ID, step.Name)
			}
			continue
		}
		_, err := k.step()
		var usage *UsageError
		if err == nil || errors.As(err, &usage) != x.usage || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%q: %v, want an error that says %q", x.words, err, x.says)
		}
	}
	if exists(filepath.Join(k.dir, ".git", stepFolder)) {
		t.Error("a state is kept where no bisect is under way")
	}
}

// TestStepState: what steps of one git bisect hand on, and that another one's do not.
func TestStepState(t *testing.T) {
	k := newKernels(t)
	good := k.kernel("clean")
	other := k.kernel("drops")
	unclear := k.kernel("unclear")
	fails := k.kernel("panic")
	same := k.kernel("clean")
	k.git("revert", "--no-edit", same)
	bad := k.kernel("orphan")
	begin := func() {
		k.git("bisect", "start", bad, good)
		k.git("checkout", "--quiet", bad)
	}
	at := func(id string) { k.git("checkout", "--quiet", id) }

	begin()
	k.want(isBad, 1, "back-pressure")
	at(fails)
	k.want(isSkipped, 1, "panicked")
	at(good)
	k.want(isGood, 2, "nothing was dropped")
	if want := []float64{1001}; len(k.runner.rates) != 2 || !slices.Equal(k.runner.rates[0], want) || !slices.Equal(k.runner.rates[1], want) {
		t.Errorf("the line rates are %v, want %v of the first boot", k.runner.rates, want)
	}
	at(other)
	k.want(isSkipped, 1, "another reason than the bad end, drops-unpredicted instead of back-pressure-lost")
	k.want(isSkipped, 0, "another reason") // known by now
	at(same)
	if step := k.want(isGood, 0, "nothing was dropped"); step.Reused != 2 || len(k.lines) != 1 || !strings.Contains(k.lines[0], good[:12]) {
		t.Errorf("reused %d boots; it says %q", step.Reused, k.lines)
	}
	at(unclear)
	k.want(isSkipped, 3, "0 of 3 boots")
	k.want(isSkipped, 3, "0 of 3 boots") // what could not be told is tried again
	k.git("bisect", "reset")
	begin() // the same ends, and another bisect
	at(other)
	k.want(isBad, 1, "slaves drop")
	if k.rate() != nil {
		t.Errorf("a later bisect has the line rate %v of the one before", k.rate())
	}
	at(good)
	k.want(isGood, 2, "", func(o *StepOptions) { o.Run.Scenario.Topology.MTU = 1500 })
	if len(k.lines) != 3 || !strings.Contains(k.lines[0], "the scenario is another") || k.rate() != nil {
		t.Errorf("another scenario: rates %v, it says %q", k.runner.rates, k.lines)
	}
	k.git("bisect", "reset")
	at(good)
	k.want(isGood, 2, "")
	if k.rate() != nil {
		t.Error("without a bisect, the line rate of one is used")
	}

	k.git("bisect", "start", "--term-old=broken", "--term-new=fixed")
	if _, err := k.step(); err == nil || !strings.Contains(err.Error(), `calls its newer end "fixed"`) {
		t.Errorf("a bisect with terms of its own: %v", err)
	}
	k.git("bisect", "reset")
	k.git("bisect", "start")
	k.want(isGood, 2, "")
	if err := os.WriteFile(filepath.Join(k.dir, ".git", stepFolder, "bisect.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := k.step(); err == nil || !strings.Contains(err.Error(), "damaged: remove it") {
		t.Errorf("a damaged state: %v", err)
	}
}

// TestStepInAWorktree: a bisect of one working tree is none of another's.
func TestStepInAWorktree(t *testing.T) {
	k := newKernels(t)
	good := k.kernel("clean")
	bad := k.kernel("orphan")
	k.git("bisect", "start", bad, good)
	k.want(isBad, 1, "")
	tree := filepath.Join(t.TempDir(), "tree")
	k.git("worktree", "add", "--quiet", "--detach", tree, good)
	k.want(isGood, 2, "", func(o *StepOptions) { o.Dir = tree })
	if k.rate() != nil {
		t.Errorf("the line rate %v came from another working tree", k.rate())
	}
}

// TestStepFindsTheCommit is a whole git bisect, with merges, commits that are skipped, and one that is bad for another reason.
func TestStepFindsTheCommit(t *testing.T) {
	k := newKernels(t)
	good := k.kernel("clean #1")
	k.kernel("clean #2")
	k.kernel("panic")
	fork := k.kernel("clean #3")
	k.branch("side", fork)
	culprit := k.kernel("orphan #1")
	k.kernel("bare")
	k.git("checkout", "--quiet", "main")
	k.add("other", "x")
	k.git("merge", "--quiet", "--no-ff", "-m", "merge side", "side")
	k.kernel("clean orphan #2")
	k.kernel("drops")
	bad := k.kernel("orphan #3")

	k.git("checkout", "--quiet", bad)
	k.git("bisect", "start")
	k.want(isBad, 1, "") // as the docs say: once on the bad end
	k.git("bisect", "bad")
	out := k.git("bisect", "good", good)
	for range 20 {
		if strings.Contains(out, "is the first bad commit") {
			break
		}
		step, err := k.step()
		if err != nil {
			t.Fatal(err)
		}
		out = k.git("bisect", map[string]string{isGood: "good", isBad: "bad", isSkipped: "skip"}[step.Outcome])
	}
	if !strings.Contains(out, culprit+" is the first bad commit") {
		t.Errorf("want %s; git says %s", culprit, out)
	}
}

func TestStepImages(t *testing.T) {
	k := newKernels(t)
	k.add("source", "clean")
	build := func(command string) func(*StepOptions) {
		return func(o *StepOptions) { o.Build, o.Command = true, command }
	}
	named := t.TempDir()
	if err := copyInto(named, bzImage); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(named, bzImage), []byte("orphan"), 0o644); err != nil {
		t.Fatal(err)
	}
	kernel := func(o *StepOptions) { o.Run.Kernel = named }

	k.want(isGood, 2, "", build(""))
	if step := k.want(isSkipped, 0, "a.c:1: error", build("fail")); !strings.Contains(step.Why, "build.log") {
		t.Errorf("it does not name the log: %q", step.Why)
	}
	k.want(isBad, 1, "", kernel)
	k.want(isBad, 1, "", kernel, build("test -f source"))
	k.want(isSkipped, 0, "does not build", kernel, build("echo 'a.c:2: error: x'; exit 2"))
	if k.git("status", "--porcelain") != "" {
		t.Errorf("building changed the tree: %s", k.git("status"))
	}
	outside := func(o *StepOptions) { o.Dir = t.TempDir() }
	if step := k.want(isBad, 1, "", kernel, outside); step.ID != "" {
		t.Errorf("outside of a repository the step is of %q", step.ID)
	}

	for _, x := range []struct {
		change []func(*StepOptions)
		says   []string
	}{
		{nil, []string{"there is no " + bzImage + " in " + k.dir, "build it, or add --build"}},
		{[]func(*StepOptions){outside}, []string{"no --kernel is named", "is in no git repository"}},
		{[]func(*StepOptions){kernel, build("")}, []string{"leave one out"}},
		{[]func(*StepOptions){kernel, outside, build("true")}, []string{"no working tree"}},
	} {
		_, err := k.step(x.change...)
		wantUsage(t, err, x.says...)
	}
}

// TestStepStateIsReadable: the state is what its documentation says.
func TestStepStateIsReadable(t *testing.T) {
	k := newKernels(t)
	good := k.kernel("clean")
	bad := k.kernel("orphan")
	k.git("bisect", "start", bad, good)
	k.git("checkout", "--quiet", bad)
	k.want(isBad, 1, "")
	data, err := os.ReadFile(filepath.Join(k.dir, ".git", stepFolder, "bisect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got stepState
	if err := json.Unmarshal(data, &got); err != nil || got.Diagnosis != result.BackPressureLost || len(got.Verdicts) != 1 || got.Verdicts[0].Outcome != isBad {
		t.Errorf("the state is %s, %v", data, err)
	}
}
