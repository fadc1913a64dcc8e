package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/ifstate/statetest"
	"bondrepro/internal/initramfs"
	"bondrepro/internal/osrun"
	"bondrepro/internal/vmtest"
	"bondrepro/reproducer/result"
)

// hostModules are what the host testbed needs of a kernel; a real machine loads most by itself.
var hostModules = []string{"bonding", "veth", "sch_tbf", "sch_ingress", "cls_matchall", "act_gact", "sch_netem", "8021q"}

// linkSpeed, Mbit/s, of the guest's ports: so slow that one sender under TCG can fill them.
const linkSpeed = 100

// hostRig is a machine with four ports, the last two for an 802.3ad partner.
type hostRig struct {
	name   string
	mutant string
	queues int
}

// hostRigs are one queue a port and several under mq, on a good kernel and on a faulty one.
var hostRigs = []hostRig{
	{"stock", "", 1}, {"stock, 2 queues", "", 2}, {"orphaning", "orphan", 1}, {"orphaning, 2 queues", "orphan", 2},
}

func (r hostRig) guest(t *testing.T) vmtest.Guest {
	t.Helper()
	// The line carries 24 bytes more a frame than layer 2 counts: FCS, preamble and gap.
	const frame = 4000 + 8 + 20 + 14
	g := vmtest.Guest{
		Modules: hostModules, NICs: 4, CPUs: 2, Queues: r.queues, Patience: 20 * time.Minute,
		LinkSpeed: linkSpeed, LineRate: linkSpeed * 1e6 * frame / (frame + 24), Cables: [][2]int{{0, 2}, {1, 3}},
		Env: []string{wantVerdict + "=" + string(result.Good), rounds + "=" + netnsKernel{}.rounds()},
	}
	for _, name := range []string{"bondrepro", "bondctl"} {
		g.Files = append(g.Files, initramfs.Copy("/bin/"+name, 0o755, filepath.Join(filepath.Dir(binary), name)))
	}
	g.Files = append(g.Files, vmtest.Programs(t, statetest.Tools...)...)
	if r.mutant != "" {
		g.Swap = map[string]string{"bonding": mutant(r.mutant)}
		g.Env = []string{wantVerdict + "=" + string(result.Bad)}
	}
	return g
}

// TestHost measures real ports in each mode.
func TestHost(t *testing.T) {
	need(t)
	for _, r := range hostRigs {
		t.Run(r.name, func(t *testing.T) { r.guest(t).Run(t, "^TestInsideHostModes$") })
	}
}

// TestHostPutsBack ends runs in every way there is.
func TestHostPutsBack(t *testing.T) {
	need(t)
	hostRig{name: "stock", queues: 1}.guest(t).Run(t, "^TestInsideHost(Ends|Repeated|Receiver|Unplugged)$")
}

// hostModes are the modes that are measured on real ports.
var hostModes = []struct {
	name string
	set  []string
	bad  func(t *testing.T, r *result.Result) // what a faulty kernel shows
}{
	{"active-backup", []string{"topology.bond.mode=active-backup"}, orphaned},
	{"balance-rr", []string{"topology.bond.mode=balance-rr"}, orphaned},
	{"layer2", hash("layer2"), orphaned},
	{"layer2+3", hash("layer2+3"), orphaned},
	{"layer3+4", hash("layer3+4"), orphaned},
	{"encap2+3", hash("encap2+3"), orphaned},
	{"encap3+4", hash("encap3+4"), orphaned},
	{"vlan+srcmac", hash("vlan+srcmac"), orphaned},
	{"802.3ad", []string{"topology.bond.mode=802.3ad", "topology.bond.lacp_rate=fast"}, orphaned},
	{"broadcast", []string{"topology.bond.mode=broadcast"}, drops},
	{"a VLAN", []string{"topology.vlan=100"}, orphaned},
}

func hash(policy string) []string {
	return []string{"topology.bond.mode=balance-xor", "topology.bond.xmit_hash_policy=" + policy}
}

// inside skips a test that is for a guest, and sets its ports up.
func inside(t *testing.T, by string) {
	t.Helper()
	if !vmtest.Inside() {
		t.Skip("needs a guest's ports: " + by + " starts it there")
	}
	for n := range 4 {
		setUp(t, fmt.Sprintf("eth%d", n))
	}
}

