package measure

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"bondrepro/bondctl"

	"github.com/vishvananda/netlink"
)

// Both ends are as the scenario says, and nothing else: MTU, features, sysctls, one queue, no IPv6.
func TestEndsAreAsAsked(t *testing.T) {
	needRoot(t)
	for kind, name := range map[string]string{"loopback": "lo", "veth": "eth0"} {
		sc := loadOf(t, kind, "topology.mtu=2000", "offload={tso: off, gro: off}", "sysctl={net.ipv4.tcp_sack: 0, net.ipv4.conf."+name+".forwarding: 1}")
		e, err := openEnds(Job{Scenario: sc})
		if err != nil {
			t.Fatal(err)
		}
		for side, s := range map[string]*space{"client": e.client, "server": e.server} {
			err := s.do(func() error {
				link, err := netlink.LinkByName(name)
				if err != nil {
					return err
				}
				if a := link.Attrs(); a.MTU != 2000 || a.Flags&net.FlagUp == 0 || a.NumTxQueues != 1 || a.NumRxQueues != 1 {
					t.Errorf("%s, %s: %+v", kind, side, a)
				}
				features, err := bondctl.Offload(name, []string{"tso", "gro"})
				if err != nil || len(features) < 2 || features["tx-tcp-segmentation"] || features["rx-gro"] {
					t.Errorf("%s, %s: %v (%v)", kind, side, features, err)
				}
				for file, want := range map[string]string{"tcp_sack": "0", "conf/" + name + "/forwarding": "1"} {
					if text, err := os.ReadFile("/proc/sys/net/ipv4/" + file); err != nil || strings.TrimSpace(string(text)) != want {
						t.Errorf("%s, %s: %s is %q (%v)", kind, side, file, text, err)
					}
				}
				addresses, err := netlink.AddrList(link, netlink.FAMILY_V6)
				if len(addresses) > 0 {
					t.Errorf("%s, %s: IPv6 is there: %v", kind, side, addresses)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		if err := e.close(); err != nil {
			t.Error(err)
		}
	}
}

// What was begun is closed when the rest can't be had, and a bond is not for this.
func TestEndsThatCannotBe(t *testing.T) {
	needRoot(t)
	before := openFiles(t)
	for range 3 {
		if _, err := openEnds(Job{Scenario: loadOf(t, "veth", "offload.lro=on")}); err == nil {
			t.Fatal("taken")
		}
	}
	if after := openFiles(t); after > before+2 { // the runtime opens some of its own
		t.Errorf("%d files were open, and %d are", before, after)
	}
	sc := loadOf(t, "veth")
	sc.Topology.Kind = "bond"
	var fault *Fault
	if _, err := openEnds(Job{Scenario: sc}); !errors.As(err, &fault) || fault.Class != Refused {
		t.Errorf("over a bond: %v", err)
	}
	sc.Topology.Kind = "joined"
	if _, err := openEnds(Job{Scenario: sc, Slaves: []string{"02:00:00:00:00:01"}}); err == nil {
		t.Error("joined NICs that are not there: taken")
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
