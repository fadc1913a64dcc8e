package testbed

import (
	"cmp"
	"context"
	"os"
	"testing"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/internal/vmtest"
	"bondrepro/scenarios"
)

// A guest's slaves have the queues and the partner that were asked for, and every packet is accounted for.
func TestVMMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests: left out by -short")
	}
	for name, mode := range map[string]string{"four queues": "active-backup", "four queues and a partner": "802.3ad"} {
		t.Run(name, func(t *testing.T) {
			sc := scenarios.Default()
			sc.Topology.Slaves.Queues, sc.Topology.Bond.Mode, sc.Traffic.Senders = 4, mode, 4
			sc.Traffic.Duration, sc.Traffic.Warmup = scenarios.Duration(time.Second), scenarios.Duration(200*time.Millisecond)
			measureInGuest(t, sc)
		})
	}
}

func measureInGuest(t *testing.T, sc scenarios.Scenario) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	slaves, lacp := sc.Topology.Slaves, sc.Topology.Bond.Mode == "802.3ad"
	bed, err := OpenVM(ctx, Options{
		Kernel: cmp.Or(os.Getenv("BONDREPRO_KERNEL"), vmtest.Kernel), NICs: slaves.Count, Queues: slaves.Queues,
		Partner: lacp, LinkSpeed: 10000, Qdiscs: []string{slaves.Qdisc}, Progress: silent,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	if want := map[bool]int{true: slaves.Count}[lacp]; len(bed.Partner()) != want || len(bed.Slaves()) != slaves.Count {
		t.Errorf("slaves %v, partner %v", bed.Slaves(), bed.Partner())
	}
	job := measure.Job{Scenario: sc, Run: 1, Slaves: bed.Slaves(), Partner: bed.Partner()}
	probe, err := bed.Probe(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	job.Truesize, job.LineRate = probe.Truesize, []float64{20e6, 20e6}
	rec, err := bed.Measure(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	offered, sent, dropped := account(rec)
	var ours, foreign, lacpdus uint64
	for _, s := range rec.Wire.Slaves {
		ours += s.Ours
		lacpdus += s.Foreign["lacp"]
		for _, n := range s.Foreign {
			foreign += n
		}
	}
	t.Logf("offered %d, the slaves sent %d and dropped %d; at the wire %d and %d foreign; LACPDUs %d, complaints %q",
		offered, sent, dropped, ours, foreign, lacpdus, rec.KernelLog)
	// The wire counts from before the topology is built, the qdiscs from the first packet on.
	if offered == 0 || ours+dropped != offered || sent < ours || sent > ours+foreign || !rec.Drain.Quiet {
		t.Errorf("%d offered, %d sent and %d dropped by the slaves, %d arrived and %d foreign, drain %+v", offered, sent, dropped, ours, foreign, rec.Drain)
	}
	if len(rec.Wire.Slaves) != slaves.Count || len(rec.KernelLog) != 0 {
		t.Errorf("%d lines, complaints %q", len(rec.Wire.Slaves), rec.KernelLog)
	}
	if lacp != (lacpdus > 0) {
		t.Errorf("%d LACPDUs of the slaves", lacpdus)
	}
	for _, s := range rec.Slaves {
		if s.Queues != slaves.Queues || s.Driver != "virtio_net" || s.Ring != 256 {
			t.Errorf("slave %+v", s)
		}
	}
}
