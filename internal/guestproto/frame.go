package guestproto

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// A frame is a header of headerSize bytes, big endian, and a payload of JSON:
//
//	0  magic        "\xb0\x4dRP"
//	4  wire length  bytes of payload that follow
//	8  raw length   bytes of JSON; the payload is raw deflate when it differs from the wire length
//	12 CRC32C of the payload as it is on the wire
//	16 CRC32C of bytes 0..15
//
// The header has its own checksum so that noise which happens to hold the magic never makes a reader wait for
// bytes that will not come.
const headerSize = 20

// MaxMessage is the largest JSON of one message, in bytes. A recording of a long run has some hundred KB.
const MaxMessage = 64 << 20

// compressFrom is the size from which compressing pays on a serial port: below it the frame is one write anyway.
const compressFrom = 512

var magic = [4]byte{0xb0, 0x4d, 'R', 'P'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is in the chain of Read's error when a frame arrived whole but wrong. The next Read goes on after it.
var ErrDamaged = errors.New("a message on the guest channel is damaged")

// Writer sends messages. It is safe for use by several goroutines; each message goes out in one Write.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter sends messages to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends one message. There is no deadline: closing the stream below ends it.
func (w *Writer) Write(e Envelope) error {
	frame, err := encode(e)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(frame); err != nil {
		return fmt.Errorf("send %s message on the guest channel: %w", e.Type, err)
	}
	return nil
}

func encode(e Envelope) ([]byte, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode %s message: %w", e.Type, err)
	}
	if len(raw) > MaxMessage {
		return nil, fmt.Errorf("encode %s message: %d bytes, at most %d go through the guest channel", e.Type, len(raw), MaxMessage)
	}
	var out bytes.Buffer
	out.Write(make([]byte, headerSize))
	if !deflate(&out, raw) {
		out.Truncate(headerSize)
		out.Write(raw)
	}
	frame := out.Bytes()
	payload := frame[headerSize:]
	copy(frame, magic[:])
	binary.BigEndian.PutUint32(frame[4:], uint32(len(payload)))
	binary.BigEndian.PutUint32(frame[8:], uint32(len(raw)))
	binary.BigEndian.PutUint32(frame[12:], crc32.Checksum(payload, castagnoli))
	binary.BigEndian.PutUint32(frame[16:], crc32.Checksum(frame[:16], castagnoli))
	return frame, nil
}

// deflate appends raw compressed to out and tells whether that was worth it.
func deflate(out *bytes.Buffer, raw []byte) bool {
	if len(raw) < compressFrom {
		return false
	}
	before := out.Len()
	z, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		return false
	}
	if _, err := z.Write(raw); err != nil || z.Close() != nil {
		return false
	}
	return out.Len()-before < len(raw)
}

// Reader receives messages. One goroutine reads.
type Reader struct {
	r       *bufio.Reader
	skipped uint64
}

// NewReader receives messages from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Skipped is how many bytes of noise were passed over so far.
func (r *Reader) Skipped() uint64 { return r.skipped }

// Read gives the next message. Bytes that are no frame are skipped; a frame whose payload is wrong is an error
// with ErrDamaged in its chain, after which Read may be called again; any other error is the stream's own.
// It blocks without a deadline: closing the stream below ends it.
func (r *Reader) Read() (Envelope, error) {
	wire, raw, sum, err := r.header()
	if err != nil {
		return Envelope{}, err
	}
	// The buffer grows with what arrives, so a header alone can't make us allocate MaxMessage.
	var buf bytes.Buffer
	if n, err := io.CopyN(&buf, r.r, int64(wire)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Envelope{}, fmt.Errorf("read message of %d bytes on the guest channel, after %d: %w", wire, n, err)
	}
	if got := crc32.Checksum(buf.Bytes(), castagnoli); got != sum {
		return Envelope{}, fmt.Errorf("%w: %d bytes with checksum %08x, the sender said %08x", ErrDamaged, wire, got, sum)
	}
	text, err := inflate(buf.Bytes(), raw)
	if err != nil {
		return Envelope{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var e Envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return Envelope{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return e, nil
}

// header finds the next header whose checksum holds.
func (r *Reader) header() (wire, raw, sum uint32, err error) {
	for {
		b, err := r.r.Peek(headerSize)
		if err != nil {
			return 0, 0, 0, err
		}
		if [4]byte(b) == magic && crc32.Checksum(b[:16], castagnoli) == binary.BigEndian.Uint32(b[16:]) {
			wire, raw, sum = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
			if wire <= raw && raw <= MaxMessage {
				_, err := r.r.Discard(headerSize)
				return wire, raw, sum, err
			}
		}
		if _, err := r.r.Discard(1); err != nil {
			return 0, 0, 0, err
		}
		r.skipped++
	}
}

func inflate(b []byte, raw uint32) ([]byte, error) {
	if uint32(len(b)) == raw {
		return b, nil
	}
	z := flate.NewReader(bytes.NewReader(b))
	text, err := io.ReadAll(io.LimitReader(z, int64(raw)+1))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	if uint32(len(text)) != raw {
		return nil, fmt.Errorf("inflated to %d bytes or more, the sender said %d", len(text), raw)
	}
	return text, nil
}
