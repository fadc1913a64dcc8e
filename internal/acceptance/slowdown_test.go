package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/internal/thread"
	"bondrepro/reproducer/result"

	"golang.org/x/sys/unix"
)

// slowdown is a comparison of two arms that differ in nothing that matters: requests and responses one after the other, so
// that whatever stands still for a while makes them fewer by as much.
const slowdown = `
name: slowdown
summary: nothing against nothing
workload: rr
topology: {kind: loopback}
traffic: {duration: 1s, warmup: 300ms}
load: {connections: 1, request: 64, response: 64, client_cpus: [0], server_cpus: [1]}
arms:
  plain: {load.request: 64}
  slowed: {load.request: 65}
`

// What is taken from the client's CPU while the second arm is measured.
const (
	stolen      = 300 * time.Microsecond
	stolenEvery = 10 * time.Millisecond
)

// TestSlowdown: 3 % that are taken from the client's CPU are found with n = 10. A busy machine may hide them, so there are
// three attempts, of which the statistics alone would miss all with a chance far below 1 in 1000.
func TestSlowdown(t *testing.T) {
	need(t)
	file := filepath.Join(t.TempDir(), "slowdown.yaml")
	if err := os.WriteFile(file, []byte(slowdown), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d, share := slowed(t, file)
		if d.Percent == nil || d.Percent.Interval == nil || d.P == nil {
			t.Fatalf("no percentage or no p: %+v", d)
		}
		i := d.Percent.Interval
		t.Logf("%.2f %% of the client's CPU was taken; %s %+.2f %%, 95 %% interval %+.2f to %+.2f %%, p = %.2g, Holm %.2g: %s",
			share, d.Metric, d.Percent.Value, i.Low, i.High, d.P.Value, d.P.Holm, d.Verdict)
		if d.P.Value < 0.05 && d.Percent.Value < 0 {
			if i.Low > -share || i.High < -share {
				t.Logf("the interval has not what was taken: it does so in 19 of 20 comparisons, and standing still costs a little more than its time")
			}
			return
		}
	}
	t.Error("a slowdown of 3 % was found in none of three comparisons")
}

// slowed compares, and takes time from the client's CPU while the arm slowed is measured. share is how much that was, percent of the
// time in which it was switched on.
func slowed(t *testing.T, file string) (d result.MetricDifference, share float64) {
	t.Helper()
	var thief thief
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- thread.Run(func() error { return thief.run(ctx) }) }()
	var out bytes.Buffer
	_, err := osrun.Run(ctx, osrun.Cmd{Path: binary, Args: []string{"compare", file, "-n", "10", "--metric", "transactions.rate", "--json"},
		Stdout: &out, Stderr: &thief, Timeout: patience})
	stop()
	if failed := <-done; failed != nil {
		t.Fatalf("time is taken by a thread of the scheduler's class SCHED_FIFO, which needs CAP_SYS_NICE: %v", failed)
	}
	if err != nil {
		t.Fatal(err)
	}
	var c result.Comparison
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	for _, d := range c.Differences {
		if d.Metric == "transactions.rate" {
			return d, 100 * float64(thief.took) / float64(thief.open)
		}
	}
	t.Fatalf("transactions.rate is not compared: %+v", c.Differences)
	return d, 0
}

// thief takes time from a CPU while the command says that it measures the arm slowed. It is the command's standard error.
type thief struct {
	on         atomic.Bool
	took, open time.Duration // of run alone
}

// Write reads the command's progress: one line a run, at its start.
func (th *thief) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if _, arm, ok := strings.Cut(line, ": arm "); ok {
			th.on.Store(strings.HasPrefix(arm, "slowed"))
		}
	}
	return len(p), nil
}

// run takes time from CPU 0 until ctx ends, on the calling thread.
func (th *thief) run(ctx context.Context) error {
	var cpu unix.CPUSet
	cpu.Set(0)
	if err := unix.SchedSetaffinity(0, &cpu); err != nil {
		return err
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return err
	}
	for last := time.Now(); ctx.Err() == nil; {
		ts := unix.NsecToTimespec(int64(stolenEvery - stolen))
		_ = unix.Nanosleep(&ts, nil) // a signal makes it shorter, which is measured
		on := th.on.Load()
		began := time.Now()
		for on && time.Since(began) < stolen {
		}
		now := time.Now()
		if on {
			th.took, th.open = th.took+now.Sub(began), th.open+now.Sub(last)
		}
		last = now
	}
	return nil
}
