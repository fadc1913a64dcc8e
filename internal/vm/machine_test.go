package vm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/guestproto"
	"bondrepro/internal/initramfs"
	"bondrepro/internal/kernel"
	"bondrepro/internal/vm"
	"bondrepro/reproducer/result"
)

// callLimit is far longer than any call here takes; it only turns a hang into a failure.
const callLimit = time.Minute

func call(t *testing.T, m *vm.Machine, kind string, in, out any) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	return m.Call(ctx, kind, in, out, nil)
}

// One boot serves many measurements, and these tests.
func TestMachine(t *testing.T) {
	var given []kernel.Module
	m := boot(t, func(c *vm.Config) {
		c.NICs = 2
		given = c.Modules
		c.Modules = append(c.Modules[:len(c.Modules):len(c.Modules)],
			kernel.Module{Name: "printk", Data: []byte("a module that is built in")},
			kernel.Module{Name: "rubbish", Data: []byte("no module at all, but long enough to be read as an ELF header, which it is not")})
		c.Files = append(c.Files, initramfs.Bytes("/etc/greeting", 0o644, []byte("hello")))
		c.Sysctls["net.no_such_thing"] = "1"
	})
	t.Run("hello", func(t *testing.T) { testHello(t, m.Hello(), given) })
	t.Run("large messages", func(t *testing.T) { testLargeMessages(t, m) })
	t.Run("notes come in order", func(t *testing.T) { testNotes(t, m) })
	t.Run("an error of the handler", func(t *testing.T) {
		var failed *vm.CallError
		if err := call(t, m, "no such call", nil, nil); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no such call") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a cancelled call ends and the next one works", func(t *testing.T) { testCancel(t, m) })
	t.Run("exec", func(t *testing.T) { testExec(t, m) })
	t.Run("wire", func(t *testing.T) { testWire(t, m) })
	t.Run("a full line costs no CPU", func(t *testing.T) { testFullLine(t, m) })
	t.Run("a panic of a handler is told and ends the machine", func(t *testing.T) {
		var died *vm.GuestError
		err := call(t, m, "panic", nil, nil)
		if !errors.As(err, &died) || !strings.Contains(died.What, "on purpose") || !strings.Contains(died.What, "guest_test.go") {
			t.Errorf("got %v", err)
		}
		if again := call(t, m, "echo", 1, nil); !errors.As(again, &died) {
			t.Errorf("the next call: %v", again)
		}
	})
}

func testHello(t *testing.T, h guestproto.Hello, given []kernel.Module) {
	if !strings.Contains(h.Version, h.Release) || h.Release == "" || len(h.BuildID) != 40 {
		t.Errorf("release %q, version %q, build id %q", h.Release, h.Version, h.BuildID)
	}
	if h.CPUs != 2 || h.MemoryMB < 900 || h.MemoryMB > 1024 || h.Tainted != "0" {
		t.Errorf("%d CPUs, %d MB, tainted %q", h.CPUs, h.MemoryMB, h.Tainted)
	}
	for _, g := range given {
		if m, ok := h.Module(g.Name); !ok || m.BuildID != g.BuildID || m.BuildID == "" {
			t.Errorf("module %s with build id %s is in the guest as %+v", g.Name, g.BuildID, m)
		}
	}
	want := []struct {
		name  string
		there bool
		text  string
	}{{"printk", true, "built in"}, {"rubbish", false, "exec format error"}, {"net.no_such_thing", false, "no such file"}}
	if len(h.Problems) != len(want) {
		t.Fatalf("problems %+v", h.Problems)
	}
	for i, w := range want {
		if p := h.Problems[i]; p.Module+p.Sysctl != w.name || p.AlreadyThere != w.there || !strings.Contains(p.Text, w.text) {
			t.Errorf("problem %+v, want %+v", p, w)
		}
	}
}

func testLargeMessages(t *testing.T, m *vm.Machine) {
	for _, n := range []int{64 << 10, 512 << 10} {
		text := noise(n)
		began := time.Now()
		var got string
		if err := call(t, m, "give", n, &got); err != nil || got != text {
			t.Errorf("%d bytes from the guest: %d arrived, %v", n, len(got), err)
		}
		given := time.Since(began)
		var length int
		if err := call(t, m, "take", text, &length); err != nil || length != n {
			t.Errorf("%d bytes to the guest: %d arrived, %v", n, length, err)
		}
		t.Logf("%d KB: %v from the guest, %v to it", n>>10, given.Round(time.Millisecond), (time.Since(began) - given).Round(time.Millisecond))
	}
}

func testNotes(t *testing.T, m *vm.Machine) {
	var seen []int
	var total int
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	err := m.Call(ctx, "count", 20, &total, func(kind string, body json.RawMessage) {
		var i int
		if err := json.Unmarshal(body, &i); err != nil || kind != "at" {
			t.Errorf("note %s %s: %v", kind, body, err)
		}
		seen = append(seen, i)
	})
	if err != nil || total != 20 || len(seen) != 20 {
		t.Fatalf("%d notes, reply %d, %v", len(seen), total, err)
	}
	for i, n := range seen {
		if i != n {
			t.Errorf("note %d says %d", i, n)
		}
	}
}

func testCancel(t *testing.T, m *vm.Machine) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := m.Call(ctx, "wait", nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := m.Call(ctx, "wait", nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("out of time: %v", err)
	}
	if err := call(t, m, "echo", 1, nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func testExec(t *testing.T, m *vm.Machine) {
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	var out strings.Builder
	code, err := m.Exec(ctx, guestproto.Exec{Path: "/init", Env: []string{printAndExit + "=/etc/greeting"}}, &out)
	if err != nil || code != 7 || out.String() != "hello" {
		t.Errorf("exit code %d, output %q, %v", code, out.String(), err)
	}
	var failed *vm.CallError
	if _, err := m.Exec(ctx, guestproto.Exec{Path: "/nowhere"}, &out); !errors.As(err, &failed) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// testWire fills each line in turn, at a quarter and an eighth of what the guest can do with it open. What came
// is asserted, and the rates as the wire itself timed them: near the line's, and above it by no more than what the line makes up
// for after a pause, such as the one before the first frame.
func testWire(t *testing.T, m *vm.Machine) {
	const count, frame = 5000, 4000 + 42 // bytes
	open := testLine(t, m, 0, 1, count, math.Inf(1))
	t.Logf("open line: %.0f Mbit/s", open/1e6)
	for nic, rate := range []float64{open / 4, open / 8} {
		got := testLine(t, m, nic, uint32(2+nic), count, rate)
		t.Logf("line %d: %.2f of %.2f Mbit/s", nic, got/1e6, rate/1e6)
		seconds := count * frame * 8 / got
		if most := rate * (1.01 + vm.CatchUp.Seconds()/seconds); got > most || got < 0.8*rate {
			t.Errorf("line %d: %.2f Mbit/s, want %.2f", nic, got/1e6, rate/1e6)
		}
	}
}

// testFullLine stops a line under a sender: nothing comes, and QEMU waits for the line instead of asking all the
// time whether it may send, which would take the CPU from the guest.
func testFullLine(t *testing.T, m *vm.Machine) {
	w := m.Wire()
	w.SetRates([]float64{0, 0})
	w.Begin(20, vm.Traffic(1), 0)
	const count = 2000
	sent := make(chan error, 1)
	go func() { sent <- call(t, m, "send", sendJob{Run: 20, Count: count, Payload: 4000}, nil) }()
	time.Sleep(time.Second) // the ring fills; sooner or later does not matter
	before, began := cpuTime(t, m.Process().Pid()), time.Now()
	time.Sleep(2 * time.Second)
	used, wall := cpuTime(t, m.Process().Pid())-before, time.Since(began)
	if used > wall/3 {
		t.Errorf("QEMU used %v of CPU in %v of waiting", used, wall)
	}
	t.Logf("QEMU used %v of CPU in %v", used, wall)
	if n := w.End().Slaves[0].Frames; n != 0 {
		t.Errorf("%d frames came over a stopped line", n)
	}
	w.SetRates([]float64{math.Inf(1), 0})
	if err := <-sent; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	if err := w.WaitIdle(ctx, 200*time.Millisecond); err != nil {
		t.Error(err)
	}
	if got := w.End().Senders[0]; got.Unique != count {
		t.Errorf("%+v, want %d", got, count)
	}
}

// cpuTime is what a process has used: utime and stime of /proc/PID/stat, in clock ticks of 10 ms (proc(5)).
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	var user, system time.Duration
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return (user + system) * 10 * time.Millisecond
}

// testLine sends count datagrams over one line, checks that exactly they came, and gives the rate, bits/s.
func testLine(t *testing.T, m *vm.Machine, nic int, run uint32, count uint64, rate float64) float64 {
	t.Helper()
	w := m.Wire()
	rates := []float64{0, 0}
	rates[nic] = rate
	w.SetRates(rates)
	w.Begin(run, vm.Traffic(1), 0)
	if err := call(t, m, "send", sendJob{Run: run, Count: count, Payload: 4000, NIC: nic}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	if err := w.WaitIdle(ctx, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	got := w.End()
	if s := got.Senders[0]; s.Unique != count || s.Beyond != count || s.Duplicates+s.Reordered+s.Copies != 0 {
		t.Errorf("line %d: %+v, want %d in order", nic, s, count)
	}
	if got.Slaves[nic].Ours != count || got.Slaves[1-nic].Ours != 0 || got.Slaves[nic].Stale != 0 {
		t.Errorf("line %d: lines %+v", nic, got.Slaves)
	}
	return achieved(got.Slaves[nic])
}

// achieved is the rate of a line's series, bits/s.
func achieved(s result.WireSlave) float64 {
	n := len(s.AtMS) - 1
	return float64(s.CumBytes[n]-s.CumBytes[0]) * 8 / ((s.AtMS[n] - s.AtMS[0]) / 1000)
}

func TestKernelPanic(t *testing.T) {
	m := boot(t, nil)
	var failed *vm.KernelError
	err := call(t, m, "sysrq", "c", nil)
	if !errors.As(err, &failed) || !strings.Contains(failed.Reason, "panicked (Kernel panic - not syncing: sysrq triggered crash)") {
		t.Errorf("got %v", err)
	}
}

// A machine that stands still says nothing, not even a heartbeat.
func TestHang(t *testing.T) {
	m := boot(t, func(c *vm.Config) { c.HangAfter = 4 * time.Second })
	time.AfterFunc(100*time.Millisecond, func() { _ = m.Process().Signal(syscall.SIGSTOP) })
	var failed *vm.KernelError
	err := call(t, m, "wait", nil, nil)
	if !errors.As(err, &failed) || !strings.Contains(failed.Reason, "hung: no word for 4s during wait") {
		t.Errorf("got %v", err)
	}
}

// Heartbeats keep a call alive that says nothing for longer than HangAfter, on a guest with nothing idle.
func TestHeartbeats(t *testing.T) {
	m := boot(t, func(c *vm.Config) { c.HangAfter = 3 * time.Second })
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	if err := m.Call(ctx, "spin", nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestQEMUKilled(t *testing.T) {
	m := boot(t, nil)
	time.AfterFunc(100*time.Millisecond, func() { _ = m.Process().Kill() })
	var failed *vm.QEMUError
	if err := call(t, m, "wait", nil, nil); !errors.As(err, &failed) {
		t.Errorf("got %v", err)
	}
}

func TestBootThatFails(t *testing.T) {
	rubbish := t.TempDir() + "/rubbish"
	if err := os.WriteFile(rubbish, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	kernelFails := func(err error) bool { return errors.As(err, new(*vm.KernelError)) }
	qemuFails := func(err error) bool { return errors.As(err, new(*vm.QEMUError)) }
	noQEMU := func(err error) bool { return errors.As(err, new(*vm.NoQEMUError)) }
	tests := []struct {
		name   string
		change func(*vm.Config)
		is     func(error) bool
		text   string
		boots  int // under TCG, which is given one more try where the kernel says nothing at all
	}{
		{"no time", func(c *vm.Config) { c.BootTimeout = 200 * time.Millisecond }, kernelFails, "reached no userspace in 200ms", 2},
		{"no kernel", func(c *vm.Config) { c.Image = rubbish }, qemuFails, "QEMU failed", 1},
		{"no root file system", func(c *vm.Config) { c.Append = "rdinit=/nowhere" }, kernelFails, "panicked (Kernel panic - not syncing", 1},
		{"no QEMU", func(c *vm.Config) { c.QEMU = "no-such-qemu" }, noQEMU, "apt-get install qemu-system-x86", 0},
		{"no QEMU of ours", func(c *vm.Config) { c.QEMU = "true" }, noQEMU, "its version is", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			boots := 0
			m, err := vm.Start(t.Context(), config(t, func(c *vm.Config) {
				tt.change(c)
				c.Accel = vm.TCG
				c.Progress = func(text string) {
					if strings.HasPrefix(text, "booting with") {
						boots++
					}
				}
			}))
			if err == nil {
				m.Close()
			}
			if boots != tt.boots {
				t.Errorf("%d boots, want %d", boots, tt.boots)
			}
			if !tt.is(err) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %T: %v", err, err)
			}
		})
	}
}

func TestContextEndsTheMachine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m, err := vm.Start(ctx, config(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := m.Call(ctx, "wait", nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(m.Process().Pid(), 0); err != syscall.ESRCH {
		t.Errorf("QEMU after Close: %v", err)
	}
	if err := m.Call(t.Context(), "echo", nil, nil, nil); err == nil {
		t.Error("a closed machine answered")
	}
}
