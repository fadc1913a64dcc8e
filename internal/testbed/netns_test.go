package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/measure"
	"bondrepro/internal/netns"
	"bondrepro/internal/osrun"
	"bondrepro/internal/stamp"
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
		{&netns.NoBondingError{Release: "6.18", Presence: netns.Absent}, new(*KernelError), 0},
		{&netns.NoBondingError{Release: "6.18", Presence: netns.NotLoaded}, new(*netns.NoBondingError), exitcode.Usage},
		{&netns.NoBondingError{Release: "6.18"}, new(*netns.NoBondingError), exitcode.Usage},
		{&netns.NoVLANError{Release: "6.18", Presence: netns.Absent}, new(*KernelError), 0},
		{&netns.NoVLANError{Release: "6.18", Presence: netns.NotLoaded}, new(*netns.NoVLANError), exitcode.Usage},
		{&netns.UnusableError{Err: &netns.NoBondingError{Release: "6.18", Presence: netns.Absent}}, new(*UnusableError), exitcode.Usage},
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
		Modules: []string{"bonding", "veth", "8021q", "sch_tbf", "sch_ingress", "cls_matchall", "act_gact", "sch_netem"},
	}.Run(t, "^TestNetnsMeasures")
}

// A kernel without VLAN interfaces is told from a good one before anything is made, and by what it refuses.
func TestNetnsWithoutVLANInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	vmtest.Guest{Modules: []string{"bonding", "veth", "sch_tbf", "sch_ingress", "cls_matchall", "act_gact"}}.Run(t, "^TestWithoutVLAN$")
}

func TestWithoutVLAN(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("needs bonding and no 8021q: TestNetnsWithoutVLANInGuest runs it there")
	}
	o := Options{NICs: 2, Progress: silent}
	if err := NetnsUsableFor(o)(t.Context()); err != nil {
		t.Fatalf("without a VLAN: %v", err)
	}
	o.VLAN = true
	var unusable *UnusableError
	if err := NetnsUsableFor(o)(t.Context()); !errors.As(err, &unusable) || !strings.Contains(err.Error(), "topology.vlan needs 8021q") {
		t.Errorf("usable with a VLAN: %v", err)
	}
	var none *netns.NoVLANError
	if _, err := OpenNetns(t.Context(), o); !errors.As(err, &none) {
		t.Errorf("opened with a VLAN: %v", err)
	}
	o.VLAN = false // nobody asked, and the kernel itself is the first to say no
	bed, err := OpenNetns(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	refusesVLAN(t, bed)
}

// refusesVLAN checks that a kernel without VLAN interfaces is at fault itself when it is to make one.
func refusesVLAN(t *testing.T, bed Testbed) {
	t.Helper()
	sc := scenarios.Default()
	sc.Topology.VLAN = 100
	_, err := bed.Probe(t.Context(), measure.Job{Scenario: sc, Run: 1, Slaves: bed.Slaves()})
	var fault *measure.Fault
	if !errors.As(err, &fault) || fault.Class != measure.Unsupported || !strings.Contains(err.Error(), "8021q") {
		t.Errorf("%T %v", err, err)
	}
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
	for _, c := range []struct {
		name, group, mode string
		queues, vlan      int
	}{
		{"one queue", "239.66.1.1", "active-backup", 1, 0},
		{"four queues", "239.66.1.1", "active-backup", 4, 0},
		{"IPv6", "ff15::66:1", "active-backup", 1, 0},
		{"a partner", "239.66.1.1", "802.3ad", 1, 0},
		{"a VLAN", "239.66.1.1", "active-backup", 1, 100},
		{"a VLAN, IPv6", "ff15::66:1", "active-backup", 1, 4094},
		{"a VLAN, a partner", "239.66.1.1", "802.3ad", 1, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := scenarios.Default()
			sc.Topology.Slaves.Queues, sc.Topology.Bond.Mode, sc.Traffic.Groups = c.queues, c.mode, scenarios.Groups{c.group}
			sc.Topology.VLAN = c.vlan
			measureTwice(t, sc)
		})
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

// measureTwice measures a good kernel and the control: every packet must be accounted for.
func measureTwice(t *testing.T, sc scenarios.Scenario) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// One sender's socket has 26 packets in flight; a guest under TCG sends some thousands a second.
	sc.Topology.Slaves.TxQueueLen = 100
	sc.Traffic.Duration, sc.Traffic.Warmup = scenarios.Duration(time.Second), scenarios.Duration(200*time.Millisecond)
	slaves := sc.Topology.Slaves
	bed, err := OpenNetns(ctx, Options{NICs: slaves.Count, Queues: slaves.Queues, VLAN: sc.Topology.VLAN != 0, Partner: sc.Topology.Bond.Mode == "802.3ad", Progress: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	job := measure.Job{Scenario: sc, Run: 1, Slaves: bed.Slaves(), Partner: bed.Partner()}
	probe, err := bed.Probe(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	if probe.Truesize < sc.Traffic.Payload || len(probe.Slaves) != slaves.Count {
		t.Errorf("probe: %+v", probe)
	}
	rate := 20e6 * float64(slaves.Queues)
	job.Truesize, job.LineRate = probe.Truesize, []float64{rate, rate}
	for run, orphan := range []string{scenarios.OrphanNone, scenarios.OrphanNetem} {
		job.Scenario.Orphan, job.Run = orphan, uint32(run+1)
		rec, err := bed.Measure(ctx, job)
		if err != nil {
			t.Fatal(err)
		}
		checkAccount(t, rec, orphan == scenarios.OrphanNetem)
		if rec.Wire.Slaves[0].Overflow+rec.Wire.Slaves[1].Overflow == 0 {
			checkLengths(t, rec, 0) // veth takes the tag beside the packet all the way (NETIF_F_HW_VLAN_CTAG_TX)
		}
		for _, s := range rec.Slaves {
			if s.Queues != slaves.Queues || s.Driver != "veth" {
				t.Errorf("slave %+v", s)
			}
		}
	}
}

func checkAccount(t *testing.T, rec result.Recording, orphaned bool) {
	t.Helper()
	offered, sent, dropped := account(rec)
	into := rec.After.Into - rec.Before.Into
	var arrived, overflow, own uint64
	foreign := map[string]uint64{}
	for i, s := range rec.Wire.Slaves {
		arrived, overflow = arrived+s.Ours, overflow+s.Overflow
		own += rec.After.Slaves[i].Own - rec.Before.Slaves[i].Own
		for kind, n := range s.Foreign {
			foreign[kind] += n
		}
	}
	text := fmt.Sprintf("orphaned %v: offered %d, into the bond %d; the slaves sent %d, of which %d are their own, and dropped %d; %d arrived, %d found no room, foreign %v; drain %+v",
		orphaned, offered, into, sent, own, dropped, arrived, overflow, foreign, rec.Drain)
	t.Log(text)
	if foreign[string(stamp.VLAN)] > 0 {
		t.Error("packets of ours came in a wrong VLAN: " + text)
	}
	if offered == 0 || !rec.Drain.Quiet {
		t.Error("offered nothing, or was never quiet: " + text)
	}
	if orphaned != (dropped > 0) {
		t.Error("a good kernel drops nothing, the control does: " + text)
	}
	var others uint64 // LACPDUs, and the MLD reports of a bond that has an IPv6 address
	for _, n := range foreign {
		others += n
	}
	if into < offered || into > offered+others || sent+dropped < into || arrived+overflow+others < sent || arrived+overflow > into-dropped {
		t.Error("not every packet is accounted for: " + text)
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
