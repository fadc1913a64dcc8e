package traffic

import (
	"net"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// packetConn is what x/net does for a socket of either family. ipv6.Message is the same type as ipv4.Message.
type packetConn interface {
	WriteBatch(ms []ipv4.Message, flags int) (int, error)
	SetMulticastHops(n int) error
	MulticastHops() (int, error)
	SetMulticastLoopback(on bool) error
	MulticastLoopback() (bool, error)
	SetMulticastInterface(ifi *net.Interface) error
	JoinGroup(ifi *net.Interface, group net.Addr) error
}

// conn4 and conn6 give one name to what IPv4 calls TTL and IPv6 hop limit.
type (
	conn4 struct{ *ipv4.PacketConn }
	conn6 struct{ *ipv6.PacketConn }
)

var (
	_ packetConn = conn4{}
	_ packetConn = conn6{}
)

func newConn4(fd int) packetConn { return conn4{ipv4.NewPacketConn(conn{raw: rawConn(fd)})} }
func newConn6(fd int) packetConn { return conn6{ipv6.NewPacketConn(conn{raw: rawConn(fd)})} }

// SetMulticastHops is IP_MULTICAST_TTL.
func (c conn4) SetMulticastHops(n int) error { return c.SetMulticastTTL(n) }

// MulticastHops is IP_MULTICAST_TTL.
func (c conn4) MulticastHops() (int, error) { return c.MulticastTTL() }

// SetMulticastHops is IPV6_MULTICAST_HOPS.
func (c conn6) SetMulticastHops(n int) error { return c.SetMulticastHopLimit(n) }

// MulticastHops is IPV6_MULTICAST_HOPS.
func (c conn6) MulticastHops() (int, error) { return c.MulticastHopLimit() }

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
