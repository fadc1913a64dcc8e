package ifstate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/ifstate"
	"bondrepro/internal/ifstate/statetest"
	"bondrepro/internal/initramfs"
	"bondrepro/internal/vmtest"
)

func TestMain(m *testing.M) { vmtest.Main(m) }

// TestInGuest runs the tests below that begin with TestPutBack on a kernel that has bonding.
func TestInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	var files []initramfs.Entry
	for _, name := range statetest.Tools {
		more, err := vmtest.Program(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range more {
			if !slices.ContainsFunc(files, func(e initramfs.Entry) bool { return e.Path == f.Path }) {
				files = append(files, f)
			}
		}
	}
	pattern := "^TestPutBack"
	if only := os.Getenv("IFSTATE_ONLY"); only != "" {
		pattern = only
	}
	vmtest.Guest{
		Modules: []string{"bonding", "sch_htb", "sch_tbf", "sch_fq", "sch_ingress", "cls_matchall", "act_gact", "8021q"}, NICs: 4, Files: files,
		Patience: statetest.Patience, Env: statetest.Env(),
	}.Run(t, pattern)
}

// building is what is done to ports to build a bond of them.
func building(ports ...string) []string {
	var steps []string
	add := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	add("ip link add bond9 type bond mode active-backup miimon 50")
	add("ip link set dev bond9 mtu 4000")
	for _, p := range ports {
		add("ip link set dev %s down", p)
		add("ip link set dev %s txqueuelen 777", p)
		add("ip link set dev %s master bond9", p)
		add("ip link set dev %s up", p)
		add("ethtool -K %s gro off", p)
		for _, s := range []string{"addr_gen_mode=1", "accept_ra=0", "router_solicitations=0", "dad_transmits=0", "disable_ipv6=0"} {
			add("ipv6/conf/%s/%s", p, s)
		}
		add("ip addr add 2001:db8:9::%d/64 dev %s nodad", len(steps), p)
	}
	add("ip link set dev bond9 up")
	add("tc qdisc add dev bond9 clsact")
	add("tc filter add dev bond9 egress matchall action continue")
	add("ip addr add 203.0.113.1/24 dev bond9")
	for n, p := range ports {
		if n == 0 {
			add("tc qdisc replace dev %s root handle 5: tbf rate 100mbit burst 64k latency 1s", p)
			add("tc qdisc replace dev %s parent 5:1 pfifo_fast", p)
		} else {
			add("tc qdisc replace dev %s root pfifo_fast", p)
		}
	}
	return steps
}

// removing is how the bond is taken down again.
func removing(ports ...string) []string {
	steps := []string{"ip link del dev bond9"}
	for _, p := range ports {
		steps = append(steps, "ip link set dev "+p+" down")
	}
	return steps
}

// more is what is done to ports of a topology before and after the bond is built.
var more = map[string]struct{ before, after []string }{
	"addressed": {after: []string{"ip addr flush dev eth0", "ip addr flush dev wan.1"}},
	"enslaved":  {before: []string{"ip link set dev eth0 nomaster", "ip link set dev eth1 nomaster", "ip link set dev eth2 nomaster"}},
}

func TestPutBackFresh(t *testing.T)     { putBack(t, "fresh") }
func TestPutBackAddressed(t *testing.T) { putBack(t, "addressed") }
func TestPutBackEnslaved(t *testing.T)  { putBack(t, "enslaved") }

