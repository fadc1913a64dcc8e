package vm

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// ring is the device's side of a split virtqueue (virtio 1.2, 2.7) in the guest's memory. All that the guest wrote is
// taken as possibly wrong: each value is read once, then checked.
type ring struct {
	desc  []byte // size descriptors of 16 bytes
	avail []byte // flags, index, size numbers of descriptors
	used  []byte // flags, index, size pairs of a number and a length
	size  int    // a power of 2

	taken    uint16 // the guest's index up to which chains were taken
	returned uint16 // our index in used
	quiet    bool   // the guest need not tell of new chains
	segments []segment
}

// segment is a piece of a chain's buffer, at a guest's address.
type segment struct {
	addr uint64
	size uint32
}

// What a descriptor looks like, and its flags.
const (
	descSize     = 16
	descNext     = 1
	descWrite    = 2 // the device writes there
	descIndirect = 4
	ringHead     = 4 // bytes of flags and index
	usedElement  = 8
	usedNoNotify = 1
	noInterrupt  = 1
	mostRing     = 1 << 15
)

// ringSizes are the bytes of a ring's three parts, without the fields of VIRTIO_F_EVENT_IDX.
func ringSizes(size int) (desc, avail, used int) {
	return size * descSize, ringHead + 2*size, ringHead + usedElement*size
}

// newRing checks what the parts have to be. next is the index to begin with.
func newRing(desc, avail, used []byte, size int, next uint16) (ring, error) {
	if size < 1 || size > mostRing || size&(size-1) != 0 {
		return ring{}, fmt.Errorf("a ring of %d descriptors", size)
	}
	d, a, u := ringSizes(size)
	if len(desc) != d || len(avail) != a || len(used) != u {
		return ring{}, fmt.Errorf("a ring of %d descriptors with parts of %d, %d and %d bytes", size, len(desc), len(avail), len(used))
	}
	for _, part := range [][]byte{avail, used} {
		if uintptr(unsafe.Pointer(unsafe.SliceData(part)))%ringHead != 0 {
			return ring{}, fmt.Errorf("a ring that is not aligned to %d bytes", ringHead)
		}
	}
	return ring{
		desc: desc, avail: avail, used: used, size: size, taken: next,
		returned: binary.LittleEndian.Uint16(used[2:]), segments: make([]segment, 0, size),
	}, nil
}

// word is the word of flags and index with which a part begins. One 32-bit access gets both, and Go's atomics order
// it with everything else, as the other side's barriers need.
func word(part []byte) *uint32 { return (*uint32)(unsafe.Pointer(unsafe.SliceData(part))) }

// pending is how many chains the guest has made available.
func (r *ring) pending() (int, error) {
	n := uint16(atomic.LoadUint32(word(r.avail))>>16) - r.taken
	if int(n) > r.size {
		return 0, fmt.Errorf("%d chains available in a ring of %d", n, r.size)
	}
	return int(n), nil
}

// chain reads the next chain that is available, without taking it. flags is descWrite or 0: what each of its
// descriptors has to be. The segments are good until the next call.
func (r *ring) chain(mem memory, flags uint16) (first uint16, _ []segment, err error) {
	slot := int(r.taken) & (r.size - 1)
	first = binary.LittleEndian.Uint16(r.avail[ringHead+2*slot:])
	r.segments = r.segments[:0]
	at := first
	for {
		if int(at) >= r.size {
			return 0, nil, fmt.Errorf("descriptor %d of %d", at, r.size)
		}
		d := readDescriptor(r.desc[int(at)*descSize:])
		if d.flags&descIndirect != 0 {
			if d.flags&descNext != 0 {
				return 0, nil, fmt.Errorf("descriptor %d is indirect and has a next one", at)
			}
			return first, r.segments, r.indirect(mem, d, flags)
		}
		if err := r.add(d, flags); err != nil {
			return 0, nil, err
		}
		if d.flags&descNext == 0 {
			return first, r.segments, nil
		}
		at = d.next
	}
}

// indirect reads a table of descriptors that lies anywhere in the guest's memory.
func (r *ring) indirect(mem memory, table descriptor, flags uint16) error {
	count := int(table.size / descSize)
	if table.size%descSize != 0 || count == 0 || count > r.size {
		return fmt.Errorf("an indirect table of %d bytes", table.size)
	}
	for at := 0; ; {
		var raw [descSize]byte
		if err := mem.read(raw[:], table.addr+uint64(at)*descSize); err != nil {
			return err
		}
		d := readDescriptor(raw[:])
		if d.flags&descIndirect != 0 {
			return fmt.Errorf("an indirect table in an indirect table")
		}
		if err := r.add(d, flags); err != nil {
			return err
		}
		if d.flags&descNext == 0 {
			return nil
		}
		if at = int(d.next); at >= count {
			return fmt.Errorf("descriptor %d of %d in an indirect table", at, count)
		}
	}
}

// add adds a descriptor to the chain, which is no longer than the ring: else it has a loop.
func (r *ring) add(d descriptor, flags uint16) error {
	switch {
	case len(r.segments) == r.size:
		return fmt.Errorf("a chain of more than %d descriptors", r.size)
	case d.flags&descWrite != flags:
		return fmt.Errorf("a descriptor to read from where one to write to has to be, or the reverse")
	}
	r.segments = append(r.segments, segment{d.addr, d.size})
	return nil
}

// descriptor is one as the guest wrote it.
type descriptor struct {
	addr  uint64
	size  uint32
	flags uint16
	next  uint16
}

func readDescriptor(b []byte) descriptor {
	var raw [descSize]byte // the guest may change it meanwhile
	copy(raw[:], b)
	return descriptor{
		addr: binary.LittleEndian.Uint64(raw[0:]), size: binary.LittleEndian.Uint32(raw[8:]),
		flags: binary.LittleEndian.Uint16(raw[12:]), next: binary.LittleEndian.Uint16(raw[14:]),
	}
}

// finish takes the chain that begins with first and gives it back to the guest; written is how many bytes were
// written into it. It tells whether the guest wants an interrupt.
func (r *ring) finish(first uint16, written int) (interrupt bool) {
	slot := int(r.returned) & (r.size - 1)
	element := r.used[ringHead+usedElement*slot:]
	binary.LittleEndian.PutUint32(element, uint32(first))
	binary.LittleEndian.PutUint32(element[4:], uint32(written))
	r.taken++
	r.returned++
	r.publish()
	return atomic.LoadUint32(word(r.avail))&noInterrupt == 0
}

// hush asks the guest not to tell of new chains, or to tell again. After telling was asked for, look once more.
func (r *ring) hush(quiet bool) {
	if r.quiet != quiet {
		r.quiet = quiet
		r.publish()
	}
}

// publish writes our flags and index.
func (r *ring) publish() {
	w := uint32(r.returned) << 16
	if r.quiet {
		w |= usedNoNotify
	}
	atomic.StoreUint32(word(r.used), w)
}