// onPorts are the arguments of a run on the first two ports.
func onPorts(file string, sets ...string) []string {
	return append([]string{"run", "bond-multicast-tx", "--testbed", "host", "--slaves", "eth0,eth1", "-o", file}, set(sets...)...)
}

// TestInsideHostModes: the verdict of the host testbed is that of the kernel it runs on, in every mode.
func TestInsideHostModes(t *testing.T) {
	inside(t, "TestHost")
	want := result.Verdict(os.Getenv(wantVerdict))
	bondctl(t, "up", "partner0", "--mode", "802.3ad", "--set", "miimon=100", "--set", "lacp_rate=fast", "--slave", "eth2", "--slave", "eth3")
	settled(t)
	before := record(t)
	file := filepath.Join(t.TempDir(), "result.json")
	for _, m := range hostModes {
		t.Run(m.name, func(t *testing.T) {
			began := time.Now()
			code, output := inGuest(t, nil, onPorts(file, append(m.set, "traffic.duration=1500ms", "traffic.warmup=100ms")...)...)
			t.Logf("%.1f s", time.Since(began).Seconds())
			checkHost(t, file, code, output, want, m.bad)
		})
	}
	statetest.Equal(t, before, record(t))
	t.Run("a bond that is there", func(t *testing.T) { measureExisting(t, file, want) })
}

// record leaves out the partner, whose LACP goes on with whoever is there.
func record(t *testing.T) map[string]string {
	all := statetest.Record(t)
	for _, name := range []string{"eth2", "eth3", "partner0"} {
		all = without(all, name)
	}
	return all
}

func checkHost(t *testing.T, file string, code int, output string, want result.Verdict, bad func(*testing.T, *result.Result)) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; it wrote:\n%s", err, output)
	}
	r := load(t, data)
	wantCode := map[result.Verdict]int{result.Good: 0, result.Bad: 1}[want]
	if code != wantCode || r.Judgement.Verdict != want || r.Config.Testbed != "host" || len(r.Host.Ports) == 0 {
		t.Errorf("exit code %d, %s in testbed %s, %d ports: %s", code, r.Judgement.Verdict, r.Config.Testbed, len(r.Host.Ports), r.Judgement.Reason)
	}
	if want == result.Good {
		all(noDrops, balanced)(t, r)
	} else {
		bad(t, r)
	}
	if t.Failed() {
		t.Log(output)
	}
}

// measureExisting measures a bond of the machine's own.
func measureExisting(t *testing.T, file string, want result.Verdict) {
	bondctl(t, "up", "bond7", "--mode", "balance-xor", "--set", "miimon=100", "--slave", "eth0", "--slave", "eth1", "--mtu", "9000", "--address", "192.0.2.7/24", "--qdisc", "pfifo_fast")
	time.Sleep(time.Second) // what a new bond says to its neighbours
	settled(t)
	before := record(t)
	args := append([]string{"run", "bond-multicast-tx", "--testbed", "host", "--bond", "bond7", "-o", file}, set("traffic.duration=1500ms", "traffic.warmup=100ms")...)
	if code, output := inGuest(t, nil, args...); code != 128 || !strings.Contains(output, "--yes") {
		t.Errorf("without --yes: exit code %d:\n%s", code, output)
	}
	if code, output := inGuest(t, nil, append(args, "--yes")...); code != 128 || !strings.Contains(output, "192.0.2.7/24") {
		t.Errorf("without --take-addresses: exit code %d:\n%s", code, output)
	}
	code, output := inGuest(t, nil, append(args, "--yes", "--take-addresses", "--control")...)
	checkHost(t, file, code, output, want, orphaned)
	statetest.Equal(t, before, record(t))
	bondctl(t, "down", "bond7")
}

// bondctl runs the guest's bondctl and wants it to succeed.
func bondctl(t *testing.T, args ...string) string {
	t.Helper()
	code, output := command(t, "/bin/bondctl", args...)
	if code != 0 {
		t.Fatalf("bondctl %s: exit code %d:\n%s", strings.Join(args, " "), code, output)
	}
	return output
}

// ends are the ways in which a run may end before its time.
var ends = []struct {
	name   string
	signal syscall.Signal
	code   int // -1: it is killed
}{
	{"SIGINT", syscall.SIGINT, 130}, {"SIGTERM", syscall.SIGTERM, 143}, {"SIGHUP", syscall.SIGHUP, 143}, {"SIGKILL", syscall.SIGKILL, -1},
}

