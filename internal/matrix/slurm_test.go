package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/osrun"
)

// cluster is a Slurm of shell scripts. Each array that is submitted "measures" the cells of the next round, and is seen by as many
// squeue calls as there are answers.
type cluster struct {
	t   *testing.T
	dir string
	s   *Store
	p   Plan
}

const fakes = `#!/bin/bash
set -eu
cd "%s"
echo "${0##*/} $*" >>calls
[ ! -e "fail.${0##*/}" ] || { cat "fail.${0##*/}" >&2; exit 1; }
next() { local f; f=$(ls "$1" 2>/dev/null | head -n 1); [ -z "$f" ] || echo "$1/$f"; }
case ${0##*/} in
sbatch)
	n=$(grep -c ^sbatch calls)
	cat >script
	[ ! -e slow ] || { touch submitting; sleep 0.3; }
	[ ! -d "round$n" ] || cp "round$n"/* "%s/cells/"
	echo "4$n;cluster" ;;
squeue)
	case "$*" in
	*--name*) [ ! -e going ] || cat going ;;
	*) [ ! -e forgotten ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
	   [ ! -e forever ] || { cat forever; exit; }
	   f=$(next answers); [ -z "$f" ] || { cat "$f"; rm "$f"; } ;;
	esac ;;
scancel) rm -rf answers forever ;;
esac
`

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), s: store(t), p: mustPlan(t, threeKernels)}
	for _, name := range []string{"sbatch", "squeue", "scancel"} {
		path := write(t, filepath.Join(c.dir, "bin", name), fmt.Sprintf(fakes, c.dir, c.s.dir))
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(c.dir, "bin")+":"+os.Getenv("PATH"))
	return c
}

