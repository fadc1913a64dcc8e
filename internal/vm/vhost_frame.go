package vm

import "fmt"

// netHeader is struct virtio_net_hdr_v1, which goes before each frame (virtio 1.2, 5.1.6): without offloads it is all
// zero towards the device, and all but num_buffers towards the driver.
const netHeader = 12

// receivedHeader is that of a frame in one buffer: num_buffers, the last field, is 1.
var receivedHeader = [netHeader]byte{10: 1}

// takeFrame copies the next frame of a ring into buf and gives its chain back. n is 0 when there is none.
func (r *ring) takeFrame(mem memory, buf []byte) (n int, interrupt bool, err error) {
	waiting, err := r.pending()
	if err != nil || waiting == 0 {
		return 0, false, err
	}
	first, segments, err := r.chain(mem, 0)
	if err != nil {
		return 0, false, err
	}
	skip := netHeader
	for _, s := range segments {
		skipped := min(skip, int(s.size))
		skip -= skipped
		size := int(s.size) - skipped
		if size > len(buf)-n {
			return 0, false, fmt.Errorf("a frame of more than %d bytes", len(buf))
		}
		if err := mem.read(buf[n:n+size], s.addr+uint64(skipped)); err != nil {
			return 0, false, err
		}
		n += size
	}
	if n == 0 {
		return 0, false, fmt.Errorf("a frame without a byte")
	}
	return n, r.finish(first, 0), nil
}

// putFrame writes a frame into the next buffer of a ring and gives that to the guest. done is false when there is
// none, or it is too small.
func (r *ring) putFrame(mem memory, frame []byte) (done, interrupt bool, err error) {
	waiting, err := r.pending()
	if err != nil || waiting == 0 {
		return false, false, err
	}
	first, segments, err := r.chain(mem, descWrite)
	if err != nil {
		return false, false, err
	}
	room := uint64(0)
	for _, s := range segments {
		room += uint64(s.size)
	}
	if room < uint64(netHeader+len(frame)) {
		return false, false, nil
	}
	parts := [2][]byte{receivedHeader[:], frame}
	for _, s := range segments {
		left := int(s.size)
		for i := range parts {
			n := min(left, len(parts[i]))
			if err := mem.write(s.addr, parts[i][:n]); err != nil {
				return false, false, err
			}
			s.addr += uint64(n)
			left -= n
			parts[i] = parts[i][n:]
		}
	}
	return true, r.finish(first, netHeader+len(frame)), nil
}
