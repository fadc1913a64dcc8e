package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/internal/thread"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// namespaces are those of every thread of a process.
func namespaces(t *testing.T, pid int) map[string]int {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/ns/net", pid))
	if err != nil || len(links) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	count := map[string]int{}
	for _, l := range links {
		if ns, err := os.Readlink(l); err == nil { // else the thread has just ended
			count[ns]++
		}
	}
	return count
}

// within runs f on a thread in the child's namespace, which ends with it.
func within(t *testing.T, p *Place, f func() error) {
	t.Helper()
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", p.Pid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := (&far{fd: fd}).do(f); err != nil {
		t.Fatal(err)
	}
}

// inFar runs f on a thread in the child's far namespace: the descriptor is the only one of a namespace it has.
func inFar(t *testing.T, p *Place, f func() error) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, _ := os.Readlink(l); strings.HasPrefix(to, "net:") {
			fd, err := unix.Open(l, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if err := (&far{fd: fd}).do(f); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the child has no descriptor of the far side")
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("looks into the child's namespaces, which needs root")
	}
}

func TestEveryThreadIsInThePrivateNamespace(t *testing.T) {
	p := place(t, Config{Slaves: 3, Queues: 2, Partner: true})
	var ours, theirs map[string]int
	// A thread that was in the far namespace ends just after its work is done.
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		ours, theirs = namespaces(t, os.Getpid()), namespaces(t, p.Pid())
		if len(ours) == 1 && len(theirs) == 1 {
			break
		}
	}
	if len(ours) != 1 || len(theirs) != 1 {
		t.Fatalf("threads by namespace: ours %v, the child's %v", ours, theirs)
	}
	for ns := range theirs {
		if ours[ns] > 0 {
			t.Errorf("the child is in our own namespace %s", ns)
		}
	}
}

func TestVethsAreAsAsked(t *testing.T) {
	needRoot(t)
	for _, queues := range []int{0, 1, 4} {
		p := place(t, Config{Slaves: 2, Queues: queues, Partner: true})
		if len(p.Slaves()) != 2 || len(p.Partner()) != 2 {
			t.Fatalf("slaves %v, partner %v", p.Slaves(), p.Partner())
		}
		within(t, p, func() error {
			for i, mac := range append(slices.Clone(p.Slaves()), p.Partner()...) {
				name := []string{"eth0", "eth1", "eth2", "eth3"}[i]
				link, err := netlink.LinkByName(name)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				a := link.Attrs()
				if a.HardwareAddr.String() != mac || a.NumTxQueues != max(1, queues) || a.Flags&unix.IFF_UP != 0 {
					t.Errorf("%s: %s, %d TX queues, flags %v; want %s, %d, down", name, a.HardwareAddr, a.NumTxQueues, a.Flags, mac, queues)
				}
			}
			for _, scope := range []string{"all", "default", "eth0"} {
				if b, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + scope + "/disable_ipv6"); err != nil || string(b) != "1\n" {
					t.Errorf("disable_ipv6 of %s is %q, %v", scope, b, err)
				}
			}
			return nil
		})
		inFar(t, p, func() error {
			for i := range 4 {
				link, err := netlink.LinkByName(fmt.Sprintf("far%d", i))
				if err != nil {
					return err
				}
				if a := link.Attrs(); a.MTU != farMTU || a.RawFlags&unix.IFF_UP == 0 {
					t.Errorf("%s: MTU %d, flags %v", a.Name, a.MTU, a.Flags)
				}
				b, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + link.Attrs().Name + "/rp_filter")
				if err != nil || string(b) != "0\n" {
					t.Errorf("rp_filter of %s is %q, %v", link.Attrs().Name, b, err)
				}
			}
			return nil
		})
	}
}

// After Close there is no process, no namespace, and no thread or descriptor more than before.
func TestNothingIsLeft(t *testing.T) {
	round := func() (pid int) {
		p := place(t, Config{Slaves: 2, Partner: true})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		return p.Pid()
	}
	round() // the first one starts threads that stay
	round()
	threads, fds := count(t, "/proc/self/task"), count(t, "/proc/self/fd")
	goroutines := runtime.NumGoroutine()
	for range 20 {
		if pid := round(); alive(pid) {
			t.Errorf("process %d outlived Close", pid)
		}
	}
	// A thread is also kept for reuse now and then: growth would be 20.
	awaitAtMost(t, "threads", threads+5, func() int { return count(t, "/proc/self/task") })
	awaitAtMost(t, "descriptors", fds, func() int { return count(t, "/proc/self/fd") })
	awaitAtMost(t, "goroutines", goroutines, runtime.NumGoroutine)
	if p, err := tryPlace(t, Config{Slaves: 1}); err != nil {
		t.Error(err)
	} else if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	} else if err := p.call(t.Context(), kindSetup, Config{}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a call of a closed place: %v", err)
	}
}