// measured makes the array of that round leave results of these cells; begun those that die in it.
func (c *cluster) round(n int, measured, begun []string) {
	c.t.Helper()
	part := &Store{dir: c.t.TempDir()}
	if err := os.Mkdir(filepath.Join(part.dir, "cells"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	for _, k := range measured {
		cell := byID(c.t, c.p, k+",bond-multicast-tx,default")
		put(c.t, part, cell, good(n))
	}
	for _, k := range begun {
		cell := byID(c.t, c.p, k+",bond-multicast-tx,default")
		if err := part.SetRecord(cell.ID, Record{Key: cell.Key, State: Begun, Host: "node2", Attempt: 1}); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(part.dir, "cells"), filepath.Join(c.dir, fmt.Sprintf("round%d", n))); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) file(name, text string) { write(c.t, filepath.Join(c.dir, name), text) }

// calls are those of one command.
func (c *cluster) calls(name string) (all []string) {
	text, err := os.ReadFile(filepath.Join(c.dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			all = append(all, args)
		}
	}
	return all
}

func (c *cluster) run(ctx context.Context, e Slurm) (shown []string, err error) {
	e.File, e.Program, e.Poll = "m.yaml", "/opt/bond repro", 5*time.Millisecond
	if e.Wait == 0 {
		e.Wait = time.Minute // a hang is a failure
	}
	err = e.Run(ctx, c.p, c.s, (&bench{}).bench(), Options{Progress: func(text string) { shown = append(shown, text) }})
	return shown, err
}

func TestSlurmRunsAnArray(t *testing.T) {
	c := newCluster(t)
	c.round(1, []string{"a", "b", "c"}, nil)
	c.file("answers/1", "1|RUNNING|node1|None\n2|RUNNING|node2|None\n3|PENDING||Resources\n")
	c.file("answers/2", "1|RUNNING|node1|None\n2|RUNNING|node2|None\n3|PENDING||Resources\n")
	shown, err := c.run(t.Context(), Slurm{Partition: "metal"})
	if err != nil {
		t.Fatal(err)
	}
	calls := c.calls("sbatch")
	if len(calls) != 1 || !strings.HasPrefix(calls[0], "--parsable --requeue --open-mode=append --job-name bondrepro-") ||
		!strings.Contains(calls[0], " --array 1-3 --output ") || !strings.HasSuffix(calls[0], "/slurm/%A_%a.log --partition metal") {
		t.Errorf("sbatch was called with %q", calls)
	}
	want := "job 41: 3 of 3 cells measured; 1 pending (Resources), 2 running (node1, node2)"
	if n := len(shown); n == 0 || shown[n-1] != want || slices.Index(shown, want) != n-1 {
		t.Errorf("progress %q, want %q once", shown, want)
	}
	script, err := os.ReadFile(filepath.Join(c.dir, "script"))
	if err != nil || !strings.Contains(string(script), `exec '/opt/bond repro' matrix '`) || !strings.Contains(string(script), `--shard "$SLURM_ARRAY_TASK_ID/3"`) {
		t.Errorf("%v, script:\n%s", err, script)
	}
	if len(c.calls("scancel")) != 0 {
		t.Error("an array that ended was cancelled")
	}
	if _, err := c.run(t.Context(), Slurm{}); err != nil || len(c.calls("sbatch")) != 1 {
		t.Errorf("a matrix that is measured was submitted again: %v", err)
	}
}

// Tasks that end and leave cells without a result are submitted again, alone, and it is said which and why.
func TestSlurmRunsAgainWhatIsMissing(t *testing.T) {
	c := newCluster(t)
	c.round(1, []string{"b"}, []string{"a"})
	c.round(2, []string{"c"}, nil)
	c.round(3, []string{"a"}, nil)
	shown, err := c.run(t.Context(), Slurm{})
	if err != nil {
		t.Fatal(err)
	}
	var arrays []string
	for _, call := range c.calls("sbatch") {
		_, rest, _ := strings.Cut(call, "--array ")
		array, _, _ := strings.Cut(rest, " ")
		arrays = append(arrays, array)
	}
	if !slices.Equal(arrays, []string{"1-3", "1,3", "1"}) {
		t.Errorf("arrays %q", arrays)
	}
	if text := strings.Join(shown, "\n"); !strings.Contains(text, "round 2 of 3: no result yet of a,bond-multicast-tx,default (it was begun on node2 at") ||
		!strings.Contains(text, "c,bond-multicast-tx,default (not begun)") {
		t.Errorf("progress does not say what is missing and why: %s", text)
	}
}

func TestSlurmGivesUpAfterThreeRounds(t *testing.T) {
	c := newCluster(t)
	c.round(1, []string{"b"}, nil)
	if _, err := c.run(t.Context(), Slurm{}); err != nil {
		t.Fatal(err)
	}
	r, err := Merge([]string{c.s.dir}, Shard{}, "")
	if n := len(c.calls("sbatch")); n != 3 || err != nil || r.Complete() {
		t.Errorf("%d rounds, %v, complete %v", n, err, r.Complete())
	}
}

func TestSlurmCancelsItsArray(t *testing.T) {
	cause := errors.New("Ctrl-C")
	for name, how := range map[string]struct {
		wait time.Duration
		want string
	}{"interrupted": {time.Hour, "Ctrl-C"}, "too long": {100 * time.Millisecond, "job 41 of Slurm did not end within 100ms and was cancelled, with no result of 3 of 3 cells"}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.file("forever", "1|PENDING||Resources\n")
			ctx, cancel := context.WithCancelCause(t.Context())
			if how.wait == time.Hour {
				go func() {
					for len(c.calls("squeue")) < 2 {
						time.Sleep(time.Millisecond)
					}
					cancel(cause)
				}()
			}
			_, err := c.run(ctx, Slurm{Wait: how.wait})
			if err == nil || !strings.Contains(err.Error(), how.want) {
				t.Errorf("error %v, want %q", err, how.want)
			}
			if got := c.calls("scancel"); !slices.Equal(got, []string{"41"}) {
				t.Errorf("scancel was called with %q, want its own array once", got)
			}
			cancel(nil)
		})
	}
}

// A task that could not be launched is held for ever: the array is ended, and there is another round.
func TestSlurmEndsWhatIsHeld(t *testing.T) {
	c := newCluster(t)
	c.round(1, []string{"a", "c"}, nil)
	c.round(2, []string{"b"}, nil)
	c.file("forever", "2|PENDING||launch failed requeued held\n")
	if _, err := c.run(t.Context(), Slurm{}); err != nil {
		t.Fatal(err)
	}
	if got := c.calls("scancel"); !slices.Equal(got, []string{"41"}) || len(c.calls("sbatch")) != 2 {
		t.Errorf("scancel %q, sbatch %q", got, c.calls("sbatch"))
	}
}

func TestSlurmRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, want string
		e                Slurm
	}{
		"partition": {"fail.sbatch", "sbatch: error: invalid partition specified: moon\nsbatch: error: Batch job submission failed: Invalid partition name specified\n",
			"--engine slurm, --partition moon: sbatch: error: Batch job submission failed: Invalid partition name specified", Slurm{Partition: "moon"}},
		"size": {"fail.sbatch", "sbatch: error: Batch job submission failed: Invalid job array specification\n", "give fewer tasks with --shards", Slurm{}},
		"slurmctld": {"fail.squeue", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
			"--engine slurm: squeue: slurm_load_jobs error: Unable to contact slurm controller (connect failure)", Slurm{}},
		"twice": {"going", "17\n17\n", "job 17 of Slurm: wait for it, or end it with scancel 17", Slurm{}},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newCluster(t)
			fake.file(c.file, c.text)
			_, err := fake.run(t.Context(), c.e)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q in one sentence", err, c.want)
			}
			if n := len(fake.calls("scancel")); n != 0 {
				t.Errorf("scancel was called %d times", n)
			}
			if _, err := os.Stat(fake.s.dir); err == nil {
				t.Error("something is left behind")
			}
		})
	}
	t.Run("no Slurm", func(t *testing.T) {
		fake := newCluster(t)
		t.Setenv("PATH", t.TempDir())
		if _, err := fake.run(t.Context(), Slurm{}); err == nil || !strings.Contains(err.Error(), "there is no sbatch in $PATH") {
			t.Errorf("error %v", err)
		}
	})
}

// slurmctld may be started anew meanwhile: an answer that does not come is no end of the array.
func TestSlurmOutlastsASilence(t *testing.T) {
	c := newCluster(t)
	c.round(1, []string{"a", "b", "c"}, nil)
	c.file("answers/1", "1|RUNNING|node1|None\n")
	// squeue fails once the array is there, until the file is gone.
	script, err := os.ReadFile(filepath.Join(c.dir, "bin", "squeue"))
	if err != nil {
		t.Fatal(err)
	}
	c.file("bin/squeue", strings.Replace(string(script), "case ${0##*/} in", `[[ "$*" = *--name* ]] || [ $(grep -c ^squeue calls) -gt 4 ] || { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
case ${0##*/} in`, 1))
	if _, err := c.run(t.Context(), Slurm{}); err != nil {
		t.Fatal(err)
	}
	if squeue, sbatch := len(c.calls("squeue")), len(c.calls("sbatch")); squeue < 6 || sbatch != 1 {
		t.Errorf("%d squeue calls, %d arrays: the silence was taken for the end", squeue, sbatch)
	}
}

// Slurm forgets a job some minutes after its end (slurm.conf(5), MinJobAge).
func TestSlurmHasForgottenTheJob(t *testing.T) {
	c := newCluster(t)
	c.round(1, []string{"a", "b", "c"}, nil)
	c.file("forgotten", "")
	if _, err := c.run(t.Context(), Slurm{}); err != nil {
		t.Error(err)
	}
}

// Interrupted while it submits, the array is cancelled, too: its id is waited for.
func TestSlurmIsInterruptedInSubmission(t *testing.T) {
	c := newCluster(t)
	c.file("slow", "")
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(c.dir, "submitting")); err == nil {
				cancel(cause)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := c.run(ctx, Slurm{}); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if got := c.calls("scancel"); !slices.Equal(got, []string{"41"}) {
		t.Errorf("scancel was called with %q", got)
	}
	cancel(nil)
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "3": {3}, "1-3": {1, 2, 3}, "1,3-4,6": {1, 3, 4, 6}} {
		if got := ranges(numbers); got != want {
			t.Errorf("%v is %q, want %q", numbers, got, want)
		}
	}
}

// The script's words survive a shell, whatever is in them.
func TestTaskScriptQuotes(t *testing.T) {
	script := strings.Replace(taskScript("/bin/echo", `/a b'c"$(x)/m.yaml`, "/d;e", 4), "exec ", "SLURM_ARRAY_TASK_ID=2; exec ", 1)
	out, err := osrun.Run(t.Context(), osrun.Cmd{Path: "sh", Args: []string{"-c", script}, Timeout: time.Minute})
	if want := `matrix /a b'c"$(x)/m.yaml -d /d;e --shard 2/4` + "\n"; err != nil || string(out.Stdout) != want {
		t.Errorf("%v, %q, want %q", err, out.Stdout, want)
	}
}
