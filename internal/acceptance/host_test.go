package acceptance

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/initramfs"
	"bondrepro/internal/vmtest"
	"bondrepro/reproducer/result"
)

// hostModules are what the host testbed needs of a kernel; a real machine loads most by itself.
var hostModules = []string{"bonding", "sch_tbf", "sch_ingress", "cls_matchall", "act_gact", "sch_netem", "8021q"}

// linkSpeed, Mbit/s, of the guest's ports: so slow that one sender under TCG can fill them.
const linkSpeed = 100

// hostRig is a machine with four ports, the last two for an 802.3ad partner.
type hostRig struct {
	name   string
	mutant string
	queues int
}

var hostRigs = []hostRig{
	{"stock", "", 1}, {"stock 2 queues", "", 2}, {"orphaning", "orphan", 1}, {"orphaning 2 queues", "orphan", 2},
}

func (r hostRig) guest(t *testing.T) vmtest.Guest {
	// The line carries 24 bytes more a frame than layer 2 counts: FCS, preamble and gap.
	const frame = 4000 + 8 + 20 + 14
	g := vmtest.Guest{
		Modules: hostModules, NICs: 4, CPUs: 2, Queues: r.queues, Patience: 20 * time.Minute,
		LinkSpeed: linkSpeed, LineRate: linkSpeed * 1e6 * frame / (frame + 24), Cables: [][2]int{{0, 2}, {1, 3}},
		Env: []string{wantVerdict + "=" + string(result.Good)},
		Files: []initramfs.Entry{
			initramfs.Copy("/bin/bondrepro", 0o755, binary), initramfs.Copy("/bin/bondctl", 0o755, strings.TrimSuffix(binary, "bondrepro")+"bondctl"),
		},
	}
	if r.mutant != "" {
		g.Swap = map[string]string{"bonding": mutant(r.mutant)}
		g.Env = []string{wantVerdict + "=" + string(result.Bad)}
	}
	return g
}

func TestHost(t *testing.T) {
	need(t)
	for _, r := range hostRigs {
		t.Run(r.name, func(t *testing.T) { r.guest(t).Run(t, "^TestInsideHost$") })
	}
}

// hostModes are the modes that are measured on real ports.
var hostModes = []struct {
	name string
	set  []string
}{
	{"active-backup", []string{"topology.bond.mode=active-backup"}},
	{"balance-rr", []string{"topology.bond.mode=balance-rr"}},
	{"layer2", []string{"topology.bond.mode=balance-xor", "topology.bond.xmit_hash_policy=layer2"}},
}

func TestInsideHost(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("TestHost runs it in a guest")
	}
	for _, port := range []string{"eth0", "eth1", "eth2", "eth3"} {
		setUp(t, port)
	}
	for _, m := range hostModes {
		t.Run(m.name, func(t *testing.T) {
			args := []string{"run", "bond-multicast-tx", "--testbed", "host", "--slaves", "eth0,eth1", "-o", "/tmp/result.json"}
			for _, s := range m.set {
				args = append(args, "--set", s)
			}
			code, out := inGuest(t, nil, args...)
			t.Log(out)
			want := os.Getenv(wantVerdict)
			var r result.Result
			text, err := os.ReadFile("/tmp/result.json")
			if err == nil {
				err = json.Unmarshal(text, &r)
			}
			if err != nil || string(r.Judgement.Verdict) != want {
				t.Errorf("exit code %d, verdict %q (%v), want %s", code, r.Judgement.Verdict, err, want)
			}
		})
	}
}
