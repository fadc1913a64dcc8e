package vm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const (
	testBase = 0x40000000
	testSize = 8
	// testBuffers is where buffers begin in the memory of these tests.
	testBuffers = 1024
)

// guest makes memory with one ring, and both its sides.
func guest(t testing.TB) (memory, *ring, *driver) {
	t.Helper()
	data := make([]byte, 64<<10)
	d := newDriver(data, testBase, 0, testSize, testBuffers)
	r, err := newRing(d.desc, d.avail, d.use, testSize, 0)
	if err != nil {
		t.Fatal(err)
	}
	return memory{{guest: testBase, data: data}}, &r, d
}

// However a driver lays a frame out, it is taken without its header, and its chain comes back.
func TestTakeFrame(t *testing.T) {
	frame := datagram(1, 0, 0, 300)
	whole := append(make([]byte, netHeader), frame...)
	for name, lay := range map[string]func(*driver) uint16{
		"header apart": func(d *driver) uint16 { return d.chain(d.buffer(whole[:netHeader]), d.buffer(frame)) },
		"in one piece": func(d *driver) uint16 { return d.chain(d.buffer(whole)) },
		"header in two, in three": func(d *driver) uint16 {
			return d.chain(d.buffer(whole[:5]), d.buffer(whole[5:100]), d.buffer(whole[100:]))
		},
		"with an empty piece": func(d *driver) uint16 { return d.chain(d.buffer(whole[:20]), d.buffer(nil), d.buffer(whole[20:])) },
		"indirect": func(d *driver) uint16 {
			table := make([]byte, 3*descSize)
			x, y := d.buffer(whole[:50]), d.buffer(whole[50:])
			x.flags, x.next = descNext, 2
			d.put(table, 0, x)
			d.put(table, 2, y)
			tail := d.buffer(table)
			tail.flags = descIndirect
			return d.chain(tail)
		},
		"a direct piece, then indirect": func(d *driver) uint16 {
			table := make([]byte, descSize)
			d.put(table, 0, d.buffer(frame))
			tail := d.buffer(table)
			tail.flags = descIndirect
			return d.chain(d.buffer(whole[:netHeader]), tail)
		},
	} {
		mem, r, d := guest(t)
		d.chain(d.buffer(nil)) // so that the number is not 0
		first := lay(d)
		d.offer(first)
		buf := make([]byte, frameMax)
		n, interrupt, err := r.takeFrame(mem, buf)
		if err != nil || !interrupt || !bytes.Equal(buf[:n], frame) {
			t.Errorf("%s: %d bytes, interrupt %v, %v", name, n, interrupt, err)
		}
		if firsts, written := d.reap(); !slices.Equal(firsts, []uint16{first}) || written[0] != 0 {
			t.Errorf("%s: came back %v %v", name, firsts, written)
		}
		if n, _, err := r.takeFrame(mem, buf); n != 0 || err != nil {
			t.Errorf("%s: another frame of %d bytes, %v", name, n, err)
		}
	}
}

// The indexes count modulo 2^16, and the slots are reused.
func TestRingGoesRound(t *testing.T) {
	mem, r, d := guest(t)
	buf := make([]byte, frameMax)
	for seq := range uint64(1<<16 + 3*testSize) {
		d.free = testBuffers
		first := d.send(datagram(1, 0, seq, 200))
		n, _, err := r.takeFrame(mem, buf)
		if err != nil || !bytes.Equal(buf[:n], datagram(1, 0, seq, 200)) {
			t.Fatalf("frame %d: %d bytes, %v", seq, n, err)
		}
		if firsts, _ := d.reap(); len(firsts) != 1 || firsts[0] != first {
			t.Fatalf("frame %d: %v came back, want %d", seq, firsts, first)
		}
	}
}

func TestRingTellsAndIsTold(t *testing.T) {
	mem, r, d := guest(t)
	buf := make([]byte, frameMax)
	d.setAvailFlags(noInterrupt)
	d.send(datagram(1, 0, 0, 100))
	if _, interrupt, err := r.takeFrame(mem, buf); interrupt || err != nil {
		t.Errorf("an interrupt that nobody wants, %v", err)
	}
	d.setAvailFlags(0)
	d.send(datagram(1, 0, 1, 100))
	if _, interrupt, err := r.takeFrame(mem, buf); !interrupt || err != nil {
		t.Errorf("no interrupt, %v", err)
	}
	for _, quiet := range []bool{true, false, true} {
		r.hush(quiet)
		if got := d.usedFlags() == usedNoNotify; got != quiet {
			t.Errorf("quiet %v: flags %d", quiet, d.usedFlags())
		}
		d.send(datagram(1, 0, 1, 100))
		if _, _, err := r.takeFrame(mem, buf); err != nil {
			t.Error(err)
		}
		if got := d.usedFlags() == usedNoNotify; got != quiet {
			t.Errorf("quiet %v: flags %d after a frame", quiet, d.usedFlags())
		}
	}
	if firsts, _ := d.reap(); len(firsts) != 5 {
		t.Errorf("%d chains came back", len(firsts))
	}
}

