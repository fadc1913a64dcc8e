package bondctl_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/bondctl"
	"bondrepro/internal/ifstate/statetest"
	"bondrepro/internal/vmtest"
)

// Tests of what is written down and put back, on four ports.
func TestRestoreInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	vmtest.Guest{
		Modules: []string{"bonding", "sch_htb", "8021q"}, NICs: 4, Files: vmtest.Programs(t, statetest.Tools...), Patience: statetest.Patience, Env: statetest.Env(),
	}.Run(t, "^TestRestore(Fresh|Addressed|Enslaved|Journals)$")
}

func TestRestoreFresh(t *testing.T)     { putBackAtPoints(t, "fresh", 1) }
func TestRestoreAddressed(t *testing.T) { putBackAtPoints(t, "addressed", 4) }
func TestRestoreEnslaved(t *testing.T)  { putBackAtPoints(t, "enslaved", 3) }

// What the child that is killed works with.
const (
	killPorts  = "BONDCTL_TEST_PORTS"
	killFolder = "BONDCTL_TEST_FOLDER"
)

// putBackAtPoints builds a bond of a topology's ports and takes it down again, killed by SIGKILL after every so many
// changes; make test-points stops at each. What is left must be put back by RestoreAll.
func putBackAtPoints(t *testing.T, name string, stride int) {
	onlyInGuest(t)
	top := statetest.Set(t, name)
	dir := filepath.Join(t.TempDir(), "journals")
	client, err := bondctl.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	statetest.PutBackAtPoints(t, name, "TestRestoreChild", stride, func() error {
		_, err := client.RestoreAll(t.Context(), dir, "test", nil, false)
		if files, _ := filepath.Glob(dir + "/*.json"); len(files) > 0 {
			err = errors.Join(err, fmt.Errorf("journals are left: %v", files))
		}
		return err
	}, killPorts+"="+strings.Join(top.Ports, ","), killFolder+"="+dir)
}

// TestRestoreChild is the child: it builds a bond and takes it down.
func TestRestoreChild(t *testing.T) {
	changed, child := statetest.Dying()
	if !child {
		t.Skip("is a child of the tests above")
	}
	client, err := bondctl.Open()
	if err != nil {
		t.Fatal(err)
	}
	client.Changed = changed
	bond := bondctl.Bond{
		Name: "bond9", MTU: 4000, TxQueueLen: 777, Qdisc: "pfifo_fast", Take: true,
		Options:   options("mode", "active-backup", "miimon", "50"),
		Addresses: []netip.Prefix{netip.MustParsePrefix("203.0.113.1/24"), netip.MustParsePrefix("2001:db8:9::1/64")},
	}
	for _, name := range strings.Split(os.Getenv(killPorts), ",") {
		bond.Slaves = append(bond.Slaves, bondctl.Port{Name: name})
	}
	dir := os.Getenv(killFolder)
	steps, err := client.Build(t.Context(), dir, "child", bond)
	if err != nil || len(steps) == 0 {
		t.Fatal(steps, err)
	}
	if outcome, err := client.TakeDown(t.Context(), dir, "child", bond.Name); err != nil || outcome != bondctl.Restored {
		t.Fatal(outcome, err)
	}
}

// One command at a time; what a command left stands against the next; a bond that is kept does not.
func TestRestoreJournals(t *testing.T) {
	client, ctx := onlyInGuest(t)
	dir := filepath.Join(t.TempDir(), "state", "journals")
	before := statetest.Record(t)
	first, err := bondctl.OpenJournals(dir, "the first")
	if err != nil {
		t.Fatal(err)
	}
	journal, err := first.Begin(ctx, bondctl.Change{Bond: "bond9", Makes: true, Interfaces: []string{"eth0"}})
	if err != nil || journal.Ifindex() == 0 {
		t.Fatal(journal, err)
	}
	var busy *bondctl.BusyError
	if _, err := client.Build(ctx, dir, "the second", oneSlave()); !errors.As(err, &busy) || busy.PID != os.Getpid() || busy.Command != "the first" {
		t.Errorf("a second command meanwhile: %v", err)
	}
	if err := bondctl.CheckJournals(dir); err != nil {
		t.Errorf("a command that is at work has left nothing yet: %v", err)
	}
	if err := first.Close(); err != nil { // it died here
		t.Fatal(err)
	}
	var unfinished *bondctl.UnfinishedError
	for what, err := range map[string]error{
		"up": second(client.Build(ctx, dir, "up", oneSlave())), "down": second(client.TakeDown(ctx, dir, "down", "bond9")), "another": bondctl.CheckJournals(dir),
	} {
		if !errors.As(err, &unfinished) || !strings.Contains(err.Error(), "bondctl restore") || !strings.Contains(err.Error(), "eth0") {
			t.Errorf("%s, after a command died: %v", what, err)
		}
	}
	if done, err := client.RestoreAll(ctx, dir, "restore", nil, false); err != nil || len(done) != 1 || done[0].Bond != "bond9" {
		t.Errorf("restore: %v, %v", done, err)
	}
	if _, err := client.Build(ctx, dir, "up", oneSlave()); err != nil {
		t.Fatal(err)
	}
	if steps, err := client.Build(ctx, dir, "up again", oneSlave()); err != nil || len(steps) > 0 {
		t.Errorf("twice is not as once: %v, %v", steps, err)
	}
	if err := bondctl.CheckJournals(dir); err != nil {
		t.Errorf("a bond that is kept: %v", err)
	}
	if done, err := client.RestoreAll(ctx, dir, "restore", nil, false); err != nil || len(done) > 0 {
		t.Errorf("a bond that is kept was restored without being named: %v, %v", done, err)
	}
	if done, err := client.RestoreAll(ctx, dir, "restore", []string{"bond9"}, false); err != nil || len(done) != 1 {
		t.Errorf("by its name: %v, %v", done, err)
	}
	if _, err := client.RestoreAll(ctx, dir, "restore", []string{"bond9"}, false); err == nil {
		t.Error("a bond without a journal was restored")
	}
	statetest.Equal(t, before, statetest.Record(t))
}

func oneSlave() bondctl.Bond {
	return bondctl.Bond{Name: "bond9", Options: options("mode", "active-backup", "miimon", "50"), Slaves: []bondctl.Port{{Name: "eth0"}}}
}

// second is the error of two results.
func second[T any](_ T, err error) error { return err }
