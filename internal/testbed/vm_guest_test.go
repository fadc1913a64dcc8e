package testbed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/internal/vmtest"
	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// A guest's slaves have the queues and the partner that were asked for, and every packet is accounted for.
func TestVMMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests: left out by -short")
	}
	for name, topology := range map[string]struct {
		mode         string
		queues, vlan int
	}{
		"four queues": {"active-backup", 4, 0}, "four queues and a partner": {"802.3ad", 4, 0}, "a VLAN": {"active-backup", 1, 100},
	} {
		t.Run(name, func(t *testing.T) {
			sc := scenarios.Default()
			sc.Topology.Slaves.Queues, sc.Topology.Bond.Mode, sc.Topology.VLAN = topology.queues, topology.mode, topology.vlan
			sc.Traffic.Senders = scenarios.Senders(topology.queues)
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
		VLAN: sc.Topology.VLAN != 0, Partner: lacp, LinkSpeed: 10000, Qdiscs: []string{slaves.Qdisc}, Progress: silent,
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
	checkLengths(t, rec, map[bool]float64{true: 4}[sc.Topology.VLAN != 0])
	if lacp != (lacpdus > 0) {
		t.Errorf("%d LACPDUs of the slaves", lacpdus)
	}
	for _, s := range rec.Slaves {
		if s.Queues != slaves.Queues || s.Driver != "virtio_net" || s.Ring != 256 {
			t.Errorf("slave %+v", s)
		}
	}
}

// checkLengths compares what the counters take for the mean length of a frame. In the qdisc a VLAN's tag is beside the
// packet and not counted: where the NIC can't add it, it goes in after that (validate_xmit_vlan by sch_direct_xmit,
// net/core/dev.c and net/sched/sch_generic.c). tag is by how much it makes frames longer for the driver and at the wire. With frames that are
// not ours there are no means to compare.
func checkLengths(t *testing.T, rec result.Recording, tag float64) {
	t.Helper()
	var qdisc, driver, wire, packets, sent, frames uint64
	for i, w := range rec.Wire.Slaves {
		if len(w.Foreign) > 0 {
			return
		}
		wire, frames = wire+w.Bytes, frames+w.Frames
		before, after := rec.Before.Slaves[i], rec.After.Slaves[i]
		driver, sent = driver+after.TxBytes-before.TxBytes, sent+after.TxPackets-before.TxPackets
		for j, q := range after.Qdiscs {
			d, _ := counters.Delta(before.Qdiscs[j], q)
			qdisc, packets = qdisc+d.Bytes, packets+d.Packets
		}
	}
	mean := func(bytes, n uint64) float64 { return float64(bytes) / float64(n) }
	text := fmt.Sprintf("bytes a frame: %.1f in the qdiscs, %.1f by the drivers, %.1f at the wire", mean(qdisc, packets), mean(driver, sent), mean(wire, frames))
	t.Log(text)
	if length := mean(qdisc, packets) + tag; mean(driver, sent) != length || mean(wire, frames) != length {
		t.Errorf("%s; the last two should be %.0f more than the first", text, tag)
	}
}

// A guest whose kernel can make no VLAN interface says so.
func TestVMWithoutVLAN(t *testing.T) {
	if testing.Short() {
		t.Skip("boots a guest: left out by -short")
	}
	bed, err := OpenVM(t.Context(), Options{
		Kernel: cmp.Or(os.Getenv("BONDREPRO_KERNEL"), vmtest.Kernel), NICs: 2, Qdiscs: []string{"pfifo_fast"}, Progress: silent,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	refusesVLAN(t, bed)
}
