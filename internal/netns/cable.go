package netns

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// cable carries LACPDUs (ethertype 0x8809, IEEE 802.3 annex 57A) between two far ends, both ways, and nothing else:
// the two bonds see each other as if their slaves were joined. It works until the process ends; broken hears why when
// it stops before.
func (f *far) cable(a, b int, broken func(error)) error {
	var ends [2]*os.File
	err := f.do(func() (err error) {
		for i, ifindex := range []int{a, b} {
			if ends[i], err = openSlow(ifindex); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	go carry(ends[0], ends[1], broken)
	go carry(ends[1], ends[0], broken)
	return nil
}

// openSlow opens a packet socket that hears the slow protocols' frames of one interface. It does not hear what is
// sent there: only sockets of all protocols do (dev_queue_xmit_nit, net/core/dev.c).
func openSlow(ifindex int) (*os.File, error) {
	const object = "packet socket for LACPDUs"
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, refused("open", object, err)
	}
	// Around the qdisc, which lets nothing through (packet(7), PACKET_QDISC_BYPASS).
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		return nil, errors.Join(refused("setsockopt PACKET_QDISC_BYPASS", object, err), unix.Close(fd))
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_SLOW), Ifindex: ifindex}); err != nil {
		return nil, errors.Join(refused("bind", object, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), object), nil
}

// carry copies frames. One that can't be sent is lost, as on a cable whose other end is unplugged.
func carry(from, to *os.File, broken func(error)) {
	frame := make([]byte, 2048) // an LACPDU has 124 bytes
	for {
		n, err := from.Read(frame)
		if err != nil {
			broken(refused("read", from.Name(), err))
			return
		}
		_, _ = to.Write(frame[:n])
	}
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }
