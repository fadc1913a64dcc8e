package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/ifstate/statetest"
	"bondrepro/internal/measure"
	"bondrepro/internal/vmtest"
	"bondrepro/scenarios"
)

// The tests of real ports run in a guest whose lines are as fast as its ports say.
func TestHostInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	vmtest.Guest{
		Modules: []string{"bonding", "sch_htb", "sch_tbf", "sch_ingress", "cls_matchall", "act_gact", "sch_netem", "veth", "8021q"},
		NICs:    4, Files: vmtest.Programs(t, statetest.Tools...), LinkSpeed: 1000, LineRate: 1e9, Patience: statetest.Patience, Env: statetest.Env(),
	}.Run(t, "^TestHostKilled")
}

func TestHostKilledFresh(t *testing.T)     { killAtPoints(t, "fresh", "", 6) }
func TestHostKilledAddressed(t *testing.T) { killAtPoints(t, "addressed", "", 6) }
func TestHostKilledExisting(t *testing.T)  { killAtPoints(t, "enslaved", "bondA", 1) }

// What the child that is killed works with.
const (
	hostPorts    = "BONDREPRO_TEST_PORTS"
	hostExisting = "BONDREPRO_TEST_BOND"
	hostFolder   = "BONDREPRO_TEST_FOLDER"
)

// killAtPoints measures on a topology's ports, or on its bond, and puts them back, killed by SIGKILL after every so many
// changes. What is left must be put back by RestoreAll. bondctl's tests try each change of a bond that is built.
func killAtPoints(t *testing.T, name, bond string, stride int) {
	if !vmtest.Inside() {
		t.Skip("needs a guest's ports: TestHostInGuest runs it there")
	}
	top := statetest.Set(t, name)
	for _, port := range top.Ports {
		statetest.Do(t, "ip link set dev "+port+" up")
	}
	statetest.Do(t, "-ip route del default") // a port that carries it is refused
	statetest.Settle(t)
	dir := t.TempDir()
	client, err := bondctl.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	statetest.PutBackAtPoints(t, name, "TestHostChild", stride, func() error {
		_, err := client.RestoreAll(t.Context(), filepath.Join(dir, "journals"), "test", nil, false)
		return err
	}, hostPorts+"="+strings.Join(top.Ports, ","), hostExisting+"="+bond, hostFolder+"="+dir)
}

// TestHostChild is the child: it opens the host testbed, probes, measures and closes.
func TestHostChild(t *testing.T) {
	changed, child := statetest.Dying()
	if !child {
		t.Skip("is a child of the tests above")
	}
	dir := os.Getenv(hostFolder)
	sc := scenarios.Default()
	sc.Traffic.Payload = 1400
	sc.Traffic.Duration, sc.Traffic.Warmup = scenarios.Duration(50*time.Millisecond), scenarios.Duration(10*time.Millisecond)
	o := Options{Progress: silent, Host: HostOptions{
		Bond: os.Getenv(hostExisting), TakeAddresses: true, Scenario: sc, Command: "child", Journals: filepath.Join(dir, "journals"),
		Changed: changed,
	}}
	if o.Host.Bond == "" {
		o.Host.Slaves = strings.Split(os.Getenv(hostPorts), ",")
	} else {
		sc.Orphan = scenarios.OrphanNetem // the most that is put on a bond that is there
	}
	bed, err := OpenHost(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	job := measure.Job{Run: 1, Scenario: bed.(Real).Fit(sc), Slaves: bed.Slaves(), Truesize: 8448}
	if o.Host.Bond == "" { // on a bond that is there nothing is probed
		if _, err := bed.Probe(t.Context(), job); err != nil {
			t.Error(err)
		}
	}
	job.LineRate, _ = bed.(Real).LineRates()
	if _, err := bed.Measure(t.Context(), job); err != nil {
		t.Error(err)
	}
	if err := bed.Close(); err != nil {
		t.Fatal(err)
	}
}