func TestPutFrame(t *testing.T) {
	frame := datagram(1, 0, 0, 300)
	for name, sizes := range map[string][]int{
		"in one piece": {1536}, "exactly": {netHeader + 300}, "header apart": {netHeader, 400}, "in pieces": {5, 100, 0, 1000},
	} {
		mem, r, d := guest(t)
		var parts []descriptor
		begin := d.free
		for _, n := range sizes {
			x := d.buffer(make([]byte, n))
			x.flags = descWrite
			parts = append(parts, x)
		}
		d.offer(d.chain(parts...))
		done, interrupt, err := r.putFrame(mem, frame)
		if !done || !interrupt || err != nil {
			t.Errorf("%s: done %v, interrupt %v, %v", name, done, interrupt, err)
		}
		want := append([]byte{10: 1, 11: 0}, frame...) // num_buffers 1
		if got := d.mem[begin : begin+len(want)]; !bytes.Equal(got, want) {
			t.Errorf("%s: got %x", name, got)
		}
		if _, written := d.reap(); len(written) != 1 || written[0] != len(want) {
			t.Errorf("%s: written %v, want %d", name, written, len(want))
		}
	}
	mem, r, d := guest(t)
	if done, _, err := r.putFrame(mem, frame); done || err != nil {
		t.Errorf("without a buffer: done %v, %v", done, err)
	}
	x := d.buffer(make([]byte, netHeader+299))
	x.flags = descWrite
	d.offer(d.chain(x))
	if done, _, err := r.putFrame(mem, frame); done || err != nil {
		t.Errorf("in a buffer that is too small: done %v, %v", done, err)
	}
	if done, _, err := r.putFrame(mem, frame[:299]); !done || err != nil {
		t.Errorf("the next, smaller frame: done %v, %v", done, err)
	}
}

// Whatever a guest writes into its rings is an error, and nothing else.
func TestDamagedRings(t *testing.T) {
	indirect := func(d *driver, table []byte, change func(*descriptor)) uint16 {
		x := d.buffer(table)
		x.flags = descIndirect
		change(&x)
		return d.chain(x)
	}
	nothing := func(*descriptor) {}
	tests := map[string]struct {
		damage func(d *driver)
		says   string
	}{
		"more than the ring":    {func(d *driver) { binary.LittleEndian.PutUint16(d.avail[2:], testSize+1) }, "9 chains available in a ring of 8"},
		"fewer than taken":      {func(d *driver) { binary.LittleEndian.PutUint16(d.avail[2:], 0xffff) }, "65535 chains"},
		"no such descriptor":    {func(d *driver) { d.offer(testSize) }, "descriptor 8 of 8"},
		"no such next one":      {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase, size: 1, flags: descNext, next: 999})) }, "descriptor 999 of 8"},
		"a loop":                {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase, size: 1, flags: descNext, next: 0})) }, "a chain of more than 8"},
		"to write to":           {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase, size: 100, flags: descWrite})) }, "to read from"},
		"an address before":     {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase - netHeader - 1, size: 100})) }, "outside of the guest's memory: 0x3fffffff"},
		"an address after":      {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase + 64<<10, size: 100})) }, "outside"},
		"an end after":          {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase + 64<<10 - 99, size: 100})) }, "outside"},
		"an address that wraps": {func(d *driver) { d.offer(d.chain(descriptor{addr: math.MaxUint64 - 50, size: 100})) }, "outside"},
		"a huge frame":          {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase, size: math.MaxUint32})) }, fmt.Sprintf("a frame of more than %d", frameMax)},
		"a frame a bit too large": {func(d *driver) {
			half := descriptor{addr: testBase, size: 40000}
			d.offer(d.chain(half, half))
		}, fmt.Sprintf("a frame of more than %d", frameMax)},
		"only a header":     {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase, size: netHeader})) }, "without a byte"},
		"not even a header": {func(d *driver) { d.offer(d.chain(descriptor{addr: testBase, size: 3})) }, "without a byte"},
		"indirect and next": {func(d *driver) { d.offer(indirect(d, make([]byte, 16), func(x *descriptor) { x.flags |= descNext })) }, "is indirect and has a next"},
		"a half table":      {func(d *driver) { d.offer(indirect(d, make([]byte, 24), nothing)) }, "an indirect table of 24 bytes"},
		"no table":          {func(d *driver) { d.offer(indirect(d, nil, nothing)) }, "an indirect table of 0 bytes"},
		"a table of more":   {func(d *driver) { d.offer(indirect(d, make([]byte, 16*9), nothing)) }, "an indirect table of 144 bytes"},
		"a table elsewhere": {func(d *driver) { d.offer(indirect(d, make([]byte, 16), func(x *descriptor) { x.addr = 16 })) }, "outside"},
		"a table that wraps": {func(d *driver) {
			d.offer(indirect(d, make([]byte, 16), func(x *descriptor) { x.addr = math.MaxUint64 }))
		}, "outside"},
		"a table in a table":   {func(d *driver) { d.offer(indirect(d, []byte{12: descIndirect, 15: 0}, nothing)) }, "in an indirect table"},
		"beyond the table":     {func(d *driver) { d.offer(indirect(d, []byte{12: descNext, 14: 1, 15: 0}, nothing)) }, "descriptor 1 of 1"},
		"a loop in a table":    {func(d *driver) { d.offer(indirect(d, []byte{12: descNext, 15: 0}, nothing)) }, "a chain of more than 8"},
		"a table to read from": {func(d *driver) { d.offer(indirect(d, []byte{12: descWrite, 15: 0}, nothing)) }, "to read from"},
	}
	for name, tt := range tests {
		mem, r, d := guest(t)
		tt.damage(d)
		n, _, err := r.takeFrame(mem, make([]byte, frameMax))
		if n != 0 || err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %d bytes, %v, want %q", name, n, err, tt.says)
		}
		if firsts, _ := d.reap(); len(firsts) != 0 {
			t.Errorf("%s: came back", name)
		}
	}
	mem, r, d := guest(t)
	d.offer(d.chain(descriptor{addr: testBase, size: 1000}))
	if done, _, err := r.putFrame(mem, []byte{1}); done || err == nil {
		t.Errorf("a buffer to read from was written to: %v, %v", done, err)
	}
}

