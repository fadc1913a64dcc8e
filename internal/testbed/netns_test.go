package testbed

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/measure"
	"bondrepro/internal/netns"
	"bondrepro/internal/osrun"
	"bondrepro/internal/vmtest"
	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

func TestMain(m *testing.M) {
	if netns.Child() {
		netns.Main()
	}
	vmtest.Main(m)
}

func silent(string) {}

func TestNetnsRefusesWhatIsForAGuest(t *testing.T) {
	for flag, o := range map[string]Options{
		"--kernel":  {Kernel: "bzImage"},
		"--modules": {ModulesDir: "."},
		"--module":  {Modules: map[string]string{"bonding": "bonding.ko"}},
		"--qemu":    {QEMU: "qemu"},
		"--pcap":    {Pcap: "x.pcapng"},
	} {
		o.Progress, o.NICs = silent, 2
		_, err := OpenNetns(t.Context(), o)
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "so "+flag+" can't be honoured: leave it out, or use --testbed vm") {
			t.Errorf("%s: %T %v", flag, err, err)
		}
	}
}

func TestNetnsErrorsBySort(t *testing.T) {
	other := errors.New("no memory")
	for _, c := range []struct {
		err  error
		want any
		code int
	}{
		{&netns.NoBondingError{Release: "6.18"}, new(*KernelError), 0},
		{&netns.NoBondingError{Release: "6.18", Loadable: true}, new(*netns.NoBondingError), exitcode.Usage},
		{&netns.PanicError{Err: other}, new(*exitcode.Error), exitcode.Panicked},
		{&netns.DeadError{Err: other}, new(*netns.DeadError), exitcode.Usage},
		{&netns.SetupError{Text: "no"}, new(*netns.SetupError), exitcode.Usage},
		{&measure.Fault{Class: measure.Refused}, new(*measure.Fault), 0},
	} {
		got := classifyNetns(c.err)
		if !errors.As(got, c.want) || c.code != 0 && exitcode.Of(got) != c.code {
			t.Errorf("%T became %T, exit code %d", c.err, got, exitcode.Of(got))
		}
	}
}

// A kernel that can make no bond is told from one whose module is not loaded, before anything is made.
func TestNetnsWithoutBonding(t *testing.T) {
	if netns.FindBonding() == nil {
		t.Skip("this kernel has bonding: TestNetnsMeasures is for it")
	}
	_, err := OpenNetns(t.Context(), Options{NICs: 2, Progress: silent})
	var kernel *KernelError
	var none *netns.NoBondingError
	if !errors.As(err, &kernel) && !errors.As(err, &none) {
		t.Errorf("%T %v", err, err)
	}
	if useless := NetnsUsable(t.Context()); useless == nil || useless.Error() != err.Error() {
		t.Errorf("usable: %v; open: %v", useless, err)
	}
}

// The tests below run on a kernel that has bonding.
func TestNetnsInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	vmtest.Guest{
		Modules: []string{"bonding", "veth", "sch_tbf", "sch_ingress", "cls_matchall", "act_gact", "sch_netem"},
	}.Run(t, "^TestNetnsMeasures")
}

// asNobody marks a run as a user without rights.
const asNobody = "BONDREPRO_TEST_TESTBED_NOBODY"

func TestNetnsMeasures(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("needs bonding: TestNetnsInGuest runs it there")
	}
	if err := NetnsUsable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, queues := range []int{1, 4} {
		measureOnce(t, queues)
	}
}

func TestNetnsMeasuresAsNobody(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("needs bonding: TestNetnsInGuest runs it there")
	}
	if os.Getenv(asNobody) != "" {
		t.Skip("is nobody")
	}
	const nobody = 65534
	out, err := osrun.Run(t.Context(), osrun.Cmd{
		Path: "/proc/self/exe", Timeout: 4 * time.Minute, Dir: "/",
		Args: []string{"-test.v", "-test.run", "^TestNetnsMeasures$"},
		Env:  append(os.Environ(), asNobody+"=1"),
		Attr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}},
	})
	if err != nil || !strings.Contains(string(out.Stdout), "--- PASS: TestNetnsMeasures") {
		t.Fatalf("%v\n%s", err, out.Stdout)
	}
	t.Logf("%s", out.Stdout)
}

// measureOnce measures a good kernel and the control on two lines: every packet must be accounted for.
func measureOnce(t *testing.T, queues int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	sc := scenarios.Default()
	sc.Topology.Slaves.Queues = queues
	sc.Traffic.Duration, sc.Traffic.Warmup = scenarios.Duration(time.Second), scenarios.Duration(200*time.Millisecond)
	bed, err := OpenNetns(ctx, Options{NICs: sc.Topology.Slaves.Count, Queues: queues, Progress: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	job := measure.Job{Scenario: sc, Run: 1, Slaves: bed.Slaves()}
	probe, err := bed.Probe(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	if probe.Truesize < sc.Traffic.Payload || len(probe.Slaves) != 2 {
		t.Errorf("probe: %+v", probe)
	}
	job.Truesize, job.LineRate = probe.Truesize, []float64{50e6, 50e6}
	for run, orphan := range []string{scenarios.OrphanNone, scenarios.OrphanNetem} {
		job.Scenario.Orphan, job.Run = orphan, uint32(run+1)
		rec, err := bed.Measure(ctx, job)
		if err != nil {
			t.Fatal(err)
		}
		offered, sent, dropped := account(rec)
		ours, overflow := uint64(0), uint64(0)
		for _, s := range rec.Wire.Slaves {
			ours, overflow = ours+s.Ours, overflow+s.Overflow
		}
		t.Logf("%d queues, orphan %s: offered %d, into the bond %d, sent %d, dropped %d, arrived %d, overflow %d, foreign %v %v, drain %+v, %d samples",
			queues, orphan, offered, rec.After.Into-rec.Before.Into, sent, dropped, ours, overflow,
			rec.Wire.Slaves[0].Foreign, rec.Wire.Slaves[1].Foreign, rec.Drain, len(rec.Series.AtMS))
		if into := rec.After.Into - rec.Before.Into; offered == 0 || offered != into || !rec.Drain.Quiet {
			t.Errorf("%d queues, orphan %s: %d offered, %d into the bond, drain %+v", queues, orphan, offered, into, rec.Drain)
		}
		if sent+dropped != offered || ours+overflow != sent {
			t.Errorf("%d queues, orphan %s: %d offered, %d sent and %d dropped by the slaves, %d arrived and %d found no room", queues, orphan, offered, sent, dropped, ours, overflow)
		}
		if orphaned := orphan == scenarios.OrphanNetem; orphaned != (dropped > 0) {
			t.Errorf("%d queues, orphan %s: %d dropped", queues, orphan, dropped)
		}
		for _, s := range rec.Slaves {
			if s.Queues != queues || s.Driver != "veth" {
				t.Errorf("slave %+v", s)
			}
		}
	}
}

// account sums what was offered, and what the slaves' qdiscs did with it.
func account(rec result.Recording) (offered, sent, dropped uint64) {
	for _, s := range rec.Senders {
		offered += s.OK + s.ENOBUFS
	}
	for i := range rec.After.Slaves {
		for j, after := range rec.After.Slaves[i].Qdiscs {
			d, _ := counters.Delta(rec.Before.Slaves[i].Qdiscs[j], after)
			sent, dropped = sent+d.Packets, dropped+uint64(d.Drops)
		}
	}
	return offered, sent, dropped
}
