package workload

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"bondrepro/internal/thread"

	"golang.org/x/sys/unix"
)

// phase is how far a run is. Threads look at it once a message.
type phase = int32

const (
	warmingUp phase = iota
	measuring
	over
)

// worker is one thread of one side of one connection.
type worker struct {
	fd     int
	object string // for errors: connection 3
	cpus   []int  // CPU to be pinned to; empty: any
	phase  *atomic.Int32
	seen   phase

	// Written by the worker alone; read by others at any time.
	bytes      atomic.Uint64 // payload received, or for udp's sender sent
	operations atomic.Uint64 // transactions or datagrams

	begin, end unix.Rusage // at the beginning and the end of what is measured, valid when the worker has ended
}

// loop is what a worker does until it is stopped. An error after the phase over is none.
type loop func(w *worker) error

// run pins the calling thread, waits for the gate and does the loop.
func (w *worker) run(do loop, ready func(), gate <-chan struct{}) error {
	err := w.pin()
	ready()
	<-gate
	if err != nil {
		return err
	}
	err = do(w)
	if w.turn(); w.seen < over { // it ends by itself only for an error
		w.account(over)
	}
	if w.phase.Load() == over {
		return nil
	}
	return err
}

// turn notes the CPU time when the phase changes. It is called once a message.
func (w *worker) turn() (done bool) {
	p := w.phase.Load()
	if p != w.seen {
		w.account(p)
	}
	return p == over
}

// account passes through each phase up to p: a thread that waited all the while notes both ends at once.
func (w *worker) account(p phase) {
	if w.seen < measuring && p >= measuring {
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &w.begin) // fails for a bad argument only
	}
	if p == over {
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &w.end)
	}
	w.seen = p
}

func (w *worker) pin() error {
	if len(w.cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range w.cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return &Error{Op: "sched_setaffinity", Object: fmt.Sprintf("CPU %v", w.cpus), Err: err}
	}
	return nil
}

// fail is an error of the worker's system call; n is what the call returned.
func (w *worker) fail(op string, n int, err error) error {
	if err == nil && n <= 0 {
		err = io.ErrUnexpectedEOF
	}
	return &Error{Op: op, Object: w.object, Err: err}
}

// onThread runs f on a thread that ends with it, so that its affinity is nobody else's.
func onThread(f func()) {
	_ = thread.Run(func() error { f(); return nil }) // which gives back the error of f
}

// read and write try again after a signal. They allocate nothing.
func read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if err != unix.EINTR {
			return n, err
		}
	}
}

func write(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Write(fd, p)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// readFull fills p.
func readFull(fd int, p []byte) (int, error) {
	got := 0
	for got < len(p) {
		n, err := read(fd, p[got:])
		if n <= 0 {
			return n, err
		}
		got += n
	}
	return got, nil
}

// writeAll writes all of p: a blocking socket writes less only when a signal interrupts it.
func writeAll(fd int, p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n, err := write(fd, p[sent:])
		if n <= 0 {
			return n, err
		}
		sent += n
	}
	return sent, nil
}

// seconds of CPU time between two readings.
func cpuSeconds(from, to unix.Timeval) float64 {
	return float64(to.Nano()-from.Nano()) / float64(time.Second)
}