func TestRingsThatCannotBe(t *testing.T) {
	b := make([]byte, 1<<20)
	for name, size := range map[string]int{"none": 0, "no power of 2": 12, "too many": 1 << 16, "negative": -8} {
		if _, err := newRing(b[:128], b[:20], b[:68], size, 0); err == nil {
			t.Errorf("%s: a ring", name)
		}
	}
	if _, err := newRing(b[:128], b[2:22], b[:68], 8, 0); err == nil || !strings.Contains(err.Error(), "aligned") {
		t.Errorf("not aligned: %v", err)
	}
	if _, err := newRing(b[:128], b[:19], b[:68], 8, 0); err == nil {
		t.Error("a part too short")
	}
}

// A frame may lie across two regions that follow each other for the guest, wherever they are here.
func TestMemoryOfSeveralRegions(t *testing.T) {
	low, high := make([]byte, 100), make([]byte, 100)
	mem := memory{{guest: 1100, qemu: 5000, data: high}, {guest: 1000, qemu: 9000, data: low}}
	if err := mem.write(1090, []byte("0123456789abcdefghij")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 20)
	if err := mem.read(got, 1090); err != nil || string(got) != "0123456789abcdefghij" {
		t.Errorf("%q, %v", got, err)
	}
	if string(low[90:]) != "0123456789" || string(high[:10]) != "abcdefghij" {
		t.Errorf("%q %q", low[90:], high[:10])
	}
	if err := mem.read(got, 1190); !errors.Is(err, errOutside) {
		t.Errorf("beyond the end: %v", err)
	}
	if b, err := mem.atQEMU(5090, 10); err != nil || len(b) != 10 || cap(b) != 10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	for _, at := range []uint64{5091, 4999, 0, math.MaxUint64} {
		if _, err := mem.atQEMU(at, 10); !errors.Is(err, errOutside) {
			t.Errorf("10 bytes at %d: %v", at, err)
		}
	}
}

func TestTakingAFrameFromARingDoesNotAllocate(t *testing.T) {
	mem, r, d := guest(t)
	buf := make([]byte, frameMax)
	frame := datagram(1, 0, 0, 4042)
	if n := testing.AllocsPerRun(100, func() {
		d.free = testBuffers
		d.send(frame)
		if n, _, err := r.takeFrame(mem, buf); n != len(frame) || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// FuzzRing lets the guest write whatever it likes into its memory, rings included. Nothing outside may be written
// (or read: the slices see to that), and nothing may go on for ever.
func FuzzRing(f *testing.F) {
	_, _, d := guest(f)
	d.send(datagram(1, 0, 0, 300))
	table := make([]byte, 2*descSize)
	d.put(table, 0, descriptor{addr: testBase, size: 400, flags: descNext, next: 1})
	x := d.buffer(table)
	x.flags = descIndirect
	d.offer(d.chain(x))
	f.Add(d.mem[:2048], uint16(0), false)
	f.Add(d.mem[:2048], uint16(0xffff), true)
	f.Fuzz(func(t *testing.T, guest []byte, next uint16, receive bool) {
		const size, canary = 4096, 64
		all := bytes.Repeat([]byte{0xa5}, size+2*canary)
		data := all[canary : canary+size]
		clear(data)
		copy(data, guest)
		d := newDriver(data, testBase, 0, testSize, testBuffers)
		r, err := newRing(d.desc, d.avail, d.use, testSize, next)
		if err != nil {
			t.Fatal(err)
		}
		mem := memory{{guest: testBase, data: data}}
		buf := make([]byte, 1024)
		for range 3 * testSize {
			if receive {
				_, _, err = r.putFrame(mem, buf[:300])
			} else {
				_, _, err = r.takeFrame(mem, buf)
			}
			if err != nil {
				break
			}
			r.hush(!r.quiet)
		}
		outside := bytes.Repeat([]byte{0xa5}, canary)
		if !bytes.Equal(all[:canary], outside) || !bytes.Equal(all[canary+size:], outside) {
			t.Error("wrote outside of the guest's memory")
		}
	})
}
