package vm

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// capture writes pcapng (draft-ietf-opsawg-pcapng): one section header, one interface description a line, one
// enhanced packet block a frame. pcapng rather than pcap because it says which line a frame came from.
type capture struct {
	mu   sync.Mutex
	w    *bufio.Writer
	head [28]byte
	err  error
}

// Block types and options of pcapng.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 6
	byteOrder      = 0x1a2b3c4d
	linkEthernet   = 1
	optName        = 2
	optResolution  = 9
	nanoseconds    = 9 // 10^-9 s
)

func newCapture(out io.Writer, lines int) (*capture, error) {
	const buffer = 1 << 20
	c := &capture{w: bufio.NewWriterSize(out, buffer)}
	section := binary.LittleEndian.AppendUint32(nil, byteOrder)
	section = binary.LittleEndian.AppendUint16(section, 1) // version 1.0
	section = binary.LittleEndian.AppendUint16(section, 0)
	section = binary.LittleEndian.AppendUint64(section, ^uint64(0)) // length not given
	c.block(blockSection, section)
	for i := range lines {
		b := binary.LittleEndian.AppendUint16(nil, linkEthernet)
		b = binary.LittleEndian.AppendUint16(b, 0)
		b = binary.LittleEndian.AppendUint32(b, frameMax)
		b = option(b, optName, fmt.Appendf(nil, "slave%d", i))
		b = option(b, optResolution, []byte{nanoseconds})
		c.block(blockInterface, option(b, 0, nil))
	}
	return c, c.w.Flush()
}

func option(b []byte, code uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return append(b, make([]byte, padding(len(value)))...)
}

// padding is what a length lacks to a multiple of 4.
func padding(n int) int { return -n & 3 }

// block writes a block whose body is a multiple of 4 bytes. An error stays with the writer.
func (c *capture) block(kind uint32, body []byte) {
	total := uint32(len(body) + 12)
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, total)
	b = append(b, body...)
	_, _ = c.w.Write(binary.LittleEndian.AppendUint32(b, total))
}

// frame writes one frame without allocating. unixNS is its time.
func (c *capture) frame(index int, b []byte, unixNS int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.w == nil {
		return
	}
	pad := padding(len(b))
	total := uint32(len(c.head) + len(b) + pad + 4)
	h := c.head[:]
	binary.LittleEndian.PutUint32(h[0:], blockPacket)
	binary.LittleEndian.PutUint32(h[4:], total)
	binary.LittleEndian.PutUint32(h[8:], uint32(index))
	binary.LittleEndian.PutUint32(h[12:], uint32(uint64(unixNS)>>32))
	binary.LittleEndian.PutUint32(h[16:], uint32(unixNS))
	binary.LittleEndian.PutUint32(h[20:], uint32(len(b)))
	binary.LittleEndian.PutUint32(h[24:], uint32(len(b)))
	// bufio keeps the first error and gives it back on Flush.
	_, _ = c.w.Write(h)
	_, _ = c.w.Write(b)
	var tail [7]byte
	binary.LittleEndian.PutUint32(tail[pad:], total)
	_, _ = c.w.Write(tail[:pad+4])
}

// close flushes; frames that come later are left out. A second close gives the same error.
func (c *capture) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.w != nil {
		if err := c.w.Flush(); err != nil {
			c.err = fmt.Errorf("write pcap: %w", err)
		}
		c.w = nil
	}
	return c.err
}