// TestInsideHostEnds: whatever ends a run, the machine is as it was; after SIGKILL, with bondctl restore.
func TestInsideHostEnds(t *testing.T) {
	inside(t, "TestHostPutsBack")
	ip(t, "addr add 192.0.2.77/24 dev eth0", "link set eth1 mtu 2000", "route add 198.51.100.0/24 via 192.0.2.1 dev eth0")
	before := statetest.Record(t)
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			p := begin(t, append(onPorts("/tmp/ended.json", "traffic.duration=5s"), "--take-addresses")...)
			if code, output := inGuest(t, nil, onPorts("/tmp/second.json")...); code != 128 || !strings.Contains(output, fmt.Sprintf("pid %d", p.Pid())) {
				t.Errorf("a second command: exit code %d, want 128 and the first one's pid %d:\n%s", code, p.Pid(), output)
			}
			if err := syscall.Kill(p.Pid(), end.signal); err != nil {
				t.Fatal(err)
			}
			err := p.Wait()
			if end.code < 0 {
				if code, output := command(t, "/bin/bondrepro", "list"); code != 0 || !strings.Contains(output, "bondctl restore") {
					t.Errorf("after %s no command offers to restore: exit code %d:\n%s", end.name, code, output)
				}
				if code, output := inGuest(t, nil, onPorts("/tmp/second.json")...); code != 128 || !strings.Contains(output, "bondctl restore") {
					t.Errorf("after %s another run: exit code %d:\n%s", end.name, code, output)
				}
				bondctl(t, "restore")
			} else if got := exitOf(err); got != end.code {
				t.Errorf("exit code %d, want %d: %v", got, end.code, err)
			}
			statetest.Equal(t, before, statetest.Record(t))
			noJournal(t)
		})
	}
	ip(t, "addr del 192.0.2.77/24 dev eth0", "link set eth1 mtu 1500")
}

// TestInsideHostRepeated: many runs in a row leave nothing behind.
func TestInsideHostRepeated(t *testing.T) {
	inside(t, "TestHostPutsBack")
	times := number(t, os.Getenv(rounds))
	before, seen := statetest.Record(t), leftovers(t)
	for i := range times {
		args := append(onPorts("/tmp/repeated.json", "traffic.duration=300ms", "traffic.warmup=50ms", "sampling.interval=5ms", "runs.symptom_rate=0.99"), "--no-control")
		if code, output := inGuest(t, nil, args...); code != 0 && code != 125 {
			t.Fatalf("round %d: exit code %d:\n%s", i+1, code, output)
		}
		os.Remove("/tmp/repeated.json")
	}
	statetest.Equal(t, before, statetest.Record(t))
	if after := leftovers(t); after.seen != seen.seen {
		t.Errorf("after %d runs\n got %+v\nwant %+v", times, after, seen)
	}
	noJournal(t)
	t.Logf("%d runs", times)
}

// noJournal wants nothing on record.
func noJournal(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("/var/lib/bondrepro/*.json")
	if err != nil || len(files) > 0 {
		t.Errorf("journals are left: %v %v", files, err)
	}
}

