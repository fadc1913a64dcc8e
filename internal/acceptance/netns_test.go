package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/initramfs"
	"bondrepro/internal/osrun"
	"bondrepro/internal/vmtest"
	"bondrepro/reproducer/result"

	"golang.org/x/sys/unix"
)

// guestModules are what the netns testbed needs of a kernel, loaded before: it loads none itself.
var guestModules = []string{"bonding", "veth", "sch_tbf", "sch_ingress", "cls_matchall", "act_gact", "sch_netem"}

// netnsKernel is a kernel that `bondrepro run --testbed netns` runs on, inside a guest.
type netnsKernel struct {
	name   string
	mutant string // the bonding.ko put in place of the kernel's own; empty for none
	deb    string // empty: BONDREPRO_KERNEL
}

// netnsKernels are the kernel under test, good and faulty, and those of BONDREPRO_MORE_KERNELS as they are.
func netnsKernels() []netnsKernel {
	all := []netnsKernel{{name: "stock"}, {name: "orphaning", mutant: "orphan"}}
	for _, deb := range strings.Fields(os.Getenv("BONDREPRO_MORE_KERNELS")) {
		all = append(all, netnsKernel{name: strings.TrimSuffix(filepath.Base(deb), ".deb"), deb: deb})
	}
	return all
}

// wantVerdict tells the tests inside the guest what its kernel is, rounds how often to repeat.
const (
	wantVerdict = "BONDREPRO_WANT"
	rounds      = "BONDREPRO_ROUNDS"
)

// TestNetns runs TestInsideNetns in a guest on each kernel.
func TestNetns(t *testing.T) {
	need(t)
	for _, k := range netnsKernels() {
		t.Run(k.name, func(t *testing.T) { k.run(t, "^TestInsideNetns$") })
	}
}

// TestNetnsLeavesNothing runs TestInsideRepeated in a guest.
func TestNetnsLeavesNothing(t *testing.T) {
	need(t)
	netnsKernel{name: "stock"}.run(t, "^TestInsideRepeated$")
}

func (k netnsKernel) run(t *testing.T, pattern string) {
	g := vmtest.Guest{
		Modules: guestModules, CPUs: 2, Patience: patience + time.Minute, Env: []string{wantVerdict + "=" + string(result.Good), rounds + "=" + k.rounds()},
		Files: []initramfs.Entry{initramfs.Copy("/bin/bondrepro", 0o755, binary)},
	}
	if k.mutant != "" {
		g.Swap = map[string]string{"bonding": mutant(k.mutant)}
		g.Env = []string{wantVerdict + "=" + string(result.Bad)}
	}
	if k.deb != "" {
		t.Setenv("BONDREPRO_KERNEL", k.deb)
	}
	g.Run(t, pattern)
}

// rounds are enough to see what grows; a soak takes a hundred.
func (netnsKernel) rounds() string {
	if soakReport != "" {
		return "100"
	}
	return "10"
}

// users are who runs the command inside the guest: root, and somebody without any right.
var users = []struct {
	name string
	attr *syscall.SysProcAttr
}{
	{"root", nil},
	{"rootless", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}},
}

// inGuest runs the guest's bondrepro with a temporary folder of its own and returns its exit code.
func inGuest(t *testing.T, attr *syscall.SysProcAttr, args ...string) (code int, output string) {
	t.Helper()
	var out bytes.Buffer
	_, err := osrun.Run(context.Background(), osrun.Cmd{
		Path: "/bin/bondrepro", Args: args, Env: []string{"PATH=/bin", "HOME=/tmp"}, Stdout: &out, Timeout: patience, Attr: attr,
	})
	var failed *osrun.Error
	switch {
	case err == nil:
		return 0, out.String()
	case !errors.As(err, &failed) || failed.Err != nil || failed.Signal != 0:
		t.Fatalf("%v\n%s", err, out.String())
	}
	return failed.ExitCode, out.String() + failed.Tail
}

