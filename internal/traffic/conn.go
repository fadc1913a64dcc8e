package traffic

import (
	"net"
	"syscall"

	"golang.org/x/net/ipv4"
)

// conn gives x/net a socket that is not in the runtime's poller. A socket in it would wake an epoll thread for
// each message of the error queue and each time the send buffer gets room, beside the sender it disturbs.
type conn struct {
	*net.UDPConn // nil: it only makes conn the type that x/net asks for; each method it calls is below
	raw          rawConn
}

var (
	_ net.PacketConn = conn{}
	_ net.Conn       = conn{}
	_ syscall.Conn   = conn{}
)

// packetConn is a socket as x/net has it.
func packetConn(fd int) *ipv4.PacketConn { return ipv4.NewPacketConn(conn{raw: rawConn(fd)}) }

// SyscallConn is how x/net gets at the socket.
func (c conn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

// LocalAddr is asked for by x/net when it makes an error.
func (c conn) LocalAddr() net.Addr { return noAddr }

var noAddr = &net.UDPAddr{}

// rawConn is a socket. With MSG_DONTWAIT there is never anything to wait for, so Read and Write call f once.
type rawConn uintptr

var _ syscall.RawConn = rawConn(0)

// Control calls f with the socket.
func (c rawConn) Control(f func(uintptr)) error { f(uintptr(c)); return nil }

// Read calls f with the socket, once.
func (c rawConn) Read(f func(uintptr) bool) error { f(uintptr(c)); return nil }

// Write calls f with the socket, once.
func (c rawConn) Write(f func(uintptr) bool) error { f(uintptr(c)); return nil }
