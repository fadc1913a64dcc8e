package vm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
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
	udp := ip[20:]
	binary.BigEndian.PutUint16(udp[2:], 6000)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	stamp.Put(udp[8:], stamp.Header{Run: run, Sender: sender, Seq: seq})
	return b
}

func TestCheckerCounts(t *testing.T) {
	arp := append(make([]byte, 12), 0x08, 0x06, 0, 1)
	lacp := append(make([]byte, 12), 0x88, 0x09, 1)
	var first atomic.Int64
	c := &checker{}
	c.begin(7, 2)
	for i, f := range [][]byte{
		datagram(7, 0, 0, 100),
		datagram(7, 0, 2, 100),
		datagram(7, 0, 1, 100), // late
		datagram(7, 0, 2, 100), // again
		datagram(7, 1, 5, 200),
		datagram(6, 0, 0, 100),    // of an earlier run
		datagram(7, 2, 0, 100),    // there is no sender 2
		datagram(7, 0, 1<<60, 90), // nobody gets that far
		arp, arp, lacp,
	} {
		c.frame(f, int64(1000+i), &first)
	}
	w := summarise([]*checker{c})
	s := w.Slaves[0]
	if s.Frames != 11 || s.Ours != 5 || s.Stale != 1 || s.Bytes != 400+200+100+100+90+16+16+15 {
		t.Errorf("frames %d, bytes %d, ours %d, stale %d", s.Frames, s.Bytes, s.Ours, s.Stale)
	}
	for kind, want := range map[string]uint64{"arp": 2, "lacp": 1, "damaged": 2} {
		if s.Foreign[kind] != want {
			t.Errorf("%d foreign frames of kind %s, want %d", s.Foreign[kind], kind, want)
		}
	}
	if got := w.Senders[0]; got.Unique != 3 || got.Duplicates != 1 || got.Reordered != 1 || got.Beyond != 3 || got.Copies != 0 {
		t.Errorf("sender 0: %+v", got)
	}
	if got := w.Senders[1]; got.Unique != 1 || got.Beyond != 6 || got.Index != 1 {
		t.Errorf("sender 1: %+v", got)
	}
}

func TestBroadcastCopiesAreNoDuplicates(t *testing.T) {
	var first atomic.Int64
	lines := make([]*checker, 3)
	for i := range lines {
		lines[i] = &checker{}
		lines[i].begin(1, 1)
		for seq := range uint64(100 + i) { // each line one more than the one before
			lines[i].frame(datagram(1, 0, seq, 100), 1, &first)
		}
	}
	if got := summarise(lines).Senders[0]; got.Unique != 102 || got.Copies != 100+101 || got.Duplicates != 0 || got.Beyond != 102 {
		t.Errorf("got %+v", got)
	}
}

func TestBeginForgets(t *testing.T) {
	var first atomic.Int64
	c := &checker{}
	c.begin(1, 1)
	c.frame(datagram(1, 0, 4, 100), 1, &first)
	c.begin(2, 1)
	if w := summarise([]*checker{c}); w.Slaves[0].Frames != 0 || w.Senders[0].Beyond != 0 || len(w.Slaves[0].AtMS) != 0 {
		t.Errorf("got %+v", w)
	}
}

func TestSeriesCountsFromTheRunsFirstFrame(t *testing.T) {
	const ms = int64(time.Millisecond)
	var first atomic.Int64
	a, b := &checker{}, &checker{}
	a.begin(1, 1)
	b.begin(1, 1)
	a.frame(datagram(1, 0, 0, 100), 500*ms, &first)
	b.frame(datagram(1, 0, 1, 100), 520*ms, &first) // the other line's first frame comes 20 ms into the run
	b.frame(datagram(1, 0, 2, 100), 521*ms, &first)
	b.frame(datagram(1, 0, 3, 100), 545*ms, &first)
	b.frame(datagram(1, 0, 4, 100), 549*ms, &first)
	s := summarise([]*checker{a, b}).Slaves[1]
	wantAt, wantFrames := []float64{20, 45, 49}, []uint64{0, 2, 4}
	for i := range wantAt {
		if len(s.AtMS) != 3 || s.AtMS[i] != wantAt[i] || s.CumFrames[i] != wantFrames[i] || s.CumBytes[i] != 100*wantFrames[i] {
			t.Fatalf("series %v %v %v, want %v %v", s.AtMS, s.CumFrames, s.CumBytes, wantAt, wantFrames)
		}
	}
}

func TestCheckingAFrameDoesNotAllocate(t *testing.T) {
	var first atomic.Int64
	c := &checker{}
	c.begin(1, 1)
	f := datagram(1, 0, 0, 4042)
	seq := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		stamp.PutSeq(f[42:], seq, 0)
		c.frame(f, int64(seq), &first)
		seq++
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func TestTakingAFrameDoesNotAllocate(t *testing.T) {
	ours, theirs, err := linePair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ours)
	defer unix.Close(theirs)
	w := newWire([]int{ours})
	w.Begin(1, 1)
	l, buf, frame := w.lines[0], make([]byte, frameMax), datagram(1, 0, 0, 1500)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := unix.Write(theirs, frame); err != nil {
			t.Fatal(err)
		}
		n, waited, err := l.next(buf)
		if n != len(frame) || waited || err != nil {
			t.Fatalf("next: %d bytes, waited %v, %v", n, waited, err)
		}
		l.frame(buf[:n], l.wire.now())
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
	if n, waited, err := l.next(buf); n > 0 || !waited || !errors.Is(err, unix.EAGAIN) {
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
	for waited, credit := range map[bool]time.Duration{true: catchUp, false: catchUpLate} {
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
func lines(t *testing.T, n int) (*Wire, []int) {
	t.Helper()
	var ours, theirs []int
	for range n {
		a, b, err := linePair()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(b) })
		ours, theirs = append(ours, a), append(theirs, b)
	}
	w := newWire(ours)
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
	w.Begin(1, 1)
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
	w.Begin(1, 2)
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
		least := float64(frames*size*8)/rates[i]*1000 - 1.5*float64(catchUp/time.Millisecond)
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
	w := newWire([]int{-1})
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
	defer unix.Close(ours)
	defer unix.Close(theirs)
	w := newWire([]int{ours})
	w.Begin(1, 1)
	l, buf, frame := w.lines[0], make([]byte, frameMax), datagram(1, 0, 0, 4042)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for seq := uint64(0); b.Loop(); seq++ {
		stamp.PutSeq(frame[42:], seq, 0)
		if _, err := unix.Write(theirs, frame); err != nil {
			b.Fatal(err)
		}
		n, _, err := l.next(buf)
		if err != nil {
			b.Fatal(err)
		}
		l.frame(buf[:n], w.now())
	}
}
