package vm

import (
	"crypto/rand"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// dial is where QEMU reaches a vhost-user back-end of ours: an abstract socket, which is in no file system. QEMU takes
// no inherited socket for vhost-user (qmp_chardev_open_socket, chardev/char-socket.c).
type dial struct {
	name     string // without the leading zero byte
	listener *net.UnixListener

	mu    sync.Mutex
	conn  *net.UnixConn // nil before QEMU came
	ended bool
}

func newDial() (*dial, error) {
	d := &dial{name: "bondrepro-" + rand.Text()}
	var err error
	d.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: "@" + d.name, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make the socket of a line: %w", err)
	}
	return d, nil
}

// accept waits for QEMU, the leader of the process group, and turns others away. It ends with hangUp.
func (d *dial) accept(group int) (*net.UnixConn, error) {
	defer d.listener.Close()
	for {
		c, err := d.listener.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if !inGroup(c, group) {
			c.Close()
			continue
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.ended {
			c.Close()
			return nil, net.ErrClosed
		}
		d.conn = c
		return c, nil
	}
}

// inGroup tells whether the other side is a process of the group.
func inGroup(c *net.UnixConn, group int) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	ours := false
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return
		}
		pgid, err := unix.Getpgid(int(peer.Pid))
		ours = err == nil && pgid == group
	})
	return err == nil && ours
}

// hangUp ends accept and the connection. It may be called again.
func (d *dial) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.listener.Close()
	if d.conn != nil {
		d.conn.Close()
	}
}
