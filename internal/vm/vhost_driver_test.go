package vm

import "encoding/binary"

// driver is the guest's side of one ring, in memory made by the test: descriptors, available and used ring at the
// beginning, buffers after them. Addresses in descriptors are the guest's.
type driver struct {
	mem              []byte
	base             uint64 // the guest's address of mem
	at               int    // where the ring is in mem
	size             int
	free             int // where the next buffer may be
	nextDesc         int
	offered, reaped  uint16
	desc, avail, use []byte
}

func newDriver(mem []byte, base uint64, at, size, buffers int) *driver {
	d, a, u := ringSizes(size)
	used := (at + d + a + 3) &^ 3
	return &driver{
		mem: mem, base: base, at: at, size: size, free: buffers,
		desc: mem[at : at+d], avail: mem[at+d : at+d+a], use: mem[used : used+u],
	}
}

// address is where the ring's parts are, for memory that QEMU has at qemu.
func (d *driver) address(qemu uint64) ringAddress {
	dsize, asize, _ := ringSizes(d.size)
	return ringAddress{
		desc: qemu + uint64(d.at), avail: qemu + uint64(d.at+dsize), used: qemu + uint64((d.at+dsize+asize+3)&^3),
	}
}

// put writes descriptor i.
func (d *driver) put(table []byte, i int, x descriptor) {
	b := table[i*descSize:]
	binary.LittleEndian.PutUint64(b[0:], x.addr)
	binary.LittleEndian.PutUint32(b[8:], x.size)
	binary.LittleEndian.PutUint16(b[12:], x.flags)
	binary.LittleEndian.PutUint16(b[14:], x.next)
}

// buffer puts bytes into memory and gives their descriptor.
func (d *driver) buffer(b []byte) descriptor {
	x := descriptor{addr: d.base + uint64(d.free), size: uint32(len(b))}
	copy(d.mem[d.free:], b)
	d.free += len(b)
	return x
}

// chain writes descriptors one after the other and gives the first one's number.
func (d *driver) chain(parts ...descriptor) uint16 {
	first := d.nextDesc
	for i, x := range parts {
		if i < len(parts)-1 {
			x.flags |= descNext
			x.next = uint16((d.nextDesc + 1) % d.size)
		}
		d.put(d.desc, d.nextDesc, x)
		d.nextDesc = (d.nextDesc + 1) % d.size
	}
	return uint16(first)
}

// offer makes the chain that begins with a descriptor available.
func (d *driver) offer(first uint16) {
	binary.LittleEndian.PutUint16(d.avail[ringHead+2*(int(d.offered)%d.size):], first)
	d.offered++
	binary.LittleEndian.PutUint16(d.avail[2:], d.offered)
}

// send makes a frame available, its header in a descriptor of its own.
func (d *driver) send(frame []byte) uint16 {
	first := d.chain(d.buffer(make([]byte, netHeader)), d.buffer(frame))
	d.offer(first)
	return first
}

// reap gives the chains that came back.
func (d *driver) reap() (firsts []uint16, written []int) {
	for d.reaped != binary.LittleEndian.Uint16(d.use[2:]) {
		b := d.use[ringHead+usedElement*(int(d.reaped)%d.size):]
		firsts = append(firsts, uint16(binary.LittleEndian.Uint32(b)))
		written = append(written, int(binary.LittleEndian.Uint32(b[4:])))
		d.reaped++
	}
	return firsts, written
}

func (d *driver) setAvailFlags(flags uint16) { binary.LittleEndian.PutUint16(d.avail, flags) }
func (d *driver) usedFlags() uint16          { return binary.LittleEndian.Uint16(d.use) }
