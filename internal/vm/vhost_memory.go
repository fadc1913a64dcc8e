package vm

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// memory is the guest's memory as it is mapped here, in regions that do not overlap.
type memory []region

// region is one piece of it, known by two addresses: the guest's own, and QEMU's, which the control messages use.
type region struct {
	guest, qemu uint64
	data        []byte
	mapping     []byte // what to unmap; data lies in it
}

// mapRegion maps a region that begins at offset of the file.
func mapRegion(guest, qemu, size, offset uint64, fd int) (region, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return region{}, fmt.Errorf("look at the guest's memory: %w", err)
	}
	// Beyond the file's end a read would be a SIGBUS. The file is sealed against shrinking (memory-backend-memfd).
	if size == 0 || offset > math.MaxInt64-size || int64(offset+size) > st.Size {
		return region{}, fmt.Errorf("a memory region of %d bytes at %d in a file of %d", size, offset, st.Size)
	}
	m, err := unix.Mmap(fd, 0, int(offset+size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return region{}, fmt.Errorf("map the guest's memory: %w", err)
	}
	return region{guest: guest, qemu: qemu, data: m[offset:], mapping: m}, nil
}

func (m memory) unmap() {
	for _, r := range m {
		_ = unix.Munmap(r.mapping)
	}
}

// errOutside is an address that is not in the guest's memory.
var errOutside = errors.New("an address outside of the guest's memory")

// atQEMU gives n bytes at one of QEMU's addresses; they lie in one region.
func (m memory) atQEMU(addr uint64, n int) ([]byte, error) {
	for _, r := range m {
		if b := within(r.data, r.qemu, addr); len(b) >= n && n > 0 {
			return b[:n:n], nil
		}
	}
	return nil, fmt.Errorf("%w: %#x and %d bytes", errOutside, addr, n)
}

// within gives what of a region at base begins with addr; nothing when addr is not in it.
func within(data []byte, base, addr uint64) []byte {
	if addr < base || addr-base >= uint64(len(data)) {
		return nil
	}
	return data[addr-base:]
}

// atGuest gives the bytes from one of the guest's addresses to the end of its region.
func (m memory) atGuest(addr uint64) ([]byte, error) {
	for _, r := range m {
		if b := within(r.data, r.guest, addr); b != nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%w: %#x", errOutside, addr)
}

// read fills dst from one of the guest's addresses on.
func (m memory) read(dst []byte, addr uint64) error {
	for len(dst) > 0 {
		b, err := m.atGuest(addr)
		if err != nil {
			return err
		}
		n := copy(dst, b)
		dst, addr = dst[n:], addr+uint64(n)
	}
	return nil
}

// write puts src at one of the guest's addresses.
func (m memory) write(addr uint64, src []byte) error {
	for len(src) > 0 {
		b, err := m.atGuest(addr)
		if err != nil {
			return err
		}
		n := copy(b, src)
		src, addr = src[n:], addr+uint64(n)
	}
	return nil
}
