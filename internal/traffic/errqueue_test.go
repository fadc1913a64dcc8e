package traffic

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// control builds one control message as the kernel does.
func control(level, kind int32, data []byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	binary.NativeEndian.PutUint64(b, uint64(unix.CmsgLen(len(data))))
	binary.NativeEndian.PutUint32(b[8:], uint32(level))
	binary.NativeEndian.PutUint32(b[12:], uint32(kind))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

// extended is a struct sock_extended_err and the address that follows it.
func extended(f *family, origin, code uint8, info, data uint32) []byte {
	b := make([]byte, 32)
	b[4], b[6] = origin, code
	binary.NativeEndian.PutUint32(b[8:], info)
	binary.NativeEndian.PutUint32(b[12:], data)
	return control(int32(f.level), int32(f.recverr), b)
}

func TestErrqueueParses(t *testing.T) {
	stamp := control(unix.SOL_SOCKET, unix.SCM_TIMESTAMPING, make([]byte, 48))
	for _, c := range []struct {
		name                           string
		family                         *family
		in                             []byte
		timestamps, zerocopied, copied uint64
	}{
		{name: "a timestamp", family: &inet4, in: append(stamp[:len(stamp):len(stamp)], extended(&inet4, originTimestamping, 0, 0, 5)...), timestamps: 1},
		{name: "a timestamp of IPv6", family: &inet6, in: append(stamp[:len(stamp):len(stamp)], extended(&inet6, originTimestamping, 0, 0, 5)...), timestamps: 1},
		{name: "zerocopy, five sends", family: &inet4, in: extended(&inet4, originZeroCopy, 0, 3, 7), zerocopied: 5},
		{name: "zerocopy over the wrap", family: &inet6, in: extended(&inet6, originZeroCopy, codeCopied, 0xffffffff, 1), copied: 3},
		{name: "of the other family", family: &inet6, in: extended(&inet4, originZeroCopy, 0, 3, 7)},
		{name: "an ICMP error", family: &inet4, in: extended(&inet4, unix.SO_EE_ORIGIN_ICMP, 1, 0, 0)},
		{name: "nothing", family: &inet4, in: nil},
		{name: "cut short", family: &inet4, in: extended(&inet4, originTimestamping, 0, 0, 5)[:20]},
		{name: "a length of 0", family: &inet4, in: make([]byte, 64)},
	} {
		q := errqueue{family: c.family}
		q.parse(c.in)
		if q.timestamps != c.timestamps || q.zerocopied != c.zerocopied || q.copied != c.copied {
			t.Errorf("%s: %d timestamps, %d zerocopied, %d copied", c.name, q.timestamps, q.zerocopied, q.copied)
		}
	}
}

// An error that an earlier packet left pending fails one later send, which is counted, and no more than that.
func TestPendingErrorsAreCounted(t *testing.T) {
	inBoth(t, func(t *testing.T, l line) {
		nobody := map[*family]string{&inet4: "10.66.0.9", &inet6: "2001:db8::9"}[l.family]
		if l.family == &inet4 {
			addr, err := netlink.ParseAddr("10.66.0.1/24")
			if err != nil {
				t.Fatal(err)
			}
			if err := netlink.AddrAdd(l.tx, addr); err != nil {
				t.Fatal(err)
			}
		}
		lo, err := netlink.LinkByName("lo") // the way the report comes
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetUp(lo); err != nil {
			t.Fatal(err)
		}
		// Nobody answers for this address: packets wait for their neighbour, charged to the socket, and are then
		// reported unreachable.
		sysctlSet(t, map[*family]string{&inet4: "net.ipv4", &inet6: "net.ipv6"}[l.family]+".neigh.tx.retrans_time_ms", "20")
		cfg := l.config(func(s *scenarios.Traffic) {
			s.Groups, s.Duration = scenarios.Groups{nobody}, scenarios.Duration(500*time.Millisecond)
			s.Socket.SndBuf = 16384
		})
		s := run(t, cfg)[0]
		if s.Other["EHOSTUNREACH"] == 0 {
			t.Errorf("%+v: want EHOSTUNREACH from packets that were given up", s)
		}
		if s.OK < 2*s.Other["EHOSTUNREACH"] {
			t.Errorf("%d sends and %d errors: an error seems to fail more than one send", s.OK, s.Other["EHOSTUNREACH"])
		}
		if s.Seqs != s.OK+s.ENOBUFS {
			t.Errorf("%d numbers used for %d sends and %d drops", s.Seqs, s.OK, s.ENOBUFS)
		}
	})
}