// killed runs the guest's bondrepro and kills it by SIGKILL after a while, unless it has ended by then.
func killed(t *testing.T, attr *syscall.SysProcAttr, after time.Duration, args ...string) {
	t.Helper()
	p, err := osrun.Start(context.Background(), osrun.Cmd{
		Path: "/bin/bondrepro", Args: args, Env: []string{"PATH=/bin", "HOME=/tmp"}, Timeout: patience, Attr: attr,
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(after):
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	}
	_ = p.Wait() // killed, as it should be
}

// TestInsideNetns: the verdict of the netns testbed is that of the kernel it runs on, as root and rootless, with one
// sender and eight, with one TX queue and four.
func TestInsideNetns(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("runs on a guest's kernel: TestNetns starts it there")
	}
	want := result.Verdict(os.Getenv(wantVerdict))
	code := map[result.Verdict]int{result.Good: 0, result.Bad: 1}[want]
	folder := openFolder(t)
	for _, user := range users {
		for _, queues := range []int{1, 4} {
			for _, senders := range []int{1, 8} {
				t.Run(fmt.Sprintf("%s, %d queues, %d senders", user.name, queues, senders), func(t *testing.T) {
					file := filepath.Join(folder, fmt.Sprintf("%s-%d-%d.json", user.name, queues, senders))
					args := append([]string{"run", "bond-multicast-tx", "--testbed", "netns", "-o", file},
						set(fmt.Sprintf("topology.slaves.queues=%d", queues), fmt.Sprintf("traffic.senders=%d", senders), "traffic.duration=2s")...)
					began := time.Now()
					got, output := inGuest(t, user.attr, args...)
					t.Logf("%.1f s", time.Since(began).Seconds())
					data, err := os.ReadFile(file)
					if err != nil || got != code {
						t.Fatalf("exit code %d, want %d (%v); it wrote:\n%s", got, code, err, output)
					}
					r := load(t, data)
					if r.Judgement.Verdict != want || r.Config.Testbed != "netns" || r.Guest != nil {
						t.Errorf("%s in testbed %s: %s", r.Judgement.Verdict, r.Config.Testbed, r.Judgement.Reason)
					}
					if want == result.Good {
						all(noDrops, balanced, controlDrops)(t, r)
					} else {
						all(drops, orphaned)(t, r)
					}
					if t.Failed() {
						t.Log(output)
					}
				})
			}
		}
	}
}

// openFolder is one that everybody may write to.
func openFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for f := folder; f != "/tmp" && f != "/"; f = filepath.Dir(f) {
		if err := os.Chmod(f, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestInsideRepeated: many runs in a row, every fifth of them killed by SIGKILL, leave no process, namespace,
// interface or file behind.
func TestInsideRepeated(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("runs on a guest's kernel: TestNetnsLeavesNothing starts it there")
	}
	times, err := strconv.Atoi(os.Getenv(rounds))
	if err != nil {
		t.Fatal(err)
	}
	short := append([]string{"run", "bond-multicast-tx", "--no-control"},
		set("traffic.duration=300ms", "traffic.warmup=50ms", "topology.slaves.line_rate=50mbit", "runs.symptom_rate=0.99", "sampling.interval=5ms")...)
	// A guest's init reaps nobody else's children: the killed ones' come to this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	for _, user := range users { // what a kernel keeps of its first namespaces is kept once
		inGuest(t, user.attr, short...)
	}
	before := leftovers(t)
	for i := range times {
		user := users[i%len(users)]
		if i%5 == 4 {
			killed(t, user.attr, time.Duration(i)*20*time.Millisecond, short...)
			continue
		}
		if code, output := inGuest(t, user.attr, short...); code != 0 && code != 125 {
			t.Fatalf("round %d as %s: exit code %d:\n%s", i+1, user.name, code, output)
		}
	}
	// The kernel frees a namespace some time after its last user; a leak would be one a run.
	const kept = 2
	if after := leftovers(t); after.seen != before.seen || after.inMemory > before.inMemory+kept {
		t.Errorf("after %d runs\n got %+v\nwant %+v", times, after, before)
	}
	t.Logf("%d runs: %+v", times, before)
}

// leftover is what a run could leave.
type leftover struct {
	seen     string
	inMemory int // network namespaces that the kernel has not freed
}

// leftovers lists what a run could leave, once it stands still: namespaces and processes go a moment after their last
// user.
func leftovers(t *testing.T) leftover {
	t.Helper()
	var last leftover
	if !eventually(func() bool {
		reap()
		time.Sleep(500 * time.Millisecond)
		now := census(t)
		still := now == last
		last = now
		return still
	}) {
		t.Errorf("what is there never stands still: %+v", last)
	}
	return last
}

// reap waits for orphans that have ended; no process of osrun's runs meanwhile.
func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// census counts processes' threads, namespaces, interfaces and temporary files of the whole machine.
func census(t *testing.T) leftover {
	t.Helper()
	namespaces := map[string]bool{}
	links, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/*")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil {
			namespaces[to] = true
		}
	}
	interfaces, _ := filepath.Glob("/sys/class/net/*")
	files, _ := filepath.Glob("/tmp/*")
	users := 0
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, f := range folders {
		cmd, _ := os.ReadFile(f + "/cmdline")
		if bytes.HasPrefix(cmd, []byte("/bin/bondrepro")) || bytes.Contains(cmd, []byte("/proc/self/exe")) {
			users++
		}
	}
	return leftover{
		seen:     fmt.Sprintf("namespaces %d, interfaces %d, files %d, processes of bondrepro %d", len(namespaces), len(interfaces), len(files), users),
		inMemory: slab(t, "net_namespace"),
	}
}

// slab is how many objects of a kernel's cache are in use (/proc/slabinfo): a namespace that nobody can see any more
// still has one while something holds it. Free ones that a CPU keeps in stock count as used until the cache is shrunk.
func slab(t *testing.T, cache string) int {
	t.Helper()
	_ = os.WriteFile("/sys/kernel/slab/"+cache+"/shrink", []byte("1"), 0)
	text, err := os.ReadFile("/proc/slabinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == cache {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("/proc/slabinfo has no %s", cache)
	return 0
}
