package bondctl_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/osrun"

	"github.com/vishvananda/netlink"
)

// shownCases are the bonds of testdata/show/NAME.json, which the log holds as one line each. 802.3ad is TestKernelLACP's.
var shownCases = []struct {
	name   string
	set    func(*netlink.Bond)
	slaves []string
}{
	{"active-backup", func(b *netlink.Bond) {
		b.Mode, b.FailOverMac, b.NumPeerNotif, b.UpDelay = netlink.BOND_MODE_ACTIVE_BACKUP, netlink.BOND_FAIL_OVER_MAC_ACTIVE, 3, 40
	}, []string{"eth2", "eth0", "eth1"}},
	{"balance-xor", func(b *netlink.Bond) { b.Mode = netlink.BOND_MODE_BALANCE_XOR }, nil},
}

// Every option is named and written as ip writes it, none is left out, and slaves are in the order of /proc.
func TestKernelShow(t *testing.T) {
	onlyInside(t)
	for _, c := range shownCases {
		t.Run(c.name, func(t *testing.T) {
			bond := plainBond(t, "bond0", c.set, c.slaves...)
			if len(c.slaves) > 0 {
				address(t, bond)
			}
			recorded, err := bondctl.RecordShow()
			must(t, err)
			t.Logf("recorded %s %s", c.name, recorded)
			s := readQuietly(t)
			b := s.Bonds[0]
			var names []string
			for _, slave := range b.Slaves {
				names = append(names, slave.Name)
				if slave.Driver != "virtio_net" || slave.TxQueues < 1 || len(slave.Qdiscs) == 0 {
					t.Errorf("%+v", slave)
				}
			}
			if strings.Join(names, " ") != strings.Join(c.slaves, " ") || !b.InOrder {
				t.Errorf("slaves %v, in order %v, want %v", names, b.InOrder, c.slaves)
			}
			compareWithIP(t, b)
		})
	}
}

// readQuietly also sees that nothing is written to the standard output, where it would spoil JSON.
func readQuietly(t *testing.T) bondctl.Show {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	must(t, err)
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	s, err := bondctl.ReadShow("bond0")
	os.Stdout = stdout
	must(t, err)
	text, err := os.ReadFile(out.Name())
	must(t, err)
	if len(text) > 0 {
		t.Errorf("ReadShow wrote to the standard output: %s", text)
	}
	return s
}

// newerThanIP are options that iproute2 6.1 does not print.
var newerThanIP = []string{"coupled_control", "broadcast_neighbor"}

// compareWithIP takes ip's line of options apart.
func compareWithIP(t *testing.T, b bondctl.ShownBond) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := osrun.Run(ctx, osrun.Cmd{Path: "/bin/ip", Args: []string{"-d", "link", "show", "bond0"}, Timeout: 20 * time.Second})
	must(t, err)
	_, line, found := strings.Cut(string(out.Stdout), " bond mode ")
	line, _, _ = strings.Cut("mode "+line, " addrgenmode")
	if !found {
		t.Fatalf("ip shows no bond: %s", out.Stdout)
	}
	t.Log(line)
	rest := " " + line + " "
	options := map[string]string{"mode": b.Mode}
	for name, value := range b.Options {
		options[name] = value
	}
	if b.ActiveSlave != "" {
		options["active_slave"] = b.ActiveSlave
	}
	for name, value := range options {
		if !strings.Contains(rest, " "+name+" "+value+" ") && !slices.Contains(newerThanIP, name) {
			t.Errorf("ip has no %q", name+" "+value)
		}
		rest = strings.Replace(rest, " "+name+" "+value+" ", " ", 1)
	}
	t.Logf("not options: %s", rest)
	if strings.Contains(rest, "_") && b.Mode != "802.3ad" { // that has ad_ words of the aggregator
		t.Errorf("ip shows more options: %s", rest)
	}
}
