package workload

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// connectTimeout bounds Dial.
const connectTimeout = 10 * time.Second

// pair is the two ends of one connection.
type pair struct{ client, server int }

// Client is the connections of one run, both ends of them.
type Client struct {
	spec  Spec
	pairs []pair
	ran   atomic.Bool
}

// Dial connects to the server from the calling thread's network namespace. It is called once, and ends with ctx, or after
// connectTimeout. Errors are an *Error.
func (s *Server) Dial(ctx context.Context) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c := &Client{spec: s.spec}
	for i := range s.spec.Connections {
		p, err := s.connection(ctx, i)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.pairs = append(c.pairs, p)
	}
	return c, nil
}

func (s *Server) connection(ctx context.Context, i int) (pair, error) {
	if s.spec.datagrams() {
		return s.datagramPair(ctx, i)
	}
	to, err := local(s.listener)
	if err != nil {
		return pair{}, err
	}
	fd, err := open(s.address, unix.SOCK_STREAM)
	if err != nil {
		return pair{}, err
	}
	p := pair{client: fd, server: -1}
	if p.server, err = s.join(ctx, fd, netip.AddrPortFrom(s.address, to.Port())); err != nil {
		p.close()
		return pair{}, err
	}
	return p, nil
}

// join connects a client's socket and takes the server's end of it.
func (s *Server) join(ctx context.Context, fd int, to netip.AddrPort) (server int, err error) {
	if err := connect(ctx, fd, to); err != nil {
		return -1, err
	}
	from, err := local(fd)
	if err != nil {
		return -1, err
	}
	if server, err = accept(ctx, s.listener, from); err != nil {
		return -1, err
	}
	if s.spec.Kind == Stream {
		return server, nil
	}
	if err := noDelay(fd); err != nil {
		return server, err
	}
	return server, noDelay(server)
}

// datagramPair connects a socket to the server's i-th one, and that one to it where it answers.
func (s *Server) datagramPair(ctx context.Context, i int) (pair, error) {
	if i >= len(s.datagrams) || s.datagrams[i] < 0 {
		return pair{}, fmt.Errorf("a server's sockets can be dialled once")
	}
	fd, err := open(s.address, unix.SOCK_DGRAM)
	if err != nil {
		return pair{}, err
	}
	p := pair{client: fd, server: s.datagrams[i]}
	if err := s.joinDatagrams(ctx, p); err != nil {
		unix.Close(fd)
		return pair{}, err
	}
	s.datagrams[i] = -1
	return p, nil
}

func (s *Server) joinDatagrams(ctx context.Context, p pair) error {
	at, err := local(p.server)
	if err != nil {
		return err
	}
	to := netip.AddrPortFrom(s.address, at.Port())
	if s.spec.Group.IsValid() {
		from, err := source(ctx, to)
		if err != nil {
			return err
		}
		if err := sendOutOf(p.client, from); err != nil {
			return err
		}
		to = netip.AddrPortFrom(s.spec.Group, at.Port())
	}
	if err := connect(ctx, p.client, to); err != nil {
		return err
	}
	if s.spec.Kind != RR {
		return nil
	}
	from, err := local(p.client)
	if err != nil {
		return err
	}
	return connect(ctx, p.server, from)
}

// source is the address from which the routes send to an address.
func source(ctx context.Context, to netip.AddrPort) (netip.Addr, error) {
	fd, err := open(to.Addr(), unix.SOCK_DGRAM)
	if err != nil {
		return netip.Addr{}, err
	}
	defer unix.Close(fd)
	if err := connect(ctx, fd, to); err != nil {
		return netip.Addr{}, err
	}
	from, err := local(fd)
	return from.Addr(), err
}

func (p pair) close() {
	for _, fd := range []int{p.client, p.server} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Close closes both ends of all connections. Run must have ended.
func (c *Client) Close() error {
	for _, p := range c.pairs {
		p.close()
	}
	c.pairs = nil
	return nil
}
