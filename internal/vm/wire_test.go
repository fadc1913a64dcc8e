package vm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"bondrepro/internal/stamp"

	"golang.org/x/sys/unix"
)

// datagram is an Ethernet frame with a payload of ours, total bytes long.
func datagram(run uint32, sender uint16, seq uint64, total int) []byte {
	b := make([]byte, total)
	copy(b, []byte{0x01, 0x00, 0x5e, 0x42, 0x01, 0x01, 0x52, 0x54, 0x00, 0xb0, 0x4d, 0x01, 0x08, 0x00})
	ip := b[14:]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[9] = 17
	copy(ip[16:], []byte{239, 66, 1, 1})
	udp := ip[20:]
	binary.BigEndian.PutUint16(udp[2:], 6000)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	stamp.Put(udp[8:], stamp.Header{Run: run, Sender: sender, Seq: seq})
	return b
}

func TestTakingAFrameDoesNotAllocate(t *testing.T) {
	ours, theirs, err := linePair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.close()
	defer unix.Close(theirs)
	w := newWire([]port{ours}, nil)
	w.Begin(1, Traffic(1), 0)
	l, buf, frame := w.lines[0], make([]byte, frameMax), datagram(1, 0, 0, 1500)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := unix.Write(theirs, frame); err != nil {
			t.Fatal(err)
		}
		n, waited, err := l.port.next(buf)
		if n != len(frame) || waited || err != nil {
			t.Fatalf("next: %d bytes, waited %v, %v", n, waited, err)
		}
		l.frame(buf[:n], l.wire.now())
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
	if n, waited, err := l.port.next(buf); n > 0 || !waited || !errors.Is(err, unix.EAGAIN) {
		t.Errorf("next on an empty line: %d bytes, waited %v, %v", n, waited, err)
	}
}

// The meter is judged by a clock of our own: how many frames it lets through in a second of it.
func TestMeterKeepsTheRate(t *testing.T) {
	const second = int64(time.Second)
	frames := func(rate float64, late int64) (n int) {
		var m meter
		for now := second; now < 2*second; {
			if wait := m.wait(now, rate); wait > 0 {
				now += int64(wait) + late
				continue
			}
			m.take(now, 1250, rate, n == 0)
			n++
		}
		return n
	}
	for _, rate := range []float64{10e6, 100e6, 1e9} {
		want := rate / 8 / 1250
		for _, late := range []int64{0, int64(time.Millisecond)} {
			if got := frames(rate, late); math.Abs(float64(got)/want-1) > 0.03 {
				t.Errorf("at %v bits/s with timers %v late: %d frames, want %.0f", rate, time.Duration(late), got, want)
			}
		}
	}
}

func TestMeterMakesUpForNoMoreThanItSays(t *testing.T) {
	for waited, credit := range map[bool]time.Duration{true: CatchUp, false: catchUpLate} {
		var m meter
		now := int64(time.Hour) // nothing came, or we were late, all that time
		n := 0
		for m.wait(now, 100e6) == 0 {
			m.take(now, 1250, 100e6, waited && n == 0) // 100 µs each
			n++
		}
		if want := int(credit/(100*time.Microsecond)) + 1; n != want {
			t.Errorf("waited %v: %d frames at once, want %d", waited, n, want)
		}
	}
}

// lines makes a wire over socket pairs, and gives the NICs' ends.
func lines(t *testing.T, n int, cables ...[2]int) (*Wire, []int) {
	t.Helper()
	var ours []port
	var theirs []int
	for range n {
		a, b, err := linePair()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(b) })
		ours, theirs = append(ours, a), append(theirs, b)
	}
	w := newWire(ours, cables)
	t.Cleanup(w.serve())
	return w, theirs
}

