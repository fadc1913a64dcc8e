package reproducer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"bondrepro/internal/testbed"
	"bondrepro/scenarios"
)

// The testbeds by name.
const (
	testbedAuto  = "auto"
	testbedVM    = "vm"
	testbedNetns = "netns"
	testbedHost  = "host"
)

// beds are how a testbed is opened, by its name.
var beds = map[string]func(context.Context, testbed.Options) (testbed.Testbed, error){
	testbedVM:    testbed.OpenVM,
	testbedNetns: testbed.OpenNetns,
	testbedHost:  testbed.OpenHost,
}

// chooseTestbed names the testbed and says why. usable tells whether netns can be had: nil, or a sentence.
func chooseTestbed(ctx context.Context, o Options, usable func(context.Context) error) (bed, why string, err error) {
	asked := cmp.Or(o.Testbed, testbedAuto)
	if err := o.Host.check(asked); err != nil {
		return "", "", &UsageError{Err: err}
	}
	if named := o.namesGuest(); named != "" && asked == testbedHost {
		return "", "", &UsageError{Err: fmt.Errorf("--testbed host measures the running kernel on real ports, so %s can't be honoured: leave it out, or use --testbed vm", named)}
	}
	lockless := wantsLockless(o.Scenario)
	if asked == testbedNetns && lockless != "" {
		return "", "", &UsageError{Err: fmt.Errorf("--testbed netns can't honour it: %s; use --testbed vm", lockless)}
	}
	if _, known := beds[asked]; known {
		return asked, "asked for", nil
	}
	if asked != testbedAuto {
		return "", "", &UsageError{Err: fmt.Errorf("--testbed %s: no such testbed in this version; it has vm (a guest in QEMU), netns (namespaces on the running kernel), host (real ports), and auto, which is netns where the running kernel can, else vm", asked)}
	}
	if named := o.namesGuest(); named != "" {
		return testbedVM, "auto: " + named + " is for a guest", nil
	}
	if lockless != "" {
		return testbedVM, autoGuest(lockless), nil
	}
	if kinds := kindsOf(armsOf(o.Scenario)); slices.Contains(kinds, scenarios.KindJoined) {
		return testbedVM, autoGuest("two NICs are to be joined"), nil
	}
	err = usable(ctx)
	var unusable *testbed.UnusableError
	switch {
	case err == nil:
		if !o.Scenario.OnBond() {
			return testbedNetns, "auto: the running kernel can, in namespaces of its own", nil
		}
		return testbedNetns, "auto: the running kernel can make the bond", nil
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case errors.As(err, &unusable):
		return testbedVM, autoGuest(unusable.Error()), nil
	}
	return "", "", err
}

// autoGuest is why auto boots a guest.
func autoGuest(why string) string { return fmt.Sprintf("auto: %s, so a guest is booted", why) }

// lockless are metrics by which a scenario looks for faults of a pfifo_fast without a lock.
var lockless = []string{"slaves.qdisc.stuck", "wire.crossed", "wire.reordered"}

// wantsLockless tells, in a clause, why a scenario can't be measured on lines of tbf; empty when it can. A qdisc below
// another is not lockless (net/sched/sch_api.c, qdisc_graft): what the lock prevents would never be seen.
func wantsLockless(sc scenarios.Scenario) string {
	for _, line := range sc.Expect {
		x, err := scenarios.ParseExpr(line)
		if err != nil {
			continue // Validate has it
		}
		for _, name := range x.Metrics() {
			if slices.Contains(lockless, name) && sc.Topology.Slaves.Qdisc == "pfifo_fast" {
				return fmt.Sprintf("the scenario is about %s, and pfifo_fast is not lockless below the tbf that makes the line in netns", name)
			}
		}
	}
	return ""
}

// namesGuest is the first option that only a guest can honour; empty when there is none.
func (o Options) namesGuest() string {
	for _, x := range []struct {
		flag  string
		given bool
	}{
		{"--kernel", o.Kernel != ""}, {"--modules", o.ModulesDir != ""}, {"--module", len(o.Modules) > 0},
		{"--qemu", o.QEMU != ""}, {"--pcap", o.Pcap != ""},
	} {
		if x.given {
			return x.flag
		}
	}
	return ""
}

// bedOptions are what a testbed needs to know.
func bedOptions(o Options) testbed.Options {
	t := testbed.Options{
		Kernel: o.Kernel, ModulesDir: o.ModulesDir, Modules: o.Modules, QEMU: o.QEMU, Pcap: o.Pcap,
		NICs: o.Scenario.Topology.Slaves.Count, Queues: o.Scenario.Topology.Slaves.Queues, Host: hostOptions(o), Progress: o.Progress,
	}
	arms := armsOf(o.Scenario)
	t.Kinds = kindsOf(arms)
	if !slices.Contains(t.Kinds, scenarios.KindBond) {
		t.NICs, t.Queues = 0, 0
		if slices.Contains(t.Kinds, scenarios.KindJoined) {
			t.NICs = joinedNICs
		}
		return t
	}
	for _, arm := range arms {
		t.Qdiscs = append(t.Qdiscs, arm.Topology.Slaves.Qdisc)
		t.IPv6 = t.IPv6 || arm.Traffic.IPv6()
		t.VLAN = t.VLAN || arm.Topology.VLAN != 0
		if isLACP(arm) {
			t.Partner, t.LinkSpeed = true, lacpSpeed
		}
	}
	return t
}

// joinedNICs is how many topology.kind joined joins.
const joinedNICs = 2

// armsOf are the scenario itself, its control, and each of its arms on each case: all that is to be measured in one place.
func armsOf(sc scenarios.Scenario) []scenarios.Scenario {
	arms := []scenarios.Scenario{sc}
	if control, err := sc.ControlArm(); err == nil {
		arms = append(arms, control)
	}
	return append(arms, sc.Each()...)
}

// kindsOf are the kinds of topology of the arms, each once.
func kindsOf(arms []scenarios.Scenario) (kinds []string) {
	for _, arm := range arms {
		if kind := arm.Topology.Kind; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// lacpSpeed is what the NICs claim in 802.3ad, Mbit/s: it takes no slave of unknown speed (bond_3ad.c, __get_link_speed).
const lacpSpeed = 10000

func isLACP(sc scenarios.Scenario) bool { return sc.Topology.Bond.Mode == "802.3ad" }
