package traffic

import (
	"net"
	"syscall"
)

// conn gives x/net a socket that is not in the runtime's poller. A socket in it would wake an epoll thread for
// each message of the error queue and each time the send buffer gets room, beside the sender it disturbs.
type conn struct {
	*net.UDPConn // nil: it only makes conn the type that x/net asks for; each method it calls is below
	fd           uintptr
}

var (
	_ net.PacketConn  = (*conn)(nil)
	_ syscall.Conn    = (*conn)(nil)
	_ syscall.RawConn = (*conn)(nil)
)

// SyscallConn returns the connection itself.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return c, nil }

// LocalAddr is asked for by x/net when it makes an error.
func (c *conn) LocalAddr() net.Addr { return noAddr }

var noAddr = &net.UDPAddr{}

// Control calls f with the socket.
func (c *conn) Control(f func(uintptr)) error { f(c.fd); return nil }

// Read calls f once: with MSG_DONTWAIT there is never anything to wait for.
func (c *conn) Read(f func(uintptr) bool) error { f(c.fd); return nil }

// Write calls f once, as Read does.
func (c *conn) Write(f func(uintptr) bool) error { f(c.fd); return nil }
