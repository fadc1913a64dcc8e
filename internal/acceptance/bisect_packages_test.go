package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/reproducer/result"
)

// fewKernels is how many kernels are bisected; the soak takes all that there are.
const fewKernels = 3

// TestBisectPackages: `bondrepro bisect packages` over kernels of the distribution, the newest of them made bad by a module that is put
// in its place, names that kernel, though the command is killed again and again.
func TestBisectPackages(t *testing.T) {
	need(t)
	kernels := distributionKernels(t)
	for _, c := range []struct {
		name   string
		killed bool
	}{{"killed at every step", true}, {"not killed", false}} {
		t.Run(c.name, func(t *testing.T) {
			if !c.killed && soakReport == "" {
				t.Skip("one bisect is enough, and the killed one ends as this one would; make soak runs both")
			}
			began := time.Now()
			b := newPackageBisect(t, kernels)
			if c.killed {
				b.runKilled(t)
			} else {
				b.run(t)
			}
			b.check(t)
			wall := time.Since(began)
			t.Logf("%.0f s, killed %d times", wall.Seconds(), b.kills)
			if c.killed && b.kills < 2*4 {
				t.Errorf("it was killed %d times only; the journal:\n%s", b.kills, b.journal())
			}
			if err := report.add("bisect packages, "+c.name, "0, the kernel named", wall, !t.Failed()); err != nil {
				t.Error(err)
			}
		})
	}
}

// abiNumber is the part of a package's name that differs between the kernels of one series.
var abiNumber = regexp.MustCompile(`\d+((\+deb\d+)?-cloud)`)

// distributionKernels are the newest kernels, as PACKAGE=VERSION, of the series that BONDREPRO_KERNEL is the newest of.
func distributionKernels(t *testing.T) (ids []string) {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(kernelDeb), "_")
	pattern := abiNumber.ReplaceAllString(name, "*$1")
	list := once(t, 0, nil, "kernels", "list", pattern)
	for line := range strings.Lines(list.stdout.String()) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[0], "linux-image-") {
			ids = append(ids, fields[0]+"="+fields[1])
		}
	}
	if len(ids) < fewKernels || !strings.HasPrefix(ids[len(ids)-1], name+"=") {
		t.Fatalf("%s is %v, want at least %d kernels and %s as the newest", pattern, ids, fewKernels, name)
	}
	if soakReport == "" {
		ids = ids[len(ids)-fewKernels:]
	}
	return ids
}

// packageBisect is one bisect, with everything it takes to begin it and to go on.
type packageBisect struct {
	dir, file string
	kernels   []string
	args      []string
	env       []string
	kills     int
	output    strings.Builder
}

func newPackageBisect(t *testing.T, kernels []string) *packageBisect {
	dir := t.TempDir()
	b := &packageBisect{dir: filepath.Join(dir, "bisect"), file: filepath.Join(dir, "report.json"), kernels: kernels}
	b.args = append([]string{"bisect", "packages", "--module", "bonding=" + mutant("orphan"), "--confidence", "0.9", "--dir", b.dir, "-o", b.file}, brief...)
	for _, id := range kernels {
		b.args = append(b.args, "deb:"+id)
	}
	b.args = append(b.args, "bond-multicast-tx")
	if soakReport != "" { // so that downloads are cut off, too
		b.env = []string{"XDG_CACHE_HOME=" + t.TempDir()}
	}
	return b
}

// run has the bisect run to its end.
func (b *packageBisect) run(t *testing.T) {
	t.Helper()
	code, output := runIn(t, filepath.Dir(b.dir), b.env, binary, b.args...)
	b.output.WriteString(output)
	if code != 0 {
		t.Fatalf("it ended in %d; it wrote:\n%s", code, output)
	}
}

