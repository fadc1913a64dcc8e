package qdiscstat

import (
	"bytes"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nameAge is how long a device's name is believed: a dump of qdiscs has no names, and asking for each at each
// poll would cost as much as the dump.
const nameAge = time.Second

type name struct {
	text string
	read time.Time
}

// ifreq is struct ifreq (netdevice(7)): a name and a union that begins with ifr_ifindex.
type ifreq struct {
	name  [unix.IFNAMSIZ]byte
	index int32
	_     [20]byte
}

func (c *Conn) ioctl(req uintptr, ifr *ifreq) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.fd), req, uintptr(unsafe.Pointer(ifr)))
	if errno != 0 {
		return errno
	}
	return nil
}

// device is the name of an interface, "" when it is gone.
func (c *Conn) device(ifindex int, now time.Time) string {
	known := c.names[ifindex]
	if !known.read.IsZero() && now.Sub(known.read) < nameAge {
		return known.text
	}
	ifr := ifreq{index: int32(ifindex)}
	if c.ioctl(unix.SIOCGIFNAME, &ifr) != nil {
		delete(c.names, ifindex)
		return ""
	}
	if fresh := text(ifr.name[:]); !bytes.Equal(fresh, []byte(known.text)) {
		known.text = string(fresh)
	}
	known.read = now
	c.names[ifindex] = known
	return known.text
}

// Ifindex finds an interface by name, in the namespace of the Conn.
func (c *Conn) Ifindex(name string) (int, error) {
	var ifr ifreq
	if name == "" || len(name) >= len(ifr.name) {
		return 0, fmt.Errorf("find interface %q: a name has 1 to %d bytes", name, len(ifr.name)-1)
	}
	copy(ifr.name[:], name)
	if err := c.ioctl(unix.SIOCGIFINDEX, &ifr); err != nil {
		return 0, fmt.Errorf("find interface %q: %w", name, err)
	}
	return int(ifr.index), nil
}
