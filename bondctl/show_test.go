package bondctl

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink/nl"
)

var updateShow = flag.Bool("update-show", false, "write the golden files of testdata/show")

// readingsOf reads what TestKernelShow and TestKernelLACP log.
func readingsOf(t *testing.T, name string) (r readings) {
	t.Helper()
	text, err := os.ReadFile("testdata/show/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *updateShow {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test ./bondctl -update-show writes it):\n%s", file, diff)
	}
}

func TestShowOfRecordings(t *testing.T) {
	for _, name := range []string{"802.3ad", "active-backup", "balance-xor"} {
		s := readingsOf(t, name).show()
		var text bytes.Buffer
		if err := s.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/show/"+name+".txt", text.String())
		asJSON, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/show/"+name+".shown", string(asJSON)+"\n")
		var back Show
		if err := json.Unmarshal(asJSON, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("%s: what its JSON says is not what it was:\n%s", name, diff)
		}
	}
}

// attribute is one of netlink.
func attribute(kind uint16, value ...byte) []byte { return nl.NewRtAttr(int(kind), value).Serialize() }

// A partner's key and MAC, and port states in words, as ip writes them.
func TestShowLACP(t *testing.T) {
	ad := slices.Concat(
		attribute(1, 2, 0), attribute(2, 2, 0), attribute(3, 15, 1), attribute(4, 9, 0), attribute(5, 2, 0, 0, 0, 0, 7))
	bond := linkReading{bond: rawAttributes{nl.IFLA_BOND_AD_INFO: ad}}.shownBond(nil)
	if want := (ShownLACP{Aggregator: 2, Ports: 2, ActorKey: 271, PartnerKey: 9, PartnerMAC: "02:00:00:00:00:07"}); *bond.LACP != want {
		t.Errorf("%+v, want %+v", *bond.LACP, want)
	}
	slave := linkReading{slave: rawAttributes{
		slaveAggregator: {2, 0}, slaveActorState: {0x3f}, slavePartnerState: {0xc5, 0}, slavePriority: {0xff, 0xff, 0xff, 0xff},
	}}.shownSlave()
	if got := strings.Join(slave.ActorState, ","); got != "active,short_timeout,aggregating,in_sync,collecting,distributing" {
		t.Errorf("actor: %s", got)
	}
	if got := strings.Join(slave.PartnerState, ","); got != "active,aggregating,defaulted,expired" {
		t.Errorf("partner: %s", got)
	}
	if slave.Aggregator != 2 || *slave.Priority != -1 {
		t.Errorf("%+v", slave)
	}
}

// What a recording of virtio NICs does not have: a failing link, a speed, several queues under mq.
func TestShowSlave(t *testing.T) {
	for value, want := range map[byte]string{0: "UP", 1: "GOING_DOWN", 2: "DOWN", 3: "GOING_BACK", 9: "UNKNOWN"} {
		if s := (linkReading{slave: rawAttributes{slaveMII: {value}}}).shownSlave(); s.MIIStatus != want {
			t.Errorf("%d: %s, want %s", value, s.MIIStatus, want)
		}
	}
	r := readingsOf(t, "active-backup")
	r.NICs["eth0"] = nicReading{Driver: "ixgbe", Speed: 10000, Duplex: 1}
	r.NICs["eth2"] = nicReading{Driver: "tg3", Speed: 10}
	index := byte(r.show().Bonds[0].Slaves[0].Ifindex)
	for i, kind := range []string{"mq", "pfifo_fast", "pfifo_fast"} {
		q := append([]byte{0, 0, 0, 0, index, 0, 0, 0}, make([]byte, nl.SizeofTcMsg-8)...)
		r.Qdiscs = slices.Insert(r.Qdiscs, i, append(q, attribute(nl.TCA_KIND, append([]byte(kind), 0)...)...))
	}
	slaves := r.show().Bonds[0].Slaves
	if s := slaves[0]; s.Name != "eth2" || s.Speed != 10 || s.Duplex != "half" || s.Driver != "tg3" || !slices.Equal(s.Qdiscs[:2], []string{"mq", "pfifo_fast"}) || len(s.Qdiscs) > 3 {
		t.Errorf("%+v", s)
	}
	if s := slaves[1]; s.Name != "eth0" || s.Speed != 10000 || s.Duplex != "full" {
		t.Errorf("%+v", s)
	}
}

// A message cut anywhere is decoded as far as it goes, and unknown attributes are passed over.
func TestShowOfDamagedMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/show/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		r := readingsOf(t, strings.TrimSuffix(filepath.Base(file), ".json"))
		for _, list := range [][][]byte{r.Links, r.Addresses, r.Qdiscs} {
			for i, whole := range list {
				for n := range whole {
					list[i] = whole[:n:n]
					r.show()
				}
				list[i] = append(slices.Clone(whole), attribute(0x3ff0, 1, 2, 3)...)
			}
		}
		if s := r.show(); len(s.Bonds) == 0 || s.Bonds[0].Name != "bond0" {
			t.Errorf("%s: %+v", file, s.Bonds)
		}
	}
}

// Without /proc/net/bonding, or where it lacks a slave, the order is not known and slaves are by ifindex.
func TestShowOrder(t *testing.T) {
	r := readingsOf(t, "active-backup")
	names := func(b ShownBond) (all []string) {
		for _, s := range b.Slaves {
			all = append(all, s.Name)
		}
		return all
	}
	if b := r.show().Bonds[0]; !b.InOrder || !slices.Equal(names(b), []string{"eth2", "eth0", "eth1"}) {
		t.Errorf("%v, in order %v", names(b), b.InOrder)
	}
	r.Proc["bond0"] = strings.Replace(r.Proc["bond0"], "Slave Interface: eth1", "", 1)
	if b := r.show().Bonds[0]; b.InOrder || !slices.Equal(names(b), []string{"eth0", "eth1", "eth2"}) {
		t.Errorf("with one missing: %v, in order %v", names(b), b.InOrder)
	}
	var text bytes.Buffer
	if err := r.show().WriteText(&text); err != nil || !strings.Contains(text.String(), "does not tell in which order") {
		t.Errorf("%v: %s", err, text.String())
	}
}

func TestShowNames(t *testing.T) {
	s := readingsOf(t, "balance-xor").show()
	if got, err := s.only([]string{"bond0"}); err != nil || len(got.Bonds) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.only([]string{"bond0", "eth0"}); err == nil || err.Error() != "there is no bond named eth0 in this network namespace" {
		t.Errorf("%v", err)
	}
	var text bytes.Buffer
	if err := (Show{}).WriteText(&text); err != nil || text.String() != "There is no bond in this network namespace.\n" {
		t.Errorf("%v: %s", err, text.String())
	}
}
