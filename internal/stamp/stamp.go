// Package stamp is the header at the start of every payload: it tells the other end of a line which run and
// which sender a datagram belongs to, and which number it has there. Pure: bytes in, bytes out.
package stamp

import "encoding/binary"

// Size is the length of the header in bytes, and so the smallest payload that can carry one.
const Size = 32

// magic is "BNDR"; version is raised when the layout changes, so that an old frame is no longer ours.
const (
	magic   = 0x424e4452
	version = 1
)

// Where each field starts; all are big endian. Bytes 12..15 are reserved and zero.
const (
	offMagic   = 0
	offVersion = 4
	offSender  = 6
	offRun     = 8
	offZero    = 12
	offSeq     = 16
	offTime    = 24
)

// Header is what a payload says of itself.
type Header struct {
	Run    uint32 // the run's number, unique within a boot
	Sender uint16 // the sender's index, from 0
	Seq    uint64 // counts from 0 for each sender of a run
	TimeNS uint64 // CLOCK_MONOTONIC of the sending machine when it was handed to the kernel; 0 when not taken
}

// Put writes the whole header to the first Size bytes of b. It panics when b is shorter.
func Put(b []byte, h Header) {
	_ = b[Size-1]
	binary.BigEndian.PutUint32(b[offMagic:], magic)
	binary.BigEndian.PutUint16(b[offVersion:], version)
	binary.BigEndian.PutUint16(b[offSender:], h.Sender)
	binary.BigEndian.PutUint32(b[offRun:], h.Run)
	binary.BigEndian.PutUint32(b[offZero:], 0)
	PutSeq(b, h.Seq, h.TimeNS)
}

// PutSeq renews number and time in a payload that Put has prepared: the send path writes nothing else.
func PutSeq(b []byte, seq, ns uint64) {
	_ = b[Size-1]
	binary.BigEndian.PutUint64(b[offSeq:], seq)
	binary.BigEndian.PutUint64(b[offTime:], ns)
}

// Parse reads the header of a payload; false when it is too short or not ours.
func Parse(b []byte) (Header, bool) {
	if len(b) < Size || binary.BigEndian.Uint32(b[offMagic:]) != magic || binary.BigEndian.Uint16(b[offVersion:]) != version {
		return Header{}, false
	}
	return Header{
		Run:    binary.BigEndian.Uint32(b[offRun:]),
		Sender: binary.BigEndian.Uint16(b[offSender:]),
		Seq:    binary.BigEndian.Uint64(b[offSeq:]),
		TimeNS: binary.BigEndian.Uint64(b[offTime:]),
	}, true
}
