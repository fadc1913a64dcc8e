package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// request is what QEMU asks of a vhost-user back-end (docs/interop/vhost-user.rst of QEMU). Numbers are
// in the byte order of the machine, which is little endian wherever QEMU runs this: as virtio 1.0 is.
type request uint32

// The requests that QEMU makes of a network back-end with the features below.
const (
	getFeatures         request = 1
	setFeatures         request = 2
	setOwner            request = 3
	resetOwner          request = 4
	setMemTable         request = 5
	setVringNum         request = 8
	setVringAddr        request = 9
	setVringBase        request = 10
	getVringBase        request = 11
	setVringKick        request = 12
	setVringCall        request = 13
	setVringErr         request = 14
	getProtocolFeatures request = 15
	setProtocolFeatures request = 16
	getQueueNum         request = 17
	setVringEnable      request = 18
)

// Features of the device, and of the protocol, by bit.
const (
	featureMQ       = 1 << 22 // VIRTIO_NET_F_MQ
	featureIndirect = 1 << 28 // VIRTIO_RING_F_INDIRECT_DESC
	featureProtocol = 1 << 30 // VHOST_USER_F_PROTOCOL_FEATURES
	featureVersion1 = 1 << 32 // VIRTIO_F_VERSION_1

	protocolMQ       = 1 << 0
	protocolReplyAck = 1 << 3

	// offered leaves out every offload: a frame in the ring is a frame on the wire.
	offered         = featureMQ | featureIndirect | featureProtocol | featureVersion1
	offeredProtocol = protocolMQ | protocolReplyAck
)

const (
	messageHead    = 12 // request, flags, size
	messageVersion = 1
	versionMask    = 3
	flagReply      = 1 << 2
	flagNeedReply  = 1 << 3
	messageMost    = 4096 // bytes; the longest of those above is a table of 8 regions
	fdsMost        = 8
	regionsMost    = 8
)

// message is one message of the control connection.
type message struct {
	request request
	flags   uint32
	body    []byte
	fds     []int // owned by whoever has the message
}

// readMessage reads QEMU's next message. io.EOF: QEMU hung up.
func readMessage(c *net.UnixConn) (message, error) {
	var head [messageHead]byte
	oob := make([]byte, unix.CmsgSpace(4*fdsMost))
	n, oobn, _, _, err := c.ReadMsgUnix(head[:], oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return message{}, err
	}
	m := message{}
	if m.fds, err = descriptors(oob[:oobn]); err != nil {
		return m, err
	}
	if _, err := io.ReadFull(c, head[n:]); err != nil {
		m.closeFDs()
		return m, err
	}
	m.request = request(binary.LittleEndian.Uint32(head[0:]))
	m.flags = binary.LittleEndian.Uint32(head[4:])
	size := binary.LittleEndian.Uint32(head[8:])
	if m.flags&versionMask != messageVersion || size > messageMost {
		m.closeFDs()
		return m, fmt.Errorf("a message with flags %#x and %d bytes", m.flags, size)
	}
	m.body = make([]byte, size)
	if _, err := io.ReadFull(c, m.body); err != nil {
		m.closeFDs()
		return m, err
	}
	return m, nil
}

// descriptors are the file descriptors that came along with a message.
func descriptors(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	controls, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var all []int
	for i := range controls {
		fds, err := unix.ParseUnixRights(&controls[i])
		if errors.Is(err, unix.EINVAL) {
			continue // of another kind
		}
		if err != nil {
			return nil, err
		}
		all = append(all, fds...)
	}
	return all, nil
}

func (m *message) closeFDs() {
	for _, fd := range m.fds {
		unix.Close(fd)
	}
	m.fds = nil
}

// takeEvent gives the message's eventfd away; -1 when it has none.
func (m *message) takeEvent() int {
	if len(m.fds) == 0 {
		return -1
	}
	fd := m.fds[0]
	m.fds = m.fds[1:]
	_ = unix.SetNonblock(fd, true) // QEMU's are already
	return fd
}

// answer is the reply to m with a body.
func (m message) answer(body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(m.request))
	b = binary.LittleEndian.AppendUint32(b, messageVersion|flagReply)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

// number reads a body that is one 64-bit number.
func (m message) number() (uint64, error) {
	if len(m.body) != 8 {
		return 0, fmt.Errorf("request %d with %d bytes", m.request, len(m.body))
	}
	return binary.LittleEndian.Uint64(m.body), nil
}

// state reads a body that is the index of a ring and a number.
func (m message) state() (index int, number uint32, err error) {
	if len(m.body) != 8 {
		return 0, 0, fmt.Errorf("request %d with %d bytes", m.request, len(m.body))
	}
	return int(binary.LittleEndian.Uint32(m.body)), binary.LittleEndian.Uint32(m.body[4:]), nil
}

// ringAddress is where a ring's parts are, at QEMU's addresses.
type ringAddress struct{ desc, used, avail uint64 }

// address reads the body of setVringAddr: index, flags, descriptors, used, available, log.
func (m message) address() (index int, a ringAddress, err error) {
	const size = 40
	if len(m.body) != size {
		return 0, a, fmt.Errorf("request %d with %d bytes", m.request, len(m.body))
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(m.body[i:]) }
	return int(binary.LittleEndian.Uint32(m.body)), ringAddress{desc: at(8), used: at(16), avail: at(24)}, nil
}

// memory maps the regions of a setMemTable: their number, then for each the guest's address, size, QEMU's address and
// offset in its file.
func (m message) memory() (mem memory, err error) {
	const head, size = 8, 32
	if len(m.body) < head {
		return nil, fmt.Errorf("request %d with %d bytes", m.request, len(m.body))
	}
	count := int(binary.LittleEndian.Uint32(m.body))
	if count > regionsMost || len(m.body) < head+count*size || len(m.fds) != count {
		return nil, fmt.Errorf("a table of %d memory regions with %d files in %d bytes", count, len(m.fds), len(m.body))
	}
	for i := range count {
		b := m.body[head+i*size:]
		at := func(j int) uint64 { return binary.LittleEndian.Uint64(b[8*j:]) }
		r, err := mapRegion(at(0), at(2), at(1), at(3), m.fds[i])
		if err != nil {
			mem.unmap()
			return nil, err
		}
		mem = append(mem, r)
	}
	return mem, nil
}
