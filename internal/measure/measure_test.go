package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"bondrepro/bondctl"
	"bondrepro/internal/traffic"
	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"golang.org/x/sys/unix"
)

func message(ifindex int, flags uint32) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint32(b[4:], uint32(ifindex))
	binary.NativeEndian.PutUint32(b[8:], flags)
	return b
}

func TestDecodeNotification(t *testing.T) {
	const up = unix.IFF_UP | unix.IFF_LOWER_UP
	for _, c := range []struct {
		name string
		kind uint16
		data []byte
		was  bool // slave 1 was up
		want string
	}{
		{"carrier lost", unix.RTM_NEWLINK, message(8, unix.IFF_UP), true, result.EventLinkDown},
		{"set down", unix.RTM_NEWLINK, message(8, 0), true, result.EventLinkDown},
		{"back", unix.RTM_NEWLINK, message(8, up), false, result.EventLinkUp},
		{"no change", unix.RTM_NEWLINK, message(8, up), true, ""},
		{"still down", unix.RTM_NEWLINK, message(8, 0), false, ""},
		{"deleted", unix.RTM_DELLINK, message(8, 0), true, result.EventLinkDown},
		{"new qdisc", unix.RTM_NEWQDISC, message(8, 0), true, result.EventQdiscReplaced},
		{"qdisc deleted", unix.RTM_DELQDISC, message(8, 0), true, result.EventQdiscReplaced},
		{"another interface's qdisc", unix.RTM_NEWQDISC, message(9, 0), true, ""},
		{"a filter", unix.RTM_NEWTFILTER, message(8, 0), true, ""},
		{"cut short", unix.RTM_NEWLINK, message(8, 0)[:15], true, ""},
	} {
		k := known{bond: 5, slaves: []int{7, 8}, up: []bool{true, c.was}}
		e, ok := k.decode(unix.NlMsghdr{Type: c.kind}, c.data)
		if ok != (c.want != "") || e.Kind != c.want || (ok && e.Slave != 1) {
			t.Errorf("%s: got %v %+v, want %q of slave 1", c.name, ok, e, c.want)
		}
	}
}

func TestSnmpField(t *testing.T) {
	const text = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts SndbufErrors\nUdp: 5 6 77\nUdpLite: SndbufErrors\nUdpLite: 9\n"
	for _, c := range []struct {
		protocol, field string
		want            uint64
	}{{"Udp:", "SndbufErrors", 77}, {"UdpLite:", "SndbufErrors", 9}, {"Udp:", "NoSuch", 0}, {"Ip:", "A", 0}} {
		if got := snmpField(text, c.protocol, c.field); got != c.want {
			t.Errorf("%s %s = %d, want %d", c.protocol, c.field, got, c.want)
		}
	}
}

func slaveAt(packets uint64, drops, qlen uint32, done uint64) slaveReading {
	return slaveReading{
		leaves: []counters.Qdisc{{Ifindex: 3, Kind: "pfifo_fast", Parent: counters.HandleRoot, Bytes: packets * 4042, Packets: packets, Drops: drops, Qlen: qlen}},
		link:   counters.Link{TxPackets: done},
	}
}

// Counters of 32 bits wrap in mid-run; the columns must go on.
func TestSamplerSurvivesAWrap(t *testing.T) {
	const top = ^uint32(0)
	first := reading{into: 100, slaves: []slaveReading{slaveAt(10, top-1, 0, 5)}}
	s := newSampler(first, 4)
	s.add(1e6, 8448, &reading{into: 103, slaves: []slaveReading{slaveAt(12, top, 1, 6)}}, false)
	s.add(2e6, 0, &reading{into: 107, slaves: []slaveReading{slaveAt(15, 3, 0, 9)}}, false)
	c := s.series.Slaves[0]
	want := "[1 2] [3 7] [2 5] [1 5] [1 0] [1 4]"
	got := fmt.Sprint(s.series.AtMS, s.series.Into, c.Sent, c.Dropped, c.Qlen, c.Completed)
	if got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
}

