package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// serve waits for QEMU, which leads the process group, and does what it asks until it hangs up.
func (v *vhost) serve(group int) {
	c, err := v.dial.accept(group)
	if err != nil {
		return // hangUp ended it: QEMU is gone
	}
	defer c.Close()
	if err := v.answer(c); err != nil {
		v.failed(&QEMUError{Err: fmt.Errorf("its vhost-user connection of eth%d: %w", v.nic, err)})
	}
}

// answer does what is asked until the connection ends, whatever ended it: of QEMU's end its owner knows more.
func (v *vhost) answer(c *net.UnixConn) error {
	for {
		m, err := readMessage(c)
		if hungUp(err) {
			return nil
		}
		if err != nil {
			return err
		}
		reply, err := v.do(&m)
		m.closeFDs()
		if err != nil {
			return err
		}
		if reply == nil && m.flags&flagNeedReply != 0 {
			reply = number(0) // done
		}
		if reply == nil {
			continue
		}
		if _, err := c.Write(m.answer(reply)); err != nil {
			return nil
		}
	}
}

// hungUp tells whether an error is that of a connection's end, on whichever side.
func hungUp(err error) bool {
	var broken *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &broken)
}

func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// do does one request, and gives the body of its reply where it has one of its own.
func (v *vhost) do(m *message) (reply []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch m.request {
	case getFeatures:
		return number(offered), nil
	case getProtocolFeatures:
		return number(offeredProtocol), nil
	case getQueueNum:
		return number(uint64(v.queues)), nil
	case setOwner, resetOwner, setProtocolFeatures, setVringErr:
		return nil, nil
	case setFeatures:
		v.features, err = m.number()
		return nil, err
	case setMemTable:
		return nil, v.setMemory(m)
	}
	do, known := ringRequests[m.request]
	if !known {
		return nil, fmt.Errorf("request %d, which needs a feature that was not offered", m.request)
	}
	return do(v, m)
}

// ringRequests are those about one ring.
var ringRequests = map[request]func(*vhost, *message) ([]byte, error){
	setVringAddr: func(v *vhost, m *message) ([]byte, error) {
		index, addr, err := m.address()
		r, err := v.ringOf(index, err)
		if err != nil {
			return nil, err
		}
		r.addr = addr
		return nil, v.restart(r)
	},
	setVringKick: func(v *vhost, m *message) ([]byte, error) {
		r, err := v.ringWithFile(m)
		if err != nil {
			return nil, err
		}
		r.stop()
		if r.kick = m.takeEvent(); r.kick < 0 {
			return nil, fmt.Errorf("a ring without an eventfd, to be polled")
		}
		if v.features&featureVersion1 == 0 {
			return nil, fmt.Errorf("the guest's virtio_net does not know virtio 1.0")
		}
		if v.features&featureProtocol == 0 {
			r.enabled = true
		}
		if v.broken {
			return nil, nil
		}
		return nil, r.start(v.mem)
	},
	setVringCall: func(v *vhost, m *message) ([]byte, error) {
		r, err := v.ringWithFile(m)
		if err == nil {
			r.setCall(m.takeEvent())
		}
		return nil, err
	},
	setVringNum: func(v *vhost, m *message) ([]byte, error) {
		index, size, err := m.state()
		r, err := v.ringOf(index, err)
		if err == nil {
			r.size = int(size)
		}
		return nil, err
	},
	setVringBase: func(v *vhost, m *message) ([]byte, error) {
		index, base, err := m.state()
		r, err := v.ringOf(index, err)
		if err == nil {
			r.base = uint16(base)
		}
		return nil, err
	},
	getVringBase: func(v *vhost, m *message) ([]byte, error) {
		index, _, err := m.state()
		r, err := v.ringOf(index, err)
		if err != nil {
			return nil, err
		}
		r.stop()
		return number(uint64(r.base)<<32 | uint64(index)), nil
	},
	setVringEnable: func(v *vhost, m *message) ([]byte, error) {
		index, on, err := m.state()
		r, err := v.ringOf(index, err)
		if err == nil {
			r.enabled = on != 0
		}
		return nil, err
	},
}

// ringOf gives the ring of that index. err is that of reading it.
func (v *vhost) ringOf(index int, err error) (*vring, error) {
	if err == nil && (index < 0 || index >= len(v.rings)) {
		err = fmt.Errorf("ring %d of %d", index, len(v.rings))
	}
	if err != nil {
		return nil, err
	}
	return &v.rings[index], nil
}

// ringWithFile gives the ring of a message whose number's low byte is its index, the rest tells whether a file came.
func (v *vhost) ringWithFile(m *message) (*vring, error) {
	n, err := m.number()
	return v.ringOf(int(n&0xff), err)
}

// restart lets a ring that runs go on at new addresses.
func (v *vhost) restart(r *vring) error {
	if !r.started {
		return nil
	}
	return r.start(v.mem)
}

// setMemory takes over the guest's memory; rings that run go on in it.
func (v *vhost) setMemory(m *message) error {
	mem, err := m.memory()
	if err != nil {
		return err
	}
	old := v.mem
	v.mem = mem
	defer old.unmap()
	for i := range v.rings {
		if err := v.restart(&v.rings[i]); err != nil {
			v.rings[i].started = false
			return err
		}
	}
	return nil
}