// fill sends frames until the line takes no more, and gives how many it took.
func fill(t *testing.T, fd int, run uint32, seq uint64, size int) (n uint64) {
	t.Helper()
	for n < 100000 {
		err := unix.Sendto(fd, datagram(run, 0, seq+n, size), unix.MSG_DONTWAIT, nil)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func idle(t *testing.T, w *Wire) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := w.WaitIdle(ctx, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
}

func TestStoppedLineIsFullAndGoesOn(t *testing.T) {
	w, nics := lines(t, 2)
	w.SetRates([]float64{0, math.Inf(1)})
	time.Sleep(2 * longestWait) // a read that had begun may still take a frame
	w.Begin(1, Traffic(1), 0)
	took := fill(t, nics[0], 1, 0, 4042)
	if took == 0 || took > 20 {
		t.Errorf("a stopped line took %d frames of 4042 bytes, want a handful", took)
	}
	idle(t, w)
	if got := w.End().Slaves[0].Frames; got != 0 {
		t.Errorf("%d frames counted on a stopped line", got)
	}
	w.SetRates([]float64{math.Inf(1), math.Inf(1)})
	idle(t, w)
	if got := w.End().Slaves[0].Ours; got != took {
		t.Errorf("%d frames came after all, want %d", got, took)
	}
}

// Senders that are only held back by their lines: every frame comes, no line is faster than its rate, and the
// faster line is done with its share sooner. On a busy machine both may be slower.
func TestLinesHoldTheirSendersBack(t *testing.T) {
	w, nics := lines(t, 2)
	rates := []float64{20e6, 60e6}
	w.SetRates(rates)
	w.Begin(1, Traffic(2), 0)
	const frames, size = 1000, 1500
	var senders sync.WaitGroup
	for i, fd := range nics {
		senders.Go(func() {
			for seq := range uint64(frames) {
				if err := unix.Sendto(fd, datagram(1, uint16(i), seq, size), 0, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	senders.Wait()
	idle(t, w)
	got := w.End()
	var took [2]float64 // ms
	for i, s := range got.Slaves {
		if s.Ours != frames || got.Senders[i].Unique != frames || got.Senders[i].Reordered != 0 {
			t.Errorf("line %d: %d frames, sender %+v, want %d in order", i, s.Ours, got.Senders[i], frames)
		}
		took[i] = s.AtMS[len(s.AtMS)-1] - s.AtMS[0]
		least := float64(frames*size*8)/rates[i]*1000 - 1.5*float64(CatchUp/time.Millisecond)
		if took[i] < least {
			t.Errorf("line %d took its frames in %.1f ms, its rate needs %.1f", i, took[i], least)
		}
	}
	if took[1] >= took[0] {
		t.Errorf("the line of three times the rate took %.1f ms, the other %.1f", took[1], took[0])
	}
}

func TestWaitIdleNamesTheBusyLine(t *testing.T) {
	w, nics := lines(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	fill(t, nics[0], 1, 0, 100)
	err := w.WaitIdle(ctx, time.Hour)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "line 0") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyDatagramsKeepALineBusy(t *testing.T) {
	w := newWire([]port{dgram{-1}}, nil)
	l := w.lines[0]
	l.frame(append(make([]byte, 12), 0x08, 0x06, 0, 1), 1000) // ARP
	l.frame(append(make([]byte, 12), 0x88, 0x09, 1), 1001)    // LACP
	if at := l.last.Load(); at != 0 {
		t.Errorf("ARP and LACP count as traffic of %d", at)
	}
	l.frame(datagram(9, 0, 0, 100), 1002)
	if at := l.last.Load(); at != 1002 {
		t.Errorf("the last datagram came at %d, want 1002", at)
	}
}

func TestCablesCarrySlowProtocolsOnly(t *testing.T) {
	w, nics := lines(t, 3, [2]int{0, 2})
	lacpdu := append(make([]byte, 12), 0x88, 0x09, 1, 1, 42)
	send := func(nic int, frame []byte) {
		t.Helper()
		if err := unix.Sendto(nics[nic], frame, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	send(0, datagram(1, 0, 0, 100))
	send(0, lacpdu)
	send(1, lacpdu) // not cabled
	send(2, append(lacpdu, 43))
	idle(t, w)
	for nic, want := range [][]byte{append(lacpdu, 43), nil, lacpdu} {
		buf := make([]byte, frameMax)
		n, err := receiveNow(nics[nic], buf)
		if !bytes.Equal(buf[:max(n, 0)], want) || (err == nil) != (want != nil) {
			t.Errorf("NIC %d received %x, %v, want %x", nic, buf[:max(n, 0)], err, want)
		}
		if n, err := receiveNow(nics[nic], buf); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("NIC %d received %x, %v, too", nic, buf[:max(n, 0)], err)
		}
	}
	for i, s := range w.End().Slaves {
		if s.Foreign["lacp"] != 1 {
			t.Errorf("line %d counted %v, want 1 lacp", i, s.Foreign)
		}
	}
}

// A guest that takes nothing must not stop the line of its partner.
func TestAFullCableLosesFrames(t *testing.T) {
	w, nics := lines(t, 2, [2]int{0, 1})
	lacpdu := append(make([]byte, 12), 0x88, 0x09, 1)
	const count = 3000 // more than a socket takes
	for range count {
		if err := unix.Sendto(nics[0], lacpdu, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	idle(t, w)
	if got := w.End().Slaves[0].Foreign["lacp"]; got != count {
		t.Errorf("%d frames counted, want %d", got, count)
	}
}

func TestPcap(t *testing.T) {
	w, nics := lines(t, 2)
	var out bytes.Buffer
	stop, err := w.Pcap(&out)
	if err != nil {
		t.Fatal(err)
	}
	sent := datagram(1, 0, 0, 101) // a length that needs padding
	if err := unix.Sendto(nics[1], sent, 0, nil); err != nil {
		t.Fatal(err)
	}
	idle(t, w)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	var kinds []uint32
	b := out.Bytes()
	for len(b) >= 12 {
		kind, total := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if total%4 != 0 || int(total) > len(b) || binary.LittleEndian.Uint32(b[total-4:]) != total {
			t.Fatalf("block %d of %d bytes", kind, total)
		}
		if kind == blockPacket {
			if index := binary.LittleEndian.Uint32(b[8:]); index != 1 || !bytes.Equal(b[28:28+101], sent) {
				t.Errorf("frame of line %d: %x", index, b[28:total-4])
			}
			at := time.Unix(0, int64(binary.LittleEndian.Uint32(b[12:]))<<32|int64(binary.LittleEndian.Uint32(b[16:])))
			if since := time.Since(at); since < 0 || since > time.Minute {
				t.Errorf("frame is %v old", since)
			}
		}
		kinds = append(kinds, kind)
		b = b[total:]
	}
	want := []uint32{blockSection, blockInterface, blockInterface, blockPacket}
	if len(b) != 0 || len(kinds) != len(want) || kinds[0] != want[0] || kinds[2] != want[2] || kinds[3] != want[3] {
		t.Errorf("blocks %v and %d bytes, want %v", kinds, len(b), want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, unix.ENOSPC }

func TestPcapTellsThatItCouldNotWrite(t *testing.T) {
	w, _ := lines(t, 1)
	if _, err := w.Pcap(full{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
}

// One frame from the socket to the counts: what bounds the rate a line can hold.
func BenchmarkFrame(b *testing.B) {
	ours, theirs, err := linePair()
	if err != nil {
		b.Fatal(err)
	}
	defer ours.close()
	defer unix.Close(theirs)
	w := newWire([]port{ours}, nil)
	w.Begin(1, Traffic(1), 0)
	l, buf, frame := w.lines[0], make([]byte, frameMax), datagram(1, 0, 0, 4042)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for seq := uint64(0); b.Loop(); seq++ {
		stamp.PutSeq(frame[42:], seq, 0)
		if _, err := unix.Write(theirs, frame); err != nil {
			b.Fatal(err)
		}
		n, _, err := l.port.next(buf)
		if err != nil {
			b.Fatal(err)
		}
		l.frame(buf[:n], w.now())
	}
}
