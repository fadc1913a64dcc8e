package traffic

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
)

// ethernet is a frame of an EtherType to the group's MAC address.
func ethernet(etherType uint16, parts ...[]byte) []byte {
	b := append([]byte{0x01, 0x00, 0x5e, 0x42, 0x01, 0x01, 0x02, 0, 0, 0, 0, 1}, byte(etherType>>8), byte(etherType))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// packet4 is a packet from 10.66.0.1 to 239.66.1.1 with so many 32-bit words of options. Its header's checksum is wrong:
// the packet socket comes first.
func packet4(protocol byte, fragment uint16, options int, body []byte) []byte {
	b := make([]byte, ipv4Header+4*options)
	b[0], b[8], b[9] = byte(0x45+options), 1, protocol
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(body)))
	binary.BigEndian.PutUint16(b[6:], fragment)
	copy(b[12:], []byte{10, 66, 0, 1, 239, 66, 1, 1})
	return append(b, body...)
}

func packet6(next byte, body []byte) []byte {
	b := make([]byte, ipv6Header)
	b[0], b[6], b[7] = 0x60, next, 1
	binary.BigEndian.PutUint16(b[4:], uint16(len(body)))
	from, to := netip.MustParseAddr("2001:db8::1").As16(), netip.MustParseAddr("ff15::6601").As16()
	copy(b[8:], from[:])
	copy(b[24:], to[:])
	return append(b, body...)
}

func udp(port uint16) []byte {
	b := make([]byte, udpHeader+stamp.Size)
	binary.BigEndian.PutUint16(b[2:], port)
	binary.BigEndian.PutUint16(b[4:], uint16(len(b)))
	stamp.Put(b[udpHeader:], stamp.Header{Run: 7, Seq: 1})
	return b
}

func TestForeignFrames(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(1)
		r := p.listen(t, traffic)
		time.Sleep(50 * time.Millisecond) // what the interface says of itself when it is new
		r.Begin(7)
		own := map[*family][][]byte{ // these the UDP sockets would hear, were their checksums right
			&inet4: {ethernet(unix.ETH_P_IP, packet4(17, 0x4000, 0, udp(6000))), ethernet(unix.ETH_P_IP, packet4(17, 0, 2, udp(6000)))},
			&inet6: {ethernet(unix.ETH_P_IPV6, packet6(17, udp(6000)))},
		}
		other := map[*family][]byte{&inet4: own[&inet6][0], &inet6: own[&inet4][0]}[p.family]
		otherKind := map[*family]stamp.Kind{&inet4: stamp.UDP6, &inet6: stamp.UDP4}[p.family]
		want := map[string]uint64{}
		var wantBytes uint64
		for _, x := range []struct {
			kind  stamp.Kind
			frame []byte
		}{
			{stamp.ARP, ethernet(unix.ETH_P_ARP, make([]byte, 28))},
			{stamp.ARP, ethernet(unix.ETH_P_ARP, make([]byte, 28))},
			{stamp.LACP, ethernet(unix.ETH_P_SLOW, make([]byte, 110))},
			{stamp.IGMP, ethernet(unix.ETH_P_IP, packet4(2, 0, 1, make([]byte, 8)))},
			{stamp.ICMP, ethernet(unix.ETH_P_IP, packet4(1, 0, 0, make([]byte, 8)))},
			{stamp.UDP4, ethernet(unix.ETH_P_IP, packet4(17, 0, 0, udp(6001)))},
			{stamp.IPv4, ethernet(unix.ETH_P_IP, packet4(17, 0x2000, 0, udp(6000)))}, // fragments
			{stamp.IPv4, ethernet(unix.ETH_P_IP, packet4(17, 0x0001, 0, udp(6000)))},
			{stamp.UDP6, ethernet(unix.ETH_P_IPV6, packet6(17, udp(6001)))},
			{stamp.ND, ethernet(unix.ETH_P_IPV6, packet6(58, []byte{135, 0, 0, 0}))},
			{otherKind, other},
			{stamp.Other, ethernet(0x1234, make([]byte, 46))},
			{stamp.Other, ethernet(0x1234, make([]byte, 1400))},
		} {
			p.transmit(t, x.frame)
			want[string(x.kind)]++
			wantBytes += uint64(len(x.frame))
		}
		// In a VLAN, whose tag the kernel takes out: what is inside is no datagram to the sockets.
		p.transmit(t, tagged(7, own[p.family][0]))
		want[string(stamp.VLAN)]++
		wantBytes += uint64(len(own[p.family][0]))

		for _, frame := range own[p.family] {
			p.transmit(t, frame)
			p.transmit(t, tagged(0, frame))
		}
		p.send(t, 0, traffic.Groups[0], stamp.Header{Run: 7})
		p.away(func() { p.transmitOn(t, p.rx[0], ethernet(unix.ETH_P_ARP, make([]byte, 28))) }) // not incoming

		s := settled(t, r).Slaves[0]
		delete(s.Foreign, string(stamp.MLD)) // the interface's own
		if d := cmp.Diff(want, s.Foreign); d != "" {
			t.Errorf("foreign frames (-want +got):\n%s", d)
		}
		if p.family == &inet4 && s.Bytes != wantBytes+uint64(testPayload+p.family.overhead) {
			t.Errorf("%d bytes, want %d", s.Bytes, wantBytes+uint64(testPayload+p.family.overhead))
		}
		if s.Ours != 1 || len(s.Sightings) == 0 || s.Sightings[0].AtMS >= 0 {
			t.Errorf("%+v: want one datagram, and frames seen before it", s)
		}
	})
}