// A poll must not allocate once the columns are made: the sampler shares two CPUs with the senders.
func TestSamplerAllocatesNothing(t *testing.T) {
	first := reading{slaves: []slaveReading{slaveAt(10, 0, 0, 5)}}
	now := reading{slaves: []slaveReading{slaveAt(11, 1, 0, 6)}}
	s := newSampler(first, 4096)
	if n := testing.AllocsPerRun(1000, func() { s.add(1e6, 1, &now, false) }); n != 0 {
		t.Errorf("%v allocations a poll, want 0", n)
	}
}

func TestBusy(t *testing.T) {
	p := &path{}
	before := reading{slaves: []slaveReading{slaveAt(10, 0, 0, 10)}}
	for _, c := range []struct {
		name      string
		now       slaveReading
		completes bool
		backlog   uint32
		inDriver  uint64
	}{
		{"quiet", slaveAt(20, 5, 0, 20), true, 0, 0},
		{"in the qdisc", slaveAt(20, 5, 3, 20), true, 3, 0},
		{"in the ring", slaveAt(20, 5, 0, 17), true, 0, 3},
		{"dropped by the driver", slaveReading{leaves: slaveAt(20, 5, 0, 0).leaves, link: counters.Link{TxPackets: 17, TxDropped: 3}}, true, 0, 0},
		{"a driver that does not tell", slaveAt(20, 5, 0, 17), false, 0, 0},
		{"frames that passed no qdisc", slaveAt(20, 5, 0, 25), true, 0, 0},
	} {
		backlog, inDriver := p.busy(&before, &reading{slaves: []slaveReading{c.now}}, []bool{c.completes})
		if backlog != c.backlog || inDriver != c.inDriver {
			t.Errorf("%s: %d in qdiscs, %d in drivers, want %d, %d", c.name, backlog, inDriver, c.backlog, c.inDriver)
		}
	}
}

// Every option of scenarios.Bond must reach bondctl under its own name.
func TestBondOptionsNameEveryField(t *testing.T) {
	ms, n, s, yes := scenarios.Duration(100e6), 3, "x", true
	options := bondOptions(scenarios.Bond{
		Mode: "active-backup", Miimon: &ms, XmitHashPolicy: &s, Updelay: &ms, Downdelay: &ms, ResendIGMP: &n,
		NumGratARP: &n, AllSlavesActive: &yes, PacketsPerSlave: &n, TLBDynamicLB: &yes, FailOverMAC: &s,
		LACPRate: &s, MinLinks: &n,
	})
	got := map[string]string{}
	for _, o := range options {
		got[o.Name] = o.Value
	}
	want := map[string]string{
		"mode": "active-backup", "miimon": "100", "xmit_hash_policy": "x", "updelay": "100", "downdelay": "100",
		"resend_igmp": "3", "num_grat_arp": "3", "all_slaves_active": "1", "packets_per_slave": "3",
		"tlb_dynamic_lb": "1", "fail_over_mac": "x", "lacp_rate": "x", "min_links": "3",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || options[0].Name != "mode" {
		t.Errorf("options = %v,\nwant %v, mode first", options, want)
	}
}

func TestAsFault(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Class
	}{
		{fmt.Errorf("build: %w", &bondctl.UnsupportedError{What: "bonding", Err: unix.EOPNOTSUPP}), Unsupported},
		{fmt.Errorf("open: %w", &traffic.OptionError{Field: "traffic.socket.sndbuf"}), Refused},
		{fmt.Errorf("up: %w", &bondctl.OffloadError{Interface: "eth0", Feature: "gso"}), Refused},
		{errors.New("netlink said no"), Failed},
		{fmt.Errorf("again: %w", &Fault{Class: Refused, Text: "no"}), Refused},
	} {
		if got := AsFault(c.err); got.Class != c.want || got.Text == "" {
			t.Errorf("%v: %+v, want class %s", c.err, got, c.want)
		}
	}
	if AsFault(nil) != nil {
		t.Error("no error became a fault")
	}
}
