package workload

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// alone runs one worker through all phases, with what it is to do while it is measured.
func alone(t *testing.T, w *worker, do loop) (err error) {
	t.Helper()
	w.phase = &atomic.Int32{}
	var wg sync.WaitGroup
	gate := make(chan struct{})
	close(gate)
	w.phase.Store(measuring)
	wg.Go(func() { onThread(func() { err = w.run(do, func() {}, gate) }) })
	wg.Wait()
	return err
}

// allowed are the CPUs the calling thread may run on.
func allowed(t *testing.T) (cpus []int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := range maxCPU {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

func TestPinnedThreadsRunWhereTheyAreAskedTo(t *testing.T) {
	every := allowed(t)
	for _, cpu := range every {
		var seen []int
		if err := alone(t, &worker{cpus: []int{cpu}}, func(*worker) error { seen = allowed(t); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(seen, []int{cpu}) {
			t.Errorf("pinned to CPU %d, allowed on %v", cpu, seen)
		}
	}
	for range 20 { // whatever thread runs next is not one of those
		if now := allowed(t); !slices.Equal(now, every) {
			t.Fatalf("a thread that is not pinned is allowed on %v, before on %v", now, every)
		}
	}
}

func TestThreadsShareTheCPUsInTurn(t *testing.T) {
	for i, want := range []int{4, 7, 4} {
		if got := pick([]int{4, 7}, i); !slices.Equal(got, []int{want}) {
			t.Errorf("thread %d is pinned to %v, want %d", i, got, want)
		}
	}
}

func TestACPUThatIsNotThereIsAnError(t *testing.T) {
	spec := short(Spec{Kind: RR, ServerCPUs: []int{maxCPU - 1}})
	_, err := dial(t, spec, loopback).Run(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Op != "sched_setaffinity" || !errors.Is(err, unix.EINVAL) {
		t.Errorf("error %v", err)
	}
}

// burn uses up CPU time, of the thread, for as long as it says.
func burn(t *testing.T, d time.Duration) {
	for {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
			t.Error(err)
			return
		}
		if ts.Nano() >= int64(d) {
			return
		}
	}
}

func TestCPUTimeIsThatOfTheThread(t *testing.T) {
	const used = 20 * time.Millisecond
	total := func(w *worker) float64 {
		c := threads([]*worker{w})
		return c.User + c.System
	}
	var busy, idle, late worker
	for w, do := range map[*worker]func(*worker){
		&busy: func(w *worker) { w.turn(); burn(t, used) },
		&idle: func(w *worker) { w.turn(); time.Sleep(used) },
		&late: func(w *worker) { burn(t, used); w.turn() }, // in the warm-up
	} {
		if err := alone(t, w, func(w *worker) error { do(w); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	// What the thread took before it turned is not counted: a little.
	if b := total(&busy); b < 0.5*used.Seconds() {
		t.Errorf("a thread that took %v of CPU time is said to have taken %v s", used, b)
	}
	if i, l := total(&idle), total(&late); i > 0.5*total(&busy) || l > 0.5*total(&busy) {
		t.Errorf("an idle thread is said to have taken %v s, one that worked before %v s, the busy one %v s", i, l, total(&busy))
	}
}

func TestSoftIRQsAreOfASideThatHasItsCPUs(t *testing.T) {
	if len(allowed(t)) < 2 {
		t.Skip("needs two CPUs")
	}
	spec := Spec{Kind: Stream, Duration: 300 * time.Millisecond, ClientCPUs: []int{0}, ServerCPUs: []int{1}}
	o, err := dial(t, spec, loopback).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const tick = 1.0 / hertz
	for side, c := range map[string]*CPU{"client": o.Client, "server": o.Server} {
		if c.Shared == nil {
			t.Fatalf("no figures of the %s's CPUs", side)
		}
		// One thread alone on one CPU: the CPU is busy at least as long as the thread ran, in ticks.
		if used := c.User + c.System; used <= 0 || c.Shared.Busy+5*tick < used || c.Shared.Busy > o.Seconds+5*tick {
			t.Errorf("%s: threads %v s, CPU %+v in %v s", side, used, c.Shared, o.Seconds)
		}
	}
	if sum := o.Client.Shared.Busy + o.Server.Shared.Busy; o.Machine.Busy+5*tick < sum {
		t.Errorf("the machine was busy for %v s, two of its CPUs for %v s", o.Machine.Busy, sum)
	}
}

func TestCPUTimesOfTheMachineAndOfSomeCPUs(t *testing.T) {
	stat, err := os.ReadFile("testdata/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cpus []int
		want cpuTimes
	}{
		{nil, cpuTimes{User: 10.3, System: 4, Idle: 51, IRQ: 0.6, SoftIRQ: 0.7, Steal: 0.8}},
		{[]int{1}, cpuTimes{User: 10, System: 3, Idle: 10, IRQ: 0.5, SoftIRQ: 0.6, Steal: 0.7}},
		{[]int{1, 0}, cpuTimes{User: 10.3, System: 4, Idle: 51, IRQ: 0.6, SoftIRQ: 0.7, Steal: 0.8}},
	} {
		got, err := sumCPUs(stat, c.cpus)
		if d := got.minus(c.want); err != nil || max(d.User, d.System, d.Idle, d.IRQ, d.SoftIRQ, d.Steal, -d.User, -d.System, -d.Idle, -d.IRQ, -d.SoftIRQ, -d.Steal) > 1e-9 {
			t.Errorf("CPUs %v: %+v, want %+v (%v)", c.cpus, got, c.want, err)
		}
	}
	if _, err := sumCPUs(stat, []int{1, 10}); err == nil {
		t.Error("a CPU that is not there is no error")
	}
	if _, err := sumCPUs([]byte("intr 1\n"), nil); err == nil {
		t.Error("no CPU is no error")
	}
}

// raceDetector tells whether the tests run with it.
var raceDetector bool

// streamEnds is a TCP connection for loops without a run.
func streamEnds(t testing.TB) pair {
	t.Helper()
	return dial(t, Spec{Kind: RR, Duration: 1}, loopback).pairs[0]
}

func TestEachByteThatIsSentIsReceived(t *testing.T) {
	p := streamEnds(t)
	phase := &atomic.Int32{}
	out, in := &worker{fd: p.client, phase: phase}, &worker{fd: p.server, phase: phase}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := sendStream(5001)(out); err != nil {
			t.Error(err)
		}
		if err := unix.Shutdown(p.client, unix.SHUT_WR); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() { _ = receiveStream()(in) })
	time.Sleep(20 * time.Millisecond)
	phase.Store(over)
	wg.Wait()
	if sent := out.bytes.Load(); sent == 0 || sent != in.bytes.Load() || sent != 5001*out.operations.Load() {
		t.Errorf("%d bytes sent in %d writes, %d received", sent, out.operations.Load(), in.bytes.Load())
	}
}

func TestTheHotLoopsAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	const transactions = 200
	datagrams := Spec{Kind: RR, Protocol: OverUDP, Duration: 1}
	for name, c := range map[string]struct {
		p      pair
		ask    exchange
		answer loop
	}{
		"rr":     {streamEnds(t), askStream(100, 8000), answerStream(100, 8000)},
		"rr udp": {dial(t, datagrams, loopback).pairs[0], askDatagram(100, 200, &lostCount{}), answerDatagram(100, 200)},
		"mixed":  {streamEnds(t), askMixed(1), answerMixed()},
	} {
		t.Run(name, func(t *testing.T) {
			phase := &atomic.Int32{}
			phase.Store(measuring)
			var wg sync.WaitGroup
			wg.Go(func() { _ = c.answer(&worker{fd: c.p.server, phase: phase}) })
			h := newHistogram()
			asker := &worker{fd: c.p.client, phase: phase}
			rounds := 0
			one := func(fd int) (int, string, int, error) { // ends the loop after some
				if rounds++; rounds%transactions == 0 {
					phase.Store(over)
				}
				return c.ask(fd)
			}
			do := ask(one, h)
			n := testing.AllocsPerRun(5, func() {
				phase.Store(measuring)
				asker.seen = measuring
				if err := do(asker); err != nil {
					t.Error(err)
				}
			})
			phase.Store(over)
			_ = unix.Shutdown(c.p.server, unix.SHUT_RDWR)
			wg.Wait()
			if n > transactions/10 || h.TotalCount() == 0 { // a few are the runtime's, meanwhile
				t.Errorf("%v allocations in %d transactions, %d latencies", n, transactions, h.TotalCount())
			}
		})
	}
}

func TestStreamsAndDatagramsAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	const operations = 500
	datagrams := Spec{Kind: UDP, Duration: 1}
	for name, c := range map[string]struct {
		p             pair
		send, receive loop
	}{
		"stream": {streamEnds(t), sendStream(8000), receiveStream()},
		"udp":    {dial(t, datagrams, loopback).pairs[0], sendDatagrams(100, 0, &lostCount{}), receiveDatagrams(100)},
		"paced":  {dial(t, datagrams, loopback).pairs[0], sendDatagrams(100, 10*time.Microsecond, &lostCount{}), receiveDatagrams(100)},
	} {
		t.Run(name, func(t *testing.T) {
			phase := &atomic.Int32{}
			var wg sync.WaitGroup
			in := &worker{fd: c.p.server, phase: phase}
			wg.Go(func() { _ = c.receive(in) })
			out := &worker{fd: c.p.client, phase: phase}
			var sending sync.WaitGroup
			begin := make(chan struct{})
			sending.Go(func() { <-begin; _ = c.send(out) })
			n := testing.AllocsPerRun(1, func() {
				select {
				case <-begin: // the run that is counted
				default:
					close(begin)
				}
				for was := in.operations.Load(); in.operations.Load() < was+operations; {
					time.Sleep(time.Millisecond)
				}
			})
			phase.Store(over)
			sending.Wait()
			_ = unix.Shutdown(c.p.server, unix.SHUT_RDWR)
			wg.Wait()
			if n > operations/10 { // a few are the runtime's, meanwhile
				t.Errorf("%v allocations in %d operations", n, operations)
			}
		})
	}
}

func TestErrnosAreNamed(t *testing.T) {
	_, err := Listen(Spec{Kind: RR, Duration: 1}, netip.MustParseAddr("192.0.2.1"))
	if want := "bind: 192.0.2.1:0: cannot assign requested address (EADDRNOTAVAIL)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
