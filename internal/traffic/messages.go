package traffic

import (
	"net"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/scenarios"
)

// messages are the prebuilt sends of one sender: slots of payload that only get a new number, in the form x/net
// takes and in the kernel's own. A send takes successive slots.
type messages struct {
	segments int // datagrams a message: more than one with GSO
	payload  int // bytes of each
	buffers  [][]byte
	batch    []ipv4.Message
	headers  []unix.Mmsghdr
	iovecs   []unix.Iovec
	addrs    []net.Addr
	names    [][]byte // sockaddr of each group
	group    int      // that the next message goes to
}

// newMessages prepares slots of which at most batch are sent at once.
func newMessages(t scenarios.Traffic, run uint32, sender, batch, slots int) (*messages, error) {
	m := &messages{segments: max(int(t.Socket.GSO), 1), payload: t.Payload}
	to, err := destinations(t)
	if err != nil {
		return nil, err
	}
	for _, g := range to {
		m.names = append(m.names, familyOf(t).sockaddr(g))
		m.addrs = append(m.addrs, net.UDPAddrFromAddrPort(g))
	}
	m.buffers = make([][]byte, slots)
	for i := range m.buffers {
		m.buffers[i] = make([]byte, m.segments*t.Payload)
		for s := range m.segments {
			stamp.Put(m.buffers[i][s*t.Payload:], stamp.Header{Run: run, Sender: uint16(sender)})
		}
	}
	m.batch = make([]ipv4.Message, batch)
	m.headers = make([]unix.Mmsghdr, batch)
	m.iovecs = make([]unix.Iovec, batch)
	for i := range batch {
		m.batch[i].Buffers = [][]byte{nil}
		m.headers[i].Hdr.Iov = &m.iovecs[i]
		m.headers[i].Hdr.Iovlen = 1
		m.headers[i].Hdr.Namelen = uint32(len(m.names[0]))
	}
	return m, nil
}

// prepare numbers the next k messages from seq on, in the slots from slot on, and addresses them to the groups
// in turn. Each datagram of a message has its own number.
func (m *messages) prepare(k, slot int, seq uint64, ns int64) {
	for i := range k {
		b := m.buffers[(slot+i)%len(m.buffers)]
		for s := range m.segments {
			stamp.PutSeq(b[s*m.payload:], seq, uint64(ns))
			seq++
		}
		g := (m.group + i) % len(m.names)
		m.batch[i].Buffers[0] = b
		m.batch[i].Addr = m.addrs[g]
		m.iovecs[i].Base = &b[0]
		m.iovecs[i].SetLen(len(b))
		m.headers[i].Hdr.Name = &m.names[g][0]
	}
}

// sent moves on by n messages.
func (m *messages) sent(n int) { m.group = (m.group + n) % len(m.names) }