// runKilled starts the bisect, kills it and goes on with it again and again, until it ends by itself.
func (b *packageBisect) runKilled(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	args := b.args
	for deadline := time.Now().Add(bisectPatience); ; args = []string{"bisect", "resume", "--dir", b.dir} {
		in := start(t, shortTemp(t), b.env, args...)
		dead := b.killAtNews(t, in, seen)
		code := in.wait(t)
		nothingLeft(t, in.tmp)
		b.output.WriteString(in.output())
		switch {
		case code == 0: // it may have ended just before it was to be killed
			return
		case !dead || code != -int(syscall.SIGKILL):
			t.Fatalf("it ended in %d; it wrote:\n%s", code, b.output.String())
		case time.Now().After(deadline):
			t.Fatalf("it does not come to an end; it wrote:\n%s", b.output.String())
		}
		b.kills++
	}
}

// midBoot is when a guest that was begun is still at its boot, or at its measurement.
const midBoot = 3 * time.Second

// killAtNews kills the command when its journal has something that it had not before, and tells whether it did. What has been fetched
// is booted for a while first: the step itself is cut, too. A command that goes on fetches a kernel again before it boots it, which is
// no news.
func (b *packageBisect) killAtNews(t *testing.T, in *invocation, seen map[string]bool) bool {
	t.Helper()
	for {
		select {
		case <-in.process.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
		kind := b.news(t, seen)
		if kind == "" {
			continue
		}
		if kind == "made" {
			select {
			case <-in.process.Done():
				return false
			case <-time.After(midBoot):
			}
		}
		if err := in.process.Kill(); err != nil {
			t.Fatal(err)
		}
		return true
	}
}

// bisectEvent is what the test reads of a line of the journal.
type bisectEvent struct{ Kind, ID, Role string }

// events are the whole lines of the journal.
func (b *packageBisect) events(t *testing.T) (all []bisectEvent) {
	t.Helper()
	text := b.journal()
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			continue // it is being written
		}
		var e bisectEvent
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("the journal: %v in %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

func (b *packageBisect) journal() []byte {
	text, err := os.ReadFile(filepath.Join(b.dir, "journal.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []byte(err.Error())
	}
	return text
}

// news notes what the journal has, and gives the kind of the last event that it had not before; "" for none. Of the boots of a kernel in
// one role the first two count.
func (b *packageBisect) news(t *testing.T, seen map[string]bool) (kind string) {
	t.Helper()
	boots := map[string]int{}
	for _, e := range b.events(t) {
		key := e.Kind + " " + e.ID + " " + e.Role
		if e.Kind == "trial" {
			boots[key]++
			key = fmt.Sprint(key, min(boots[key], 2))
		}
		if !seen[key] {
			seen[key] = true
			kind = e.Kind
		}
	}
	return kind
}

// check wants the newest kernel named, every kernel that was booted to be told rightly, and no boot lost or made twice.
func (b *packageBisect) check(t *testing.T) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("it wrote:\n%s\nthe journal:\n%s", b.output.String(), b.journal())
		}
	}()
	data, err := os.ReadFile(b.file)
	if err != nil {
		t.Fatal(err)
	}
	var r result.BisectReport
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	bad := b.kernels[len(b.kernels)-1]
	if r.Culprit != bad || r.Kind != "packages" || r.Diagnosis != result.BackPressureLost || r.Wrong > 1-r.Confidence {
		t.Errorf("the report names %s (%s, %s, wrong by %g), want %s", r.Culprit, r.Kind, r.Diagnosis, r.Wrong, bad)
	}
	name, version, _ := strings.Cut(bad, "=")
	if want := name + " " + version; !strings.Contains(b.output.String(), want) {
		t.Errorf("it does not say %q", want)
	}
	booted := map[string]bool{}
	for _, s := range r.Steps {
		booted[s.ID] = true
		if want := map[bool]string{true: "bad", false: "good"}[s.ID == bad]; s.Outcome != want || !slices.Contains(b.kernels, s.ID) {
			t.Errorf("%s is %s (%s), want %s", s.ID, s.Outcome, s.Why, want)
		}
	}
	if len(booted) < fewKernels {
		t.Errorf("%d kernels were booted, want at least %d", len(booted), fewKernels)
	}
	trials := slices.DeleteFunc(b.events(t), func(e bisectEvent) bool { return e.Kind != "trial" })
	if len(trials) != r.Boots {
		t.Errorf("the report counts %d boots, the journal %d", r.Boots, len(trials))
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "kernels.json")); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}
