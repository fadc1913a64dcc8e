package vm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	testQEMU    = 0x7f0000000000 // where the fake QEMU has the guest's memory
	testRingGap = 4096           // from ring to ring
	testPairs   = 2
)

// frontend is the other side of a vhost, a QEMU made by the test: the control connection, the guest's memory in a file, and its drivers.
type frontend struct {
	t      *testing.T
	conn   *net.UnixConn
	file   int
	mem    []byte
	rings  [2 * testPairs]*driver
	kicks  [2 * testPairs]int
	calls  [2 * testPairs]int
	failed chan error
}

// connect makes a vhost of two pairs of queues, and a QEMU that has come as far as the features.
func connect(t *testing.T) (*vhost, *frontend) {
	t.Helper()
	d, err := newDial()
	if err != nil {
		t.Fatal(err)
	}
	q := &frontend{t: t, failed: make(chan error, 1)}
	v := newVhost(0, testPairs, d, func(err error) { q.failed <- err })
	served := make(chan struct{})
	go func() {
		defer close(served)
		v.serve(unix.Getpgrp())
	}()
	q.conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: "@" + d.name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		q.conn.Close()
		d.hangUp()
		<-served
		v.close()
	})
	q.memory()
	return v, q
}

// memory makes the guest's memory, with the rings at its beginning.
func (q *frontend) memory() {
	const size = 1 << 20
	var err error
	if q.file, err = unix.MemfdCreate("guest", unix.MFD_CLOEXEC); err != nil {
		q.t.Fatal(err)
	}
	if err := unix.Ftruncate(q.file, size); err != nil {
		q.t.Fatal(err)
	}
	if q.mem, err = unix.Mmap(q.file, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		q.t.Fatal(err)
	}
	for i := range q.rings {
		q.rings[i] = newDriver(q.mem, testBase, i*testRingGap, testSize, 64<<10+i*64<<10)
		for _, fd := range []*int{&q.kicks[i], &q.calls[i]} {
			if *fd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
				q.t.Fatal(err)
			}
		}
	}
	q.t.Cleanup(func() {
		_ = unix.Munmap(q.mem)
		unix.Close(q.file)
		for i := range q.rings {
			unix.Close(q.kicks[i])
			unix.Close(q.calls[i])
		}
	})
}

// send sends a request; its reply is not waited for.
func (q *frontend) send(r request, flags uint32, body []byte, fds ...int) {
	q.t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, uint32(r))
	b = binary.LittleEndian.AppendUint32(b, flags|messageVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if _, _, err := q.conn.WriteMsgUnix(append(b, body...), rights, nil); err != nil {
		q.t.Fatal(err)
	}
}

// reply reads a reply of one number.
func (q *frontend) reply(r request) uint64 {
	q.t.Helper()
	if err := q.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		q.t.Fatal(err)
	}
	b := make([]byte, messageHead+8)
	if _, err := io.ReadFull(q.conn, b); err != nil {
		q.t.Fatalf("the reply to request %d: %v", r, err)
	}
	if got := binary.LittleEndian.Uint32(b); got != uint32(r) || b[4] != messageVersion|flagReply || b[8] != 8 {
		q.t.Fatalf("the reply to request %d is %x", r, b)
	}
	return binary.LittleEndian.Uint64(b[messageHead:])
}

func (q *frontend) ask(r request, body []byte) uint64 {
	q.t.Helper()
	q.send(r, 0, body)
	return q.reply(r)
}

// do sends a request and waits until it is done.
func (q *frontend) do(r request, body []byte, fds ...int) {
	q.t.Helper()
	q.send(r, flagNeedReply, body, fds...)
	if got := q.reply(r); got != 0 {
		q.t.Fatalf("request %d failed with %d", r, got)
	}
}

func words(n ...uint32) (b []byte) {
	for _, x := range n {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func numbers(n ...uint64) (b []byte) {
	for _, x := range n {
		b = append(b, number(x)...)
	}
	return b
}

// table is the body of a setMemTable of all memory.
func (q *frontend) table() []byte {
	return append(words(1, 0), numbers(testBase, uint64(len(q.mem)), testQEMU, 0)...)
}

// start has every ring run from an index on.
func (q *frontend) start(index int, base uint32) {
	q.t.Helper()
	i := uint32(index)
	a := q.rings[index].address(testQEMU)
	q.do(setVringNum, words(i, testSize))
	q.do(setVringBase, words(i, base))
	q.do(setVringAddr, append(words(i, 0), numbers(a.desc, a.used, a.avail, 0)...))
	q.do(setVringCall, number(uint64(i)), q.calls[i])
	q.do(setVringKick, number(uint64(i)), q.kicks[i])
}

func (q *frontend) begin() {
	q.t.Helper()
	q.do(setFeatures, number(featureVersion1|featureProtocol|featureMQ))
	q.do(setMemTable, q.table(), q.file)
	for i := range q.rings {
		q.start(i, 0)
	}
}

func (q *frontend) enable(on uint32, rings ...uint32) {
	q.t.Helper()
	for _, i := range rings {
		q.do(setVringEnable, words(i, on))
	}
}

func (q *frontend) kick(index int) {
	if _, err := unix.Write(q.kicks[index], number(1)); err != nil {
		q.t.Fatal(err)
	}
}

// called tells whether the guest was interrupted since it was last asked.
func (q *frontend) called(index int) bool {
	_, err := unix.Read(q.calls[index], make([]byte, 8))
	return err == nil
}

// frame takes the next frame.
func frame(t *testing.T, v *vhost) []byte {
	t.Helper()
	buf := make([]byte, frameMax)
	n, _, err := v.next(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

func nothing(t *testing.T, v *vhost) {
	t.Helper()
	if n, waited, err := v.next(make([]byte, frameMax)); n != 0 || !waited || !errors.Is(err, unix.EAGAIN) {
		t.Errorf("%d bytes, waited %v, %v, want nothing", n, waited, err)
	}
}

func TestVhostNegotiates(t *testing.T) {
	_, q := connect(t)
	if got := q.ask(getFeatures, nil); got != offered || got&(1<<29) != 0 {
		t.Errorf("features %#x: VIRTIO_RING_F_EVENT_IDX is not done here", got)
	}
	if got := q.ask(getProtocolFeatures, nil); got != protocolMQ|protocolReplyAck {
		t.Errorf("protocol features %#x", got)
	}
	q.send(setProtocolFeatures, 0, number(protocolMQ|protocolReplyAck))
	q.do(setOwner, nil)
	if got := q.ask(getQueueNum, nil); got != testPairs {
		t.Errorf("%d queues", got)
	}
}

// Queues are asked in turn, one frame each; one that is disabled keeps its frames until it is enabled.
func TestVhostServesQueuesInTurn(t *testing.T) {
	v, q := connect(t)
	q.begin()
	for seq := range uint64(3) {
		q.rings[1].send(datagram(1, 0, seq, 200))
		q.rings[3].send(datagram(1, 1, seq, 200))
	}
	nothing(t, v)
	q.enable(1, 1)
	got := [][]byte{frame(t, v), frame(t, v)}
	q.enable(1, 3)
	got = append(got, frame(t, v), frame(t, v), frame(t, v), frame(t, v))
	for i, want := range []struct {
		sender uint16
		seq    uint64
	}{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {1, 1}, {1, 2}} {
		if !bytes.Equal(got[i], datagram(1, want.sender, want.seq, 200)) {
			t.Errorf("frame %d is not number %d of queue %d: %x", i, want.seq, want.sender, got[i])
		}
	}
	nothing(t, v)
	for _, i := range []int{1, 3} {
		if firsts, _ := q.rings[i].reap(); len(firsts) != 3 || !q.called(i) {
			t.Errorf("ring %d: %d chains came back, or no interrupt", i, len(firsts))
		}
	}
	q.enable(0, 1)
	q.rings[1].send(datagram(1, 0, 3, 200))
	nothing(t, v)
}

// The guest is asked to be silent while frames are there, and its kick ends the wait.
func TestVhostIsKicked(t *testing.T) {
	v, q := connect(t)
	q.begin()
	q.enable(1, 0, 1, 2, 3)
	nothing(t, v)
	if q.rings[3].usedFlags() != usedNoNotify {
		t.Error("the guest kicks though nobody waits")
	}
	go func() {
		for until := time.Now().Add(10 * time.Second); q.rings[3].usedFlags() != 0; {
			if time.Now().After(until) {
				return // no kick is wanted: no frame comes
			}
		}
		q.rings[3].send(datagram(1, 0, 0, 200))
		q.kick(3)
	}()
	buf := make([]byte, frameMax)
	var n int
	for until := time.Now().Add(11 * time.Second); n == 0 && time.Now().Before(until); {
		var err error
		if n, _, err = v.next(buf); err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(buf[:n], datagram(1, 0, 0, 200)) {
		t.Errorf("got %x", buf[:n])
	}
	if q.rings[3].usedFlags() != usedNoNotify {
		t.Error("the guest kicks a busy queue")
	}
}

func TestVhostGives(t *testing.T) {
	v, q := connect(t)
	q.begin()
	lacpdu := append(make([]byte, 12), 0x88, 0x09, 1)
	v.give(lacpdu) // not enabled: lost
	q.enable(1, 0)
	v.give(lacpdu) // no buffer: lost
	at := q.rings[0].free
	x := q.rings[0].buffer(make([]byte, 2000))
	x.flags = descWrite
	q.rings[0].offer(q.rings[0].chain(x))
	lacpdu[14] = 2
	v.give(lacpdu)
	if _, written := q.rings[0].reap(); len(written) != 1 || written[0] != netHeader+len(lacpdu) || !q.called(0) {
		t.Errorf("written %v, or no interrupt", written)
	}
	if got := q.mem[at+netHeader : at+netHeader+len(lacpdu)]; !bytes.Equal(got, lacpdu) {
		t.Errorf("received %x", got)
	}
}

// A ring that was stopped goes on from where it was; and one that runs goes on in another mapping of the memory.
func TestVhostStopsAndGoesOn(t *testing.T) {
	v, q := connect(t)
	q.begin()
	q.enable(1, 1)
	for seq := range uint64(3) {
		q.rings[1].send(datagram(1, 0, seq, 200))
	}
	frame(t, v)
	q.do(setMemTable, q.table(), q.file)
	frame(t, v)
	if got := q.ask(getVringBase, words(1, 0)); got != 2<<32|1 {
		t.Errorf("ring and index %#x, want 2 and 1", got)
	}
	nothing(t, v)
	q.start(1, 2)
	if got := frame(t, v); !bytes.Equal(got, datagram(1, 0, 2, 200)) {
		t.Errorf("after the stop came %x", got)
	}
	if firsts, _ := q.rings[1].reap(); len(firsts) != 3 {
		t.Errorf("%d chains came back", len(firsts))
	}
}

func (q *frontend) failure() error {
	select {
	case err := <-q.failed:
		return err
	case <-time.After(10 * time.Second):
		return errors.New("it did not fail")
	}
}

// A guest that breaks a ring is the kernel's fault, and nothing is taken from its other rings.
func TestVhostOfADamagedRing(t *testing.T) {
	v, q := connect(t)
	q.begin()
	q.enable(1, 0, 1, 2, 3)
	q.rings[1].offer(200)
	q.rings[3].send(datagram(1, 0, 0, 200))
	_, _, err := v.next(make([]byte, frameMax))
	if err == nil {
		t.Fatal("a damaged ring gave a frame")
	}
	var broken *KernelError
	if err := q.failure(); !errors.As(err, &broken) || !strings.Contains(err.Error(), "broke a ring of eth0: descriptor 200 of 8") {
		t.Errorf("got %v", err)
	}
	q.start(3, 0)
	nothing(t, v)
}

// What QEMU itself does wrong is an error of QEMU.
func TestVhostOfAWrongRequest(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(q *frontend)
		says string
	}{
		"an unknown request":      {func(q *frontend) { q.send(999, 0, nil) }, "request 999"},
		"no such ring":            {func(q *frontend) { q.send(setVringNum, 0, words(4, 8)) }, "ring 4 of 4"},
		"a body too short":        {func(q *frontend) { q.send(setVringNum, 0, words(4)) }, "request 8 with 4 bytes"},
		"an address too short":    {func(q *frontend) { q.send(setVringAddr, 0, words(4)) }, "request 9 with 4 bytes"},
		"a body too long":         {func(q *frontend) { q.send(getFeatures, 0, make([]byte, messageMost+1)) }, "4097 bytes"},
		"another version":         {func(q *frontend) { q.send(getFeatures, 2, nil) }, "flags 0x3"},
		"a table without a file":  {func(q *frontend) { q.send(setMemTable, 0, q.table()) }, "1 memory regions with 0 files"},
		"a table cut off":         {func(q *frontend) { q.send(setMemTable, 0, q.table()[:20], q.file) }, "in 20 bytes"},
		"a region beyond its end": {func(q *frontend) { q.send(setMemTable, 0, append(words(1, 0), numbers(0, 1<<21, 0, 0)...), q.file) }, "a memory region of 2097152 bytes at 0"},
		"a region that wraps":     {func(q *frontend) { q.send(setMemTable, 0, append(words(1, 0), numbers(0, 1<<20, 0, 1<<63)...), q.file) }, "a memory region"},
		"a ring without memory": {func(q *frontend) {
			q.do(setFeatures, number(featureVersion1|featureProtocol))
			q.do(setVringNum, words(1, 8))
			q.send(setVringKick, 0, number(1), q.kicks[1])
		}, "outside of the guest's memory"},
		"a ring to be polled": {func(q *frontend) { q.send(setVringKick, 0, number(0x101)) }, "without an eventfd"},
		"a driver too old":    {func(q *frontend) { q.send(setVringKick, 0, number(1), q.kicks[1]) }, "virtio 1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, q := connect(t)
			c.do(q)
			var broken *QEMUError
			if err := q.failure(); !errors.As(err, &broken) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// Whoever is not QEMU is turned away; and QEMU's end is no failure of the line's.
func TestVhostKnowsItsQEMU(t *testing.T) {
	d, err := newDial()
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	v := newVhost(0, 2, d, func(err error) { failed <- err })
	served := make(chan struct{})
	go func() {
		defer close(served)
		v.serve(unix.Getpgrp() + 1<<30) // not ours
	}()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: "@" + d.name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger read %d bytes, %v", n, err)
	}
	d.hangUp()
	<-served
	v.close()
	select {
	case err := <-failed:
		t.Errorf("failed: %v", err)
	default:
	}
}