// TestInsideHostReceiver: what a receiver at the far end has counted becomes the last hop of the ledger.
func TestInsideHostReceiver(t *testing.T) {
	inside(t, "TestHostPutsBack")
	if err := os.MkdirAll("/var/run", 0o755); err != nil { // ip-netns(8) keeps names there
		t.Fatal(err)
	}
	ip(t, "netns add far", "link add v0 type veth peer name w0 netns far", "link add v1 type veth peer name w1 netns far")
	for _, line := range []string{"link set v0 up", "link set v1 up", "-n far link set w0 mtu 9000 up", "-n far link set w1 mtu 9000 up", "-n far link set lo up"} {
		ip(t, line)
	}
	defer ip(t, "netns del far")
	settled(t)
	const file = "/tmp/received.json"
	receiver, err := osrun.Start(context.Background(), osrun.Cmd{
		Path: "/bin/ip", Args: []string{"netns", "exec", "far", "/bin/bondrepro", "receive", "bond-multicast-tx", "--interface", "w0", "--interface", "w1", "-o", file},
		Env: []string{"PATH=/bin", "HOME=/tmp"}, Timeout: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { _, err := os.Stat(file); return err == nil }) {
		t.Fatalf("the receiver writes no file: %v", receiver.Kill())
	}
	args := append([]string{"run", "bond-multicast-tx", "--testbed", "host", "--slaves", "v0,v1", "--allow-virtual", "--receiver", file, "-o", "/tmp/merged.json"},
		set("traffic.duration=500ms", "traffic.warmup=100ms", "traffic.rate=2kpps", "guards.line_full=false")...)
	code, output := inGuest(t, nil, args...)
	if err := syscall.Kill(receiver.Pid(), syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if got := exitOf(receiver.Wait()); got != 0 {
		t.Errorf("the receiver ended with %d", got)
	}
	data, err := os.ReadFile("/tmp/merged.json")
	if err != nil {
		t.Fatalf("exit code %d (%v):\n%s", code, err, output)
	}
	r := load(t, data)
	for _, run := range r.Arms[0].Runs {
		hops := run.Judgement.Ledger.Hops
		last := hops[len(hops)-1]
		if last.Name != "slaves to receiver" || last.LeftSum < 500 || last.Remainder != 0 {
			t.Errorf("the last hop is %+v\n%s", last, output)
		}
	}
}

// TestInsideHostUnplugged: a port that loses its carrier or is pulled out makes a run inconclusive, and the rest is put
// back.
func TestInsideHostUnplugged(t *testing.T) {
	inside(t, "TestHostPutsBack")
	t.Run("carrier", func(t *testing.T) {
		ip(t, "link add v0 type veth peer name w0", "link add v1 type veth peer name w1", "link set w0 mtu 9000", "link set w1 mtu 9000",
			"link set v0 up", "link set v1 up", "link set w0 up", "link set w1 up")
		settled(t)
		before := statetest.Record(t)
		args := append([]string{"run", "bond-multicast-tx", "--testbed", "host", "--slaves", "v0,v1", "--allow-virtual", "-o", "/tmp/carrier.json"},
			set("traffic.duration=4s", "guards.line_full=false")...)
		p := begin(t, args...)
		ip(t, "link set w0 down")
		if got := exitOf(p.Wait()); got != 125 {
			t.Errorf("exit code %d, want 125", got)
		}
		ip(t, "link set w0 up")
		settled(t)
		statetest.Equal(t, before, statetest.Record(t))
		ip(t, "link del v0", "link del v1")
	})
	t.Run("hot unplug", func(t *testing.T) {
		before := statetest.Record(t)
		p := begin(t, onPorts("/tmp/unplugged.json", "traffic.duration=4s")...)
		if err := os.WriteFile("/sys/class/net/eth1/device/../remove", []byte("1"), 0o200); err != nil {
			t.Fatal(err)
		}
		if got := exitOf(p.Wait()); got != 125 {
			t.Errorf("exit code %d, want 125", got)
		}
		statetest.Equal(t, without(before, "eth1"), without(statetest.Record(t), "eth1"))
		noJournal(t)
	})
}

// without leaves out of a record what is of an interface.
func without(record map[string]string, name string) map[string]string {
	rest := map[string]string{}
	for key, text := range record {
		if strings.Contains(key, name) {
			continue
		}
		var kept []string
		for _, object := range strings.Split(text, "\n{") {
			if !strings.Contains(object, `"`+name+`"`) {
				kept = append(kept, strings.TrimPrefix(object, "{"))
			}
		}
		rest[key] = strings.Join(kept, "\n{")
	}
	return rest
}

// begin starts a run, and comes back when its traffic flows.
func begin(t *testing.T, args ...string) *osrun.Process {
	t.Helper()
	var out, says bytes.Buffer // each is written by a goroutine of its own
	p, err := osrun.Start(context.Background(), osrun.Cmd{
		Path: "/bin/bondrepro", Args: args, Env: []string{"PATH=/bin", "HOME=/tmp"}, Timeout: patience, Stdout: &out, Stderr: &says,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(out.String(), says.String())
		}
	})
	if !eventually(func() bool { return flows("bondrepro0") }) {
		t.Fatalf("no traffic came: %v", p.Kill())
	}
	return p
}

// flows tells whether a bond sends at a rate that only a measurement has.
func flows(bond string) bool {
	packets := func() (n int) {
		text, err := os.ReadFile("/sys/class/net/" + bond + "/statistics/tx_packets")
		if err == nil {
			fmt.Sscan(string(text), &n)
		}
		return n
	}
	before := packets()
	time.Sleep(50 * time.Millisecond)
	return packets() > before+20
}
