package ports

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bondrepro/reproducer/result"

	"github.com/rogpeppe/go-internal/txtar"
)

// recorded unpacks a tree of testdata; a name with " => " is a symbolic link.
func recorded(t *testing.T, name string) tree {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range archive.Files {
		at, target, isLink := strings.Cut(f.Name, " => ")
		at = filepath.Join(root, at)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if isLink {
			err = os.Symlink(target, at)
		} else {
			err = os.WriteFile(at, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree(root)
}

// A virtio port has its interrupts at the PCI device above, one queue without XPS, and no speed.
func TestRecordedVirtioPort(t *testing.T) {
	root := recorded(t, "virtio")
	f := Facts{Name: "eth0", Ifindex: 4}
	if err := root.sameNamespace(f); err != nil {
		t.Error(err)
	}
	root.port(&f)
	want := Facts{
		Name: "eth0", Ifindex: 4,
		Queues: []result.PortQueue{{BQL: &result.PortBQL{Limit: 5361, LimitMax: 1879048192}}},
		IRQs: []result.PortIRQ{
			{Number: 37, Name: "virtio2-config", Affinity: "0-1", Effective: "0"},
			{Number: 38, Name: "virtio2-input.0", Affinity: "0-1", Effective: "1"},
			{Number: 39, Name: "virtio2-output.0", Affinity: "0-1", Effective: "0"},
		},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v\nwant %+v", f, want)
	}
	if m, want := root.machine(), (Machine{CPUs: 2, ASPM: "default"}); !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, want %+v", m, want)
	}
}

func TestRecordedPortInAStack(t *testing.T) {
	root := recorded(t, "stacked")
	f := Facts{Name: "eth1", Ifindex: 3, Master: "bond0"}
	root.port(&f)
	want := Facts{
		Name: "eth1", Ifindex: 3, Master: "bond0", Uppers: []string{"mv0"}, SpeedMbit: 10000, Duplex: "full",
		Queues: []result.PortQueue{ // as people count, not as the folder lists them
			{XPS: "00000000,00000001", BQL: &result.PortBQL{Limit: 90852, LimitMax: 1879048192, Inflight: 60564}},
			{XPS: "00000000,00000002"}, {XPS: "00000000,0000000a"},
		},
		IRQs: []result.PortIRQ{{Number: 41, Name: "eth1-TxRx-0", Affinity: "0-3,8"}, {Number: 102, Affinity: "2"}},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v\nwant %+v", f, want)
	}
	above := root.above("eth1")
	slices.Sort(above)
	if !slices.Equal(above, []string{"bond0", "bond0.5", "br0", "mv0"}) {
		t.Errorf("on eth1 are %v", above)
	}
	if m, want := root.machine(), (Machine{CPUs: 8, Irqbalance: true, Governors: []string{"performance", "powersave"}, ASPM: "powersave"}); !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, want %+v", m, want)
	}
	bond := Facts{Name: "bond0", Ifindex: 5}
	if root.port(&bond); !bond.Virtual {
		t.Error("bond0 is not virtual")
	}
	if err := root.sameNamespace(Facts{Name: "eth1", Ifindex: 4}); err == nil {
		t.Error("another interface of the same name was taken for it")
	}
}

// Connections by $SSH_CONNECTION come first; of the others only those are SSH's that are established, to its port or to one
// that $SSH_CONNECTION names.
func TestRecordedSSHConnections(t *testing.T) {
	var got []string
	for _, s := range recorded(t, "ssh").sessions() {
		got = append(got, s.local.String()+" from "+s.peer.String())
	}
	want := []string{
		"fe80::1%eth3 from [fe80::9%eth3]:40000",
		"192.0.2.1 from 192.0.2.9:50000",
		"192.0.2.1 from 192.0.2.10:50001",
		"192.0.2.1 from 192.0.2.13:50005",
		"2001:db8::1 from [2001:db8::9]:50006",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
