package workload

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// lostCount is what one connection lost; asked is the number of its last request.
type lostCount struct {
	n     atomic.Uint64
	asked uint64
}

// measurement is one run under way. It owns the threads of both sides; none outlives it.
type measurement struct {
	spec             Spec
	pairs            []pair
	phase            atomic.Int32
	clients, servers []*worker
	lost             []*lostCount
	histograms       []*hdrhistogram.Histogram
	gate             chan struct{}
	failed           chan error // room for one of each worker
	senders, all     sync.WaitGroup
	pinned           sync.WaitGroup
}

// Run does the workload: the warm-up, then what is measured. It is called once, one at a time in a process, as it sets
// GOMAXPROCS. It returns when all of its threads have ended, soon after ctx has. Errors are ctx's, an *Error, which ends
// it, or ErrNothing.
func (c *Client) Run(ctx context.Context) (Outcome, error) {
	if !c.ran.CompareAndSwap(false, true) {
		return Outcome{}, errors.New("a workload's connections serve one run")
	}
	defer raiseProcs(2 * len(c.pairs))()
	m := newMeasurement(c)
	if err := m.start(); err != nil {
		return Outcome{}, err
	}
	before, after, err := m.watch(ctx)
	m.stop(ctx)
	if err == nil {
		select {
		case err = <-m.failed:
		default:
		}
	}
	if err != nil {
		return Outcome{}, err
	}
	return m.outcome(before, after)
}

func newMeasurement(c *Client) *measurement {
	return &measurement{spec: c.spec, pairs: c.pairs, gate: make(chan struct{}), failed: make(chan error, 2*len(c.pairs))}
}

// raiseProcs gives each thread a processor of the runtime, and two more to what watches them.
func raiseProcs(threads int) (undo func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(before, threads+2))
	return func() { runtime.GOMAXPROCS(before) }
}

// start starts the threads and lets them go together.
func (m *measurement) start() error {
	kind := kinds[m.spec.Kind]
	for i, p := range m.pairs {
		m.lost = append(m.lost, &lostCount{})
		m.histograms = append(m.histograms, nil)
		object := fmt.Sprintf("connection %d", i)
		m.clients = append(m.clients, &worker{fd: p.client, object: object, cpus: pick(m.spec.ClientCPUs, i), phase: &m.phase})
		m.servers = append(m.servers, &worker{fd: p.server, object: object + " at the server", cpus: pick(m.spec.ServerCPUs, i), phase: &m.phase})
		if m.spec.Kind == RR && m.spec.Protocol == OverUDP {
			if err := receiveTimeout(p.client, lostAfter); err != nil {
				return err
			}
		}
	}
	m.pinned.Add(2 * len(m.pairs))
	for i := range m.pairs {
		m.begin(m.servers[i], kind.server(m, i), &m.all)
		m.begin(m.clients[i], kind.client(m, i), &m.senders)
	}
	m.pinned.Wait()
	close(m.gate)
	return nil
}

func (m *measurement) begin(w *worker, do loop, group *sync.WaitGroup) {
	group.Go(func() {
		onThread(func() {
			if err := w.run(do, m.pinned.Done, m.gate); err != nil {
				m.failed <- err
			}
		})
	})
}

// pick is the CPU of the i-th thread.
func pick(cpus []int, i int) []int {
	if len(cpus) == 0 {
		return nil
	}
	return cpus[i%len(cpus) : i%len(cpus)+1]
}

// reading is all counts at one moment.
type reading struct {
	at             time.Time
	sent, received []count
	stat           []byte
}

type count struct{ bytes, operations uint64 }

func (m *measurement) read() (r reading, err error) {
	r.at = time.Now()
	for i := range m.pairs {
		r.sent = append(r.sent, m.clients[i].count())
		r.received = append(r.received, m.servers[i].count())
	}
	r.stat, err = readCPUs()
	return r, err
}

func (w *worker) count() count { return count{w.bytes.Load(), w.operations.Load()} }

// watch waits for the warm-up and for what is measured, and reads the counts at both ends of that.
func (m *measurement) watch(ctx context.Context) (before, after reading, err error) {
	if err = m.sleep(ctx, m.spec.Warmup); err != nil {
		return before, after, err
	}
	m.phase.Store(measuring)
	if before, err = m.read(); err != nil {
		return before, after, err
	}
	if err = m.sleep(ctx, m.spec.Duration); err != nil {
		return before, after, err
	}
	after, err = m.read()
	return before, after, err
}

// sleep ends early when a worker fails or ctx ends.
func (m *measurement) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-m.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Waiting for the datagrams that are still on their way.
const (
	drainQuiet = 200 * time.Millisecond
	drainMost  = 5 * time.Second
)

// stop ends the threads. Shutting a socket down wakes whoever waits in it, also for room in the buffer of a line that
// stands still, and also on a UDP socket that is not connected, where it is an error beside (inet_shutdown,
// net/ipv4/af_inet.c). What was sent before still goes out.
func (m *measurement) stop(ctx context.Context) {
	m.phase.Store(over)
	for _, p := range m.pairs {
		_ = unix.Shutdown(p.client, unix.SHUT_RDWR)
	}
	m.senders.Wait()
	if m.spec.Kind == UDP {
		m.drain(ctx)
	}
	for _, p := range m.pairs {
		_ = unix.Shutdown(p.server, unix.SHUT_RDWR)
	}
	m.all.Wait()
}

// drain waits until all datagrams have arrived, or none has for a while.
func (m *measurement) drain(ctx context.Context) {
	end := time.Now().Add(drainMost)
	last, quiet := m.received(), time.Now()
	for ctx.Err() == nil && last < m.sent() && time.Since(quiet) < drainQuiet && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
		if now := m.received(); now != last {
			last, quiet = now, time.Now()
		}
	}
}

func (m *measurement) sent() uint64     { return operations(m.clients) }
func (m *measurement) received() uint64 { return operations(m.servers) }

func operations(ws []*worker) (n uint64) {
	for _, w := range ws {
		n += w.operations.Load()
	}
	return n
}