// awaitAtMost waits for what ends by itself just after Close: the goroutine that waited for the process.
func awaitAtMost(t *testing.T, what string, most int, now func() int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); now() > most; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d %s, not %d", now(), what, most)
			return
		}
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// The namespaces end with the child, however it ends: an interface of ours that was lent to the far one is
// destroyed with it, so that its end can be seen from here.
func TestNamespacesEndWithTheChild(t *testing.T) {
	needRoot(t)
	done := make(chan error, 1)
	p := place(t, Config{Slaves: 1})
	go func() {
		done <- thread.Run(func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", p.Pid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "lent"
			veth := netlink.NewVeth(attrs)
			veth.PeerName, veth.PeerNamespace = "witness", netlink.NsFd(fd)
			if err := errors.Join(netlink.LinkAdd(veth), unix.Close(fd)); err != nil {
				return err
			}
			if err := p.Close(); err != nil {
				return err
			}
			for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
				if _, err := netlink.LinkByName("lent"); errors.As(err, &netlink.LinkNotFoundError{}) {
					return nil
				}
				if time.Now().After(end) {
					return errors.New("the namespace outlived its process")
				}
			}
		})
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAKilledChild(t *testing.T) {
	p := place(t, Config{Slaves: 1})
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var dead *DeadError
	err := p.call(t.Context(), kindSetup, Config{}, nil)
	if !errors.As(err, &dead) || !strings.Contains(err.Error(), "signal 9") {
		t.Errorf("%T %v", err, err)
	}
	if again := p.call(t.Context(), kindSetup, Config{}, nil); again != err {
		t.Errorf("the next call: %v", again)
	}
	if alive(p.Pid()) {
		t.Error("it still runs")
	}
}

// A panic of ours is told from the rest.
func TestAPanicOfTheChild(t *testing.T) {
	t.Setenv(panicOnSignal, "1")
	p := place(t, Config{Slaves: 1})
	if err := syscall.Kill(p.Pid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-p.process.Done()
	var panicked *PanicError
	if err := p.call(t.Context(), kindSetup, Config{}, nil); !errors.As(err, &panicked) || !strings.HasPrefix(panicked.Said, "panic: on purpose") {
		t.Errorf("%T %v", err, err)
	}
}

// A panic's message comes before traces of any length.
func TestBeginningKeepsTheFirst(t *testing.T) {
	var b beginning
	for range 1000 {
		if n, err := b.Write([]byte("0123456789")); n != 10 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(b.text) != 1024 || !strings.HasPrefix(string(b.text), "0123456789012") {
		t.Errorf("%d bytes: %.20s…", len(b.text), b.text)
	}
}

func TestACancelledCallEndsTheChild(t *testing.T) {
	p := place(t, Config{Slaves: 1})
	if err := syscall.Kill(p.Pid(), syscall.SIGSTOP); err != nil { // so that it can't answer
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if err := p.call(ctx, kindSetup, Config{}, nil); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if alive(p.Pid()) {
		t.Error("it still runs")
	}
}

// A call that was answered just when its context ended leaves the channel usable.
func TestALateCancelHurtsNobody(t *testing.T) {
	p := place(t, Config{Slaves: 1})
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		undo := p.breakOff(ctx)
		cancel()
		undo()
	}
	var f struct{}
	err := p.call(t.Context(), "no such kind", struct{}{}, &f)
	var setup *SetupError
	if !errors.As(err, &setup) || !strings.Contains(err.Error(), "no such call") {
		t.Errorf("%T %v", err, err)
	}
}

func TestAChildWithoutItsChannel(t *testing.T) {
	_, err := osrun.Run(t.Context(), osrun.Cmd{
		Path: "/proc/self/exe", Args: []string{childArgument}, Env: append(os.Environ(), childVariable+"=1"), Timeout: limit,
	})
	var failed *osrun.Error
	if !errors.As(err, &failed) || failed.ExitCode != ended || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("%v, want exit code %d and the reason", err, ended)
	}
}

// SIGKILL of the parent takes the child along.
func TestSIGKILLLeavesNothing(t *testing.T) {
	r, w := io.Pipe()
	p, err := osrun.Start(t.Context(), osrun.Cmd{
		Path: "/proc/self/exe", Env: append(os.Environ(), startAndWait+"=1"), Stdout: w, Timeout: limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-p.Done()
		w.CloseWithError(fmt.Errorf("it ended: %s", p.Tail()))
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	// Stopped, it can't see that its channel ends: only the parent-death signal is left.
	if err := errors.Join(syscall.Kill(child, syscall.SIGSTOP), syscall.Kill(p.Pid(), syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	for end := time.Now().Add(limit); alive(child); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the child (process %d) outlived its parent", child)
		}
	}
}

// alive tells whether a process runs; a zombie does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := string(b[strings.LastIndexByte(string(b), ')')+1:])
	return !strings.HasPrefix(strings.TrimSpace(state), "Z")
}