// putBack disturbs the topology and restores it: after everything, after a part of it, and after a
// SIGKILL at each single change of Restore itself.
func putBack(t *testing.T, name string) {
	if !vmtest.Inside() {
		t.Skip("needs a guest's interfaces: TestInGuest runs it there")
	}
	top := statetest.Set(t, name)
	disturb := slices.Concat(more[name].before, building(top.Ports...), more[name].after)
	before := statetest.Record(t)
	state, err := ifstate.Capture(top.Ports)
	if err != nil {
		t.Fatal(err)
	}
	if bad := state.Irrestorable(); len(bad) > 0 {
		t.Fatalf("irrestorable: %v", bad)
	}
	compare := func(what string) bool {
		t.Helper()
		return t.Run(what, func(t *testing.T) { statetest.Equal(t, before, statetest.Record(t)) })
	}
	restore := func() {
		t.Helper()
		left, err := ifstate.Restore(t.Context(), state, made(t), nil)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	start := time.Now()
	restore()
	t.Logf("nothing to do: %v", time.Since(start))
	all := append(slices.Clone(disturb), removing(top.Ports...)...)
	statetest.Do(t, all...)
	start = time.Now()
	restore()
	t.Logf("restored in %v", time.Since(start))
	if !compare("all") {
		return
	}
	// bondctl's own test stops at each step; here some have to do.
	half := 0
	for n := 3; n < len(all); n += 6 {
		half++
		statetest.Do(t, all[:n]...)
		restore()
		if !compare(fmt.Sprintf("after-step-%d-%s", n, strings.ReplaceAll(all[n-1], " ", "-"))) {
			return
		}
	}
	points := 0
	for n := 1; ; n += statetest.Stride(4) { // bondctl's tests try each
		statetest.Do(t, disturb...)
		command, ended := killedAfter(t, state, made(t), n)
		if ended {
			compare("ended")
			break
		}
		points++
		restore()
		if !compare(fmt.Sprintf("killed-%d-%s", n, strings.ReplaceAll(command, " ", "-"))) {
			return
		}
	}
	t.Logf("%s: %d points of the disturbance, %d points of Restore killed, every one put back", name, half, points)
}

// What is not ours is left alone: a name or an index alone does not make it so.
func TestPutBackLeavesOthersAlone(t *testing.T) {
	state := inGuest(t, "eth0")
	statetest.Do(t, "ip link add bond9 type bond")
	t.Cleanup(func() { statetest.Do(t, "ip link del dev bond9") })
	is := made(t)[0]
	for _, not := range []ifstate.Made{{Name: "bond9", Ifindex: is.Ifindex + 1}, {Name: "bond8", Ifindex: is.Ifindex}} {
		if left, err := ifstate.Restore(t.Context(), state, []ifstate.Made{not}, nil); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if len(made(t)) == 0 {
			t.Fatalf("%v: another's bond was removed", not)
		}
	}
}

// A bond that somebody removed meanwhile is a leftover, and so is a name that somebody gave; the rest is put back.
func TestPutBackOfABondThatIsGone(t *testing.T) {
	inGuest(t, "eth0")
	statetest.Do(t, "ip link add bondA type bond mode active-backup", "ip link set dev eth0 down", "ip link set dev eth0 master bondA", "ip link set dev eth0 txqueuelen 333")
	statetest.Settle(t)
	state, err := ifstate.Capture([]string{"eth0"})
	if err != nil {
		t.Fatal(err)
	}
	statetest.Do(t, "ip link del dev bondA", "ip link set dev eth0 down", "ip link set dev eth0 txqueuelen 1000", "ip link set dev eth0 name wan")
	t.Cleanup(func() {
		statetest.Do(t, "ip link set dev wan down", "ip link set dev wan txqueuelen 1000", "ip link set dev wan name eth0")
	})
	left, err := ifstate.Restore(t.Context(), state, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var bond, master, name, rest []ifstate.Leftover
	for _, l := range left {
		switch {
		case l.Interface == "bondA" && l.Gone:
			bond = append(bond, l)
		case l.What == "master" && strings.Contains(l.Err, "does not exist"):
			master = append(master, l)
		case l.What == "name":
			name = append(name, l)
		default:
			rest = append(rest, l)
		}
	}
	if len(bond) != 1 || len(master) != 1 || len(name) != 1 || len(rest) > 0 {
		t.Errorf("left: %v", left)
	}
	if b, _ := os.ReadFile("/sys/class/net/wan/tx_queue_len"); strings.TrimSpace(string(b)) != "333" {
		t.Errorf("txqueuelen %s", b)
	}
}

// An interface that is unplugged is said to be gone, and the others are put back. It comes last: nothing plugs it in again.
func TestPutBackUnplugged(t *testing.T) {
	state := inGuest(t, "eth2", "eth3")
	statetest.Do(t, "ip link set dev eth2 txqueuelen 333", "ip link set dev eth3 txqueuelen 333")
	if err := os.WriteFile("/sys/class/net/eth3/device/../remove", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	left, err := ifstate.Restore(t.Context(), state, nil, nil)
	if err != nil || len(left) != 1 || !left[0].Gone || left[0].Interface != "eth3" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// inGuest is the state of some interfaces.
func inGuest(t *testing.T, names ...string) ifstate.State {
	t.Helper()
	if !vmtest.Inside() {
		t.Skip("needs a guest's interfaces: TestInGuest runs it there")
	}
	state, err := ifstate.Capture(names)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// made is the bond that we made, if it is there.
func made(t *testing.T) []ifstate.Made {
	t.Helper()
	b, err := os.ReadFile("/sys/class/net/bond9/ifindex")
	if err != nil {
		return nil
	}
	index, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return []ifstate.Made{{Name: "bond9", Ifindex: index}}
}

// order is what the child that dies is to do.
type order struct {
	State ifstate.State
	Made  []ifstate.Made
	Die   int // after so many changes
}

const (
	childEnv  = "BONDREPRO_IFSTATE_CHILD"
	childTest = "TestChildThatDies"
	lastFile  = "last"
)

// killedAfter runs Restore in a process of its own, which gets SIGKILL after n changes. It gives the last change, and
// tells whether the process came to its end before.
func killedAfter(t *testing.T, state ifstate.State, made []ifstate.Made, n int) (command string, ended bool) {
	t.Helper()
	dir := t.TempDir()
	b, err := json.Marshal(order{state, made, n})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "order"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run", "^"+childTest+"$", "-test.count=1")
	c.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := c.CombinedOutput()
	last, _ := os.ReadFile(filepath.Join(dir, lastFile))
	var died *exec.ExitError
	if errors.As(err, &died) && died.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return string(last), false
	}
	if err != nil {
		t.Fatalf("the child: %v\n%s", err, out)
	}
	return "", true
}

// TestChildThatDies is the process that killedAfter starts.
func TestChildThatDies(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("is a part of TestPutBack…")
	}
	var o order
	b, err := os.ReadFile(filepath.Join(dir, "order"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	n := 0
	left, err := ifstate.Restore(t.Context(), o.State, o.Made, func(command string) {
		if n++; n == o.Die {
			if err := os.WriteFile(filepath.Join(dir, lastFile), []byte(command), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {}
		}
	})
	if err != nil || len(left) > 0 {
		t.Fatalf("left: %v, %v", left, err)
	}
}
