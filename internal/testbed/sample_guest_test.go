package testbed

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/internal/vmtest"
	"bondrepro/scenarios"
)

// One guest samples over each kind of topology, again and again, and sets sysctls that only a whole machine has.
func TestVMSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("boots a guest: left out by -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	bed, err := OpenVM(ctx, Options{
		Kernel: cmp.Or(os.Getenv("BONDREPRO_KERNEL"), vmtest.Kernel), NICs: 2, Progress: silent,
		Kinds: []string{scenarios.KindLoopback, scenarios.KindVeth, scenarios.KindJoined},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	for _, m := range bed.Guest().Modules {
		if m.Name == "bonding" || m.Name == "sch_netem" {
			t.Errorf("%s is loaded, and nothing needs it", m.Name)
		}
	}
	for _, sc := range []scenarios.Scenario{
		workload(t, "loopback", "sysctl={net.core.netdev_max_backlog: 2000, net.ipv4.tcp_sack: 0}"),
		workload(t, "veth", "workload=rr", "load.connections=4", "offload.gro=off"),
		workload(t, "joined", "load.connections=2", "offload={gro: off, tso: off}", "topology.mtu=1400"),
		workload(t, "joined", "workload=rr", "load.request=2000", "load.response=2000"),
		workload(t, "joined", "workload=udp", "load.group=239.66.1.1", "load.rate=200pps"),
	} {
		began := time.Now()
		s, err := bed.Sample(ctx, measure.Job{Arm: "a", Scenario: sc, Slaves: bed.Slaves()})
		if err != nil || s.Failure != "" || s.Metrics["throughput"] <= 0 {
			t.Errorf("%s %s: %+v, %v", sc.Topology.Kind, sc.Workload, s, err)
		}
		t.Logf("%s %s: %.3g bit/s in %v", sc.Topology.Kind, sc.Workload, s.Metrics["throughput"], time.Since(began).Round(time.Millisecond))
	}
	tbench := workload(t, "veth", "workload=external", "load.tool=tbench", "traffic.duration=2s", "traffic.warmup=0s")
	if _, err := bed.Sample(ctx, measure.Job{Scenario: tbench}); measure.LacksTool(err) != "tbench" || !strings.Contains(err.Error(), "--testbed netns") {
		t.Errorf("tbench: %v", err)
	}
	var fault *measure.Fault
	for set, want := range map[string]string{
		"offload.tso=on":       "offload.tso", // QEMU's hub passes on no segments that a driver has yet to make
		"sysctl.net.no.such=1": "sysctl.net.no.such: this kernel has no such sysctl",
	} {
		_, err := bed.Sample(ctx, measure.Job{Scenario: workload(t, "joined", set), Slaves: bed.Slaves()})
		if !errors.As(err, &fault) || fault.Class != measure.Refused || !strings.Contains(fault.Text, want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
}
