package traffic

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

type wanted struct {
	name       string
	level, opt int
	want       int
}

var perFamily = map[*family][]wanted{
	&inet4: {
		{"IP_RECVERR", unix.IPPROTO_IP, unix.IP_RECVERR, 1},
		{"IP_MULTICAST_TTL", unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, 1},
		{"IP_MULTICAST_LOOP", unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, 0},
	},
	&inet6: {
		{"IPV6_RECVERR", unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1},
		{"IPV6_MULTICAST_HOPS", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, 1},
		{"IPV6_MULTICAST_LOOP", unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP, 0},
	},
}

func TestOptionsReadBack(t *testing.T) {
	inBoth(t, func(t *testing.T, l line) {
		g, err := Open(l.config(func(s *scenarios.Traffic) {
			s.Senders = 2
			s.Socket = scenarios.Socket{Blocking: true, SndBuf: 65536, Priority: 6, TxTimestamping: true, ZeroCopy: true, GSO: 3,
				MaxPacingRate: scenarios.Rate{BitsPerSecond: 80e9}}
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close() }()
		for _, s := range g.senders {
			for _, c := range []wanted{
				{"SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, 65536},
				{"SO_PRIORITY", unix.SOL_SOCKET, unix.SO_PRIORITY, 6},
				{"SO_ZEROCOPY", unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1},
				{"SO_TIMESTAMPING", unix.SOL_SOCKET, unix.SO_TIMESTAMPING, txTimestamping},
				{"UDP_SEGMENT", unix.IPPROTO_UDP, unix.UDP_SEGMENT, 1000},
			} {
				if got, err := unix.GetsockoptInt(s.fd, c.level, c.opt); err != nil || got != c.want {
					t.Errorf("%s is %d (%v), want %d", c.name, got, err, c.want)
				}
			}
			for _, c := range perFamily[l.family] {
				if got, err := unix.GetsockoptInt(s.fd, c.level, c.opt); err != nil || got != c.want {
					t.Errorf("%s is %d (%v), want %d", c.name, got, err, c.want)
				}
			}
			if got, err := unix.GetsockoptUint64(s.fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE); err != nil || got != 10e9 {
				t.Errorf("SO_MAX_PACING_RATE is %d (%v), want 10e9 bytes a second", got, err)
			}
			if flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
				t.Errorf("flags %#x (%v), want no O_NONBLOCK", flags, err)
			}
		}
	})
}

func TestNonBlockingHasTheFlag(t *testing.T) {
	inNamespace(t, func(t *testing.T, l line) {
		g, err := Open(l.config(func(s *scenarios.Traffic) { s.Socket.Blocking = false }))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close() }()
		if flags, err := unix.FcntlInt(uintptr(g.senders[0].fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
			t.Errorf("flags %#x (%v), want O_NONBLOCK", flags, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		drop    []int // capabilities to do without
		change  func(*Config)
		errno   error
		message string // what it begins with
	}{
		{name: "sndbuf beyond wmem_max", change: func(c *Config) { c.Traffic.Socket.SndBuf = 1 << 30 },
			message: "traffic.socket.sndbuf: 1073741824 bytes can't be had (SO_SNDBUF): the kernel made it "},
		{name: "odd sndbuf", change: func(c *Config) { c.Traffic.Socket.SndBuf = 65537 },
			message: "traffic.socket.sndbuf: 65537 bytes can't be had (SO_SNDBUF): the kernel made it 65536 bytes, an even number"},
		{name: "sndbuf_force without the right", drop: []int{unix.CAP_NET_ADMIN}, change: func(c *Config) { c.Traffic.Socket.SndBufForce = 64 << 20 }, errno: unix.EPERM,
			message: "traffic.socket.sndbuf_force: 67108864 bytes can't be had (SO_SNDBUFFORCE): operation not permitted (EPERM): it needs CAP_NET_ADMIN"},
		{name: "priority without the right", drop: []int{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW}, change: func(c *Config) { c.Traffic.Socket.Priority = 15 }, errno: unix.EPERM,
			message: "traffic.socket.priority: 15 can't be had (SO_PRIORITY): operation not permitted (EPERM): values beyond 0..6 need CAP_NET_ADMIN or CAP_NET_RAW"},
		{name: "no such interface", change: func(c *Config) { c.Ifindex = 9999 }, errno: unix.EADDRNOTAVAIL,
			message: "traffic: interface 9999 can't be had (IP_MULTICAST_IF): cannot assign requested address (EADDRNOTAVAIL)"},
		{name: "payload too small", change: func(c *Config) { c.Traffic.Payload = 31 },
			message: "traffic.payload: 31 can't be had: the header of each payload takes 32 bytes"},
		{name: "gso too large", change: func(c *Config) { c.Traffic.Socket.GSO = 66 },
			message: "traffic.payload: 1000 can't be had: a send of 66 segments is 66000 bytes, and UDP takes at most 65507"},
		{name: "no batch", change: func(c *Config) { c.Traffic.Batch = 0 }, message: "traffic.batch: 0 can't be had: it must be 1 to 1024"},
		{name: "zerocopy in batches", change: func(c *Config) { c.Traffic.Socket.ZeroCopy, c.Traffic.Batch = true, 8 },
			message: "traffic.batch: 8 can't be had: with zerocopy it must be 1"},
		{name: "an IPv6 group after one of IPv4", change: func(c *Config) { c.Traffic.Groups = scenarios.Groups{"239.66.1.1", "ff02::1"} },
			message: "traffic.groups: ff02::1 can't be had: an IPv4 address is needed, as all groups are of the first one's family"},
		{name: "an IPv4 group after one of IPv6", change: func(c *Config) { c.Traffic.Groups = scenarios.Groups{"ff02::1", "239.66.1.1"} },
			message: "traffic.groups: 239.66.1.1 can't be had: an IPv6 address without a zone is needed"},
		{name: "a mapped address", change: func(c *Config) { c.Traffic.Groups = scenarios.Groups{"::ffff:239.66.1.1"} },
			message: "traffic.groups: ::ffff:239.66.1.1 can't be had: an IPv6 address without a zone is needed"},
		{name: "IPv6 off on the interface", change: func(c *Config) { c.Traffic.Groups = scenarios.Groups{"ff15::1"} }, errno: unix.EADDRNOTAVAIL,
			message: "traffic.groups: ff15::1 from interface 3 can't be had (connect): cannot assign requested address (EADDRNOTAVAIL): the interface needs an address"},
		{name: "gso too large for IPv6", change: func(c *Config) {
			c.Traffic.Groups, c.Traffic.Payload, c.Traffic.Socket.GSO = scenarios.Groups{"ff15::1"}, 32764, 2
		}, message: "traffic.payload: 32764 can't be had: a send of 2 segments is 65528 bytes, and UDP takes at most 65527"},
		{name: "bursts without a period", change: func(c *Config) { c.Traffic.Burst.Packets = 1 },
			message: "traffic.burst.every: 0s can't be had: it must be more than 0"},
		{name: "a burst of parts of sends", change: func(c *Config) { c.Traffic.Burst, c.Traffic.Socket.GSO = scenarios.Burst{Packets: 10, Every: 1}, 4 },
			message: "traffic.burst.packets: 10 can't be had: a burst is whole sends, and traffic.socket.gso makes each send 4 packets"},
		{name: "no group", change: func(c *Config) { c.Traffic.Groups = nil }, message: "traffic.groups: an empty list can't be had"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inNamespace(t, func(t *testing.T, l line) {
				cfg := l.config(nil)
				c.change(&cfg)
				for _, capability := range c.drop {
					without(t, capability)
				}
				g, err := Open(cfg)
				if err == nil {
					_ = g.Close()
					t.Fatal("accepted")
				}
				var refused *OptionError
				if !errors.As(err, &refused) || !errors.Is(err, c.errno) && c.errno != nil {
					t.Errorf("%#v is no OptionError with %v", err, c.errno)
				}
				if !strings.HasPrefix(err.Error(), c.message) {
					t.Errorf("message\n got %s\nwant %s…", err, c.message)
				}
			})
		})
	}
}

// A sender that can't be opened must not leave the sockets of those before it open.
func TestOpenClosesWhatItOpened(t *testing.T) {
	inNamespace(t, func(t *testing.T, l line) {
		next := func() int {
			fd, err := unix.Dup(0)
			if err != nil {
				t.Fatal(err)
			}
			_ = unix.Close(fd)
			return fd
		}
		before := next()
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		lower := limit
		lower.Cur = uint64(before + 3)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lower); err != nil {
			t.Fatal(err)
		}
		_, err := Open(l.config(func(s *scenarios.Traffic) { s.Senders = 8 }))
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(err, unix.EMFILE) {
			t.Fatalf("%v, want EMFILE", err)
		}
		if after := next(); after != before {
			t.Errorf("the lowest free descriptor went from %d to %d", before, after)
		}
	})
}

// without takes a capability from the calling thread, which is about to end.
func without(t *testing.T, capability int) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	data[capability/32].Effective &^= 1 << (capability % 32)
	if err := unix.Capset(&header, &data[0]); err != nil {
		t.Fatal(fmt.Errorf("capset: %w", err))
	}
}