// tagged puts an 802.1Q tag into a frame.
func tagged(id byte, frame []byte) []byte {
	return append(append(append([]byte{}, frame[:12]...), 0x81, 0x00, 0x00, id), frame[12:]...)
}

// Of a run in a VLAN, frames that the VLAN's sockets hear are those with its tag; all others are foreign, and are what they
// carry. What the sockets hear the guest's tests of internal/testbed tell: this takes no VLAN interface.
func TestForeignFramesOfAVLAN(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		var r *Receivers
		var err error
		p.away(func() {
			r, err = Listen(ReceiveConfig{Ifindexes: p.rx, Traffic: p.traffic(1), VLAN: 7, Members: p.rx})
		})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(50 * time.Millisecond) // what the interface says of itself when it is new
		r.Begin(7)
		own := map[*family][]byte{ // with wrong checksums
			&inet4: ethernet(unix.ETH_P_IP, packet4(17, 0x4000, 0, udp(6000))), &inet6: ethernet(unix.ETH_P_IPV6, packet6(17, udp(6000))),
		}[p.family]
		other := map[*family][]byte{
			&inet4: ethernet(unix.ETH_P_IP, packet4(17, 0x4000, 0, udp(6001))), &inet6: ethernet(unix.ETH_P_IPV6, packet6(17, udp(6001))),
		}[p.family]
		for _, frame := range [][]byte{
			tagged(7, own), tagged(7, own), tagged(7, own), // heard
			own, tagged(8, own), tagged(7, tagged(7, own)),
			tagged(7, other),
			tagged(7, ethernet(unix.ETH_P_ARP, make([]byte, 28))), ethernet(unix.ETH_P_ARP, make([]byte, 28)),
		} {
			p.transmit(t, frame)
		}
		s := settled(t, r).Slaves[0]
		delete(s.Foreign, string(stamp.MLD)) // the interface's own
		want := map[string]uint64{string(stamp.VLAN): 3, string(r.kind): 1, string(stamp.ARP): 2}
		if d := cmp.Diff(want, s.Foreign); d != "" {
			t.Errorf("foreign frames (-want +got):\n%s", d)
		}
	})
}

// A packet socket without room still counts what came.
func TestForeignFramesOverflow(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		r := p.listen(t, p.traffic(1), 4096)
		r.Begin(7)
		r.mu.Lock() // the reader reads nothing
		const sent = 30
		for range sent {
			p.transmit(t, ethernet(unix.ETH_P_ARP, make([]byte, 28)))
		}
		r.mu.Unlock()
		s := settled(t, r).Slaves[0]
		if arp, other := s.Foreign["arp"], s.Foreign["other"]; arp == 0 || other == 0 || arp+other+s.Foreign["mld"] < sent || arp+other > sent+2 || s.Overflow != 0 {
			t.Errorf("%+v: want %d frames, some of kind other and none that overflowed", s, sent)
		}
	})
}

func TestTheFilterAssembles(t *testing.T) {
	for _, f := range []*family{&inet4, &inet6} {
		if raw, err := bpf.Assemble(foreign((&twoPlaces{family: f}).traffic(1), 4094)); err != nil || len(raw) < 10 {
			t.Errorf("%s: %d instructions, %v", f.address, len(raw), err)
		}
	}
}

// transmit sends a frame out of the first line.
func (p *twoPlaces) transmit(t *testing.T, frame []byte) {
	t.Helper()
	p.transmitOn(t, p.tx[0].Attrs().Index, frame)
}

func (p *twoPlaces) transmitOn(t *testing.T, ifindex int, frame []byte) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: ifindex}); err != nil {
		t.Errorf("send a frame out of interface %d: %v", ifindex, err)
	}
}
