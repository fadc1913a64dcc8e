package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// vhost is the other end of a NIC with several queues: QEMU's -netdev dgram has one, so such a NIC is a vhost-user
// device whose rings this process serves itself. All queues share the one line, as those of a port do: they are
// asked in turn, one frame each.
type vhost struct {
	nic    int
	queues int // pairs
	// failed is told once why the NIC can't go on, a *KernelError or *QEMUError.
	failed func(error)
	dial   *dial

	mu       sync.Mutex
	features uint64
	mem      memory
	rings    []vring // to the guest and from it in turn
	turn     int     // the queue to ask first
	broken   bool
	polled   []unix.PollFd // of next alone
}

var _ port = (*vhost)(nil)

// vring is a ring and what the control connection said of it.
type vring struct {
	ring
	size       int
	base       uint16
	addr       ringAddress
	kick, call int  // eventfds; -1: none
	started    bool // ring can be used
	enabled    bool
}

// live tells whether frames may go through the ring. A disabled one is left alone: the protocol would have its frames
// thrown away, which nothing here may do uncounted.
func (r *vring) live() bool { return r.started && r.enabled }

func newVhost(nic, queues int, d *dial, failed func(error)) *vhost {
	v := &vhost{nic: nic, queues: queues, dial: d, rings: make([]vring, 2*queues), polled: make([]unix.PollFd, 0, queues)}
	var once sync.Once
	v.failed = func(err error) { once.Do(func() { failed(err) }) }
	for i := range v.rings {
		v.rings[i].kick, v.rings[i].call = -1, -1
	}
	return v
}

// sender is the ring of queue i on which the guest sends.
func (v *vhost) sender(i int) *vring { return &v.rings[2*i+1] }

func (v *vhost) next(buf []byte) (n int, waited bool, err error) {
	if n, err = v.take(buf); n > 0 || err != nil {
		return n, false, err
	}
	if v.listen() {
		if _, err := unix.Poll(v.polled, int(longestWait.Milliseconds())); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, true, err
		}
	}
	if n, err = v.take(buf); n == 0 && err == nil {
		err = unix.EAGAIN
	}
	return n, true, err
}

// take takes a frame from the next queue that has one. n is 0 when none has.
func (v *vhost) take(buf []byte) (n int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for range v.queues {
		q := v.sender(v.turn)
		v.turn = (v.turn + 1) % v.queues
		if !q.live() {
			continue
		}
		q.hush(true)
		n, interrupt, err := q.takeFrame(v.mem, buf)
		if err != nil {
			v.damaged(err)
			return 0, err
		}
		if n > 0 {
			q.tell(interrupt)
			return n, nil
		}
	}
	return 0, nil
}

// listen asks the guest to tell of new frames and fills polled with where it will. It is false when frames came
// meanwhile.
func (v *vhost) listen() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.polled = v.polled[:0]
	for i := range v.queues {
		q := v.sender(i)
		if !q.live() {
			continue
		}
		q.drain()
		q.hush(false)
		if waiting, err := q.pending(); waiting > 0 || err != nil {
			return false // a damaged ring is found again by take
		}
		v.polled = append(v.polled, unix.PollFd{Fd: int32(q.kick), Events: unix.POLLIN})
	}
	return true
}

func (v *vhost) give(frame []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	q := &v.rings[0]
	if !q.live() {
		return
	}
	done, interrupt, err := q.putFrame(v.mem, frame)
	if err != nil {
		v.damaged(err)
		return
	}
	q.tell(done && interrupt)
}

// damaged stops every ring after the guest broke one. mu is held.
func (v *vhost) damaged(err error) {
	for i := range v.rings {
		v.rings[i].started = false
	}
	v.broken = true
	v.failed(&KernelError{Reason: fmt.Sprintf("broke a ring of eth%d: %v", v.nic, err)})
}

func (v *vhost) close() {
	v.dial.hangUp()
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.rings {
		v.rings[i].stop()
		v.rings[i].setCall(-1)
	}
	v.mem.unmap()
	v.mem = nil
}

// start makes the ring usable, from what was said of it. A second call takes over new addresses or memory.
func (r *vring) start(mem memory) error {
	next := r.base
	if r.started {
		next = r.taken
	}
	d, a, u := ringSizes(r.size)
	desc, err := mem.atQEMU(r.addr.desc, d)
	if err != nil {
		return err
	}
	avail, err := mem.atQEMU(r.addr.avail, a)
	if err != nil {
		return err
	}
	used, err := mem.atQEMU(r.addr.used, u)
	if err != nil {
		return err
	}
	r.ring, err = newRing(desc, avail, used, r.size, next)
	r.started = err == nil
	return err
}

// stop leaves the ring where it is, to be started again from there.
func (r *vring) stop() {
	if r.started {
		r.base = r.taken
	}
	r.started = false
	r.ring = ring{}
	if r.kick >= 0 {
		unix.Close(r.kick)
		r.kick = -1
	}
}

func (r *vring) setCall(fd int) {
	if r.call >= 0 {
		unix.Close(r.call)
	}
	r.call = fd
}

// tell interrupts the guest, if it wants that.
func (r *vring) tell(interrupt bool) {
	if interrupt && r.call >= 0 {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(r.call, one[:]) // EAGAIN: it has been told 2^64 times
	}
}

// drain forgets that the guest told of new chains.
func (r *vring) drain() {
	var count [8]byte
	_, _ = unix.Read(r.kick, count[:]) // EAGAIN: it did not
}
