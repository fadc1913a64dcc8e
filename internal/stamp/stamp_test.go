package stamp_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"bondrepro/internal/stamp"
)

func TestPutWritesTheDocumentedBytes(t *testing.T) {
	b := bytes.Repeat([]byte{0xff}, stamp.Size+1)
	stamp.Put(b, stamp.Header{Run: 0x01020304, Sender: 0x0506, Seq: 0x0708090a0b0c0d0e, TimeNS: 0x1112131415161718})
	const want = "424e4452" + "0001" + "0506" + "01020304" + "00000000" + "0708090a0b0c0d0e" + "1112131415161718" + "ff"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("Put wrote\n%s, want\n%s", got, want)
	}
}

func TestParseReadsWhatPutWrote(t *testing.T) {
	b := make([]byte, stamp.Size)
	stamp.Put(b, stamp.Header{Run: 7, Sender: 3, Seq: 1, TimeNS: 2})
	stamp.PutSeq(b, 1<<40, 99)
	got, ok := stamp.Parse(b)
	if want := (stamp.Header{Run: 7, Sender: 3, Seq: 1 << 40, TimeNS: 99}); !ok || got != want {
		t.Errorf("Parse = %+v, %v, want %+v", got, ok, want)
	}
}

func TestParseRefusesWhatIsNotOurs(t *testing.T) {
	good := make([]byte, stamp.Size)
	stamp.Put(good, stamp.Header{})
	otherMagic, otherVersion := bytes.Clone(good), bytes.Clone(good)
	otherMagic[0]++
	otherVersion[5]++
	for name, b := range map[string][]byte{"empty": nil, "short": good[:stamp.Size-1], "magic": otherMagic, "version": otherVersion} {
		if _, ok := stamp.Parse(b); ok {
			t.Errorf("%s: Parse accepted it", name)
		}
	}
}

// Frames are written as hex: Ethernet addresses, then what matters.
const (
	addresses = "01005e420101" + "525400b04d01"
	ipHead    = "4500" + "0020" + "0000" + "%FRAG%" + "40" + "%PROTO%" + "0000" + "0a000001" + "ef420101"
	udp4      = "c350" + "1770" + "000c" + "0000" + "deadbeef" // port 6000, 4 bytes
)

func frame(t *testing.T, hexes ...string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(hexes, ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ip(proto, frag string) string {
	return strings.NewReplacer("%FRAG%", frag, "%PROTO%", proto).Replace(ipHead)
}

func ip6(length, next string) string {
	return "60000000" + length + next + "01" + "20010db8000000000000000000000001" + "ff0e0000000000000000000000000101"
}

func TestFind(t *testing.T) {
	tests := []struct {
		name  string
		frame []byte
		kind  stamp.Kind
		ours  bool
		vlan  int
	}{
		{"udp", frame(t, addresses, "0800", ip("11", "4000"), udp4), stamp.UDP4, true, 0},
		{"udp with trailing pad", frame(t, addresses, "0800", ip("11", "0000"), udp4, "00000000"), stamp.UDP4, true, 0},
		{"udp in a VLAN", frame(t, addresses, "8100", "0007", "0800", ip("11", "0000"), udp4), stamp.UDP4, true, 7},
		{"udp in two VLANs", frame(t, addresses, "88a8", "0007", "8100", "0008", "0800", ip("11", "0000"), udp4), stamp.UDP4, true, stamp.Stacked},
		{"udp in a VLAN with a priority", frame(t, addresses, "8100", "e007", "0800", ip("11", "0000"), udp4), stamp.UDP4, true, 7},
		{"udp in the greatest VLAN", frame(t, addresses, "8100", "0ffe", "0800", ip("11", "0000"), udp4), stamp.UDP4, true, 4094},
		{"udp with a priority in no VLAN", frame(t, addresses, "8100", "e000", "0800", ip("11", "0000"), udp4), stamp.UDP4, true, 0},
		{"udp in a provider's VLAN", frame(t, addresses, "88a8", "0007", "0800", ip("11", "0000"), udp4), stamp.UDP4, true, stamp.Stacked},
		{"udp over ipv6 in a VLAN", frame(t, addresses, "8100", "0007", "86dd", ip6("000c", "11"), udp4), stamp.UDP6, true, 7},
		{"udp in three VLANs", frame(t, addresses, "8100", "0007", "8100", "0008", "8100", "0009", "0800", ip("11", "0000"), udp4), stamp.Other, false, 0},
		{"igmp in a VLAN", frame(t, addresses, "8100", "0007", "0800", ip("02", "0000"), udp4), stamp.IGMP, false, 0},
		{"a tag cut off", frame(t, addresses, "8100", "00"), stamp.Other, false, 0},
		{"first fragment", frame(t, addresses, "0800", ip("11", "2000"), udp4), stamp.IPv4, false, 0},
		{"later fragment", frame(t, addresses, "0800", ip("11", "0001"), udp4), stamp.IPv4, false, 0},
		{"truncated udp", frame(t, addresses, "0800", ip("11", "0000"), udp4)[:40], stamp.IPv4, false, 0},
		{"tcp", frame(t, addresses, "0800", ip("06", "0000"), udp4), stamp.IPv4, false, 0},
		{"icmp", frame(t, addresses, "0800", ip("01", "0000"), udp4), stamp.ICMP, false, 0},
		{"igmp", frame(t, addresses, "0800", ip("02", "0000"), udp4), stamp.IGMP, false, 0},
		{"arp", frame(t, addresses, "0806", "0001"), stamp.ARP, false, 0},
		{"lacp", frame(t, addresses, "8809", "01"), stamp.LACP, false, 0},
		{"ipv6", frame(t, addresses, "86dd", "60"), stamp.IPv6, false, 0},
		{"udp over ipv6", frame(t, addresses, "86dd", ip6("000c", "11"), udp4), stamp.UDP6, true, 0},
		{"udp over ipv6, cut off", frame(t, addresses, "86dd", ip6("000d", "11"), udp4), stamp.IPv6, false, 0},
		{"mld report behind hop-by-hop", frame(t, addresses, "86dd", ip6("0010", "00"), "3a00050200000000", "8f00000000000000"), stamp.MLD, false, 0},
		{"neighbour solicitation", frame(t, addresses, "86dd", ip6("0004", "3a"), "87000000"), stamp.ND, false, 0},
		{"ipv6 fragment", frame(t, addresses, "86dd", ip6("0010", "2c"), "1100000100000000", "0000000000000000"), stamp.IPv6, false, 0},
		{"arp in a VLAN", frame(t, addresses, "8100", "0007", "0806"), stamp.ARP, false, 0},
		{"unknown", frame(t, addresses, "1234"), stamp.Other, false, 0},
		{"no header", frame(t, addresses), stamp.Broken, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, kind := stamp.Find(tt.frame)
			if kind != tt.kind {
				t.Errorf("kind %q, want %q", kind, tt.kind)
			}
			if ours := hex.EncodeToString(d.Payload) == "deadbeef" && d.To.Port() == 6000; ours != tt.ours {
				t.Errorf("datagram %+v", d)
			}
			if d.VLAN != tt.vlan {
				t.Errorf("VLAN %d, want %d", d.VLAN, tt.vlan)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, _ := stamp.Find(b)
		stamp.Parse(d.Payload)
	})
}

func TestFindDoesNotAllocate(t *testing.T) {
	b := frame(t, addresses, "0800", ip("11", "0000"), udp4)
	if n := testing.AllocsPerRun(100, func() { d, _ := stamp.Find(b); stamp.Parse(d.Payload) }); n != 0 {
		t.Errorf("%v allocations a frame, want none", n)
	}
}
