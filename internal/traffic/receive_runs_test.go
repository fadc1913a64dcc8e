package traffic

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
)

// site opens a receiver at the far ends.
func (p *twoPlaces) site(t *testing.T, groups int) *Site {
	t.Helper()
	var s *Site
	var err error
	p.away(func() { s, err = OpenSite(p.names(t), p.traffic(groups), 0) })
	if err != nil {
		t.Error(err)
		runtime.Goexit()
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// names are those of the far ends; it must be called there.
func (p *twoPlaces) names(t *testing.T) (names []string) {
	t.Helper()
	for _, index := range p.rx {
		x, err := net.InterfaceByIndex(index)
		if err != nil {
			t.Error(err)
			runtime.Goexit()
		}
		names = append(names, x.Name)
	}
	return names
}

// ended is what has come of each run once nothing more does.
func ended(t *testing.T, c *Collector) []result.ReceivedRun {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); c.Taken().Idle < 50*time.Millisecond; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("datagrams go on coming")
			break
		}
	}
	runs, _ := c.Runs()
	return runs
}

// Two runs that nobody announced, with a gap, a duplicate and one late, from two senders over two lines.
func TestRunsThatNobodyAnnounced(t *testing.T) {
	betweenNamespaces(t, 2, func(t *testing.T, p *twoPlaces) {
		s := p.site(t, 25)
		began := time.Now()
		groups := p.traffic(25).Groups
		for _, x := range []struct {
			line int
			stamp.Header
		}{
			{0, stamp.Header{Run: 70, Seq: 0}}, {0, stamp.Header{Run: 70, Seq: 2}}, {0, stamp.Header{Run: 70, Seq: 1}},
			{0, stamp.Header{Run: 70, Seq: 2}}, {0, stamp.Header{Run: 70, Seq: 5}}, {1, stamp.Header{Run: 70, Seq: 5}},
			{1, stamp.Header{Run: 70, Sender: 300, Seq: 1}},
			{0, stamp.Header{Run: 80}}, {1, stamp.Header{Run: 80, Seq: 1}}, {0, stamp.Header{Run: 80, Seq: 2}},
		} {
			p.send(t, x.line, groups[x.Seq], x.Header)
		}
		got := ended(t, s.Collector)
		if len(got) != 2 || got[0].Run != 70 || got[1].Run != 80 {
			t.Errorf("runs %+v", got)
			return
		}
		first := []result.WireSender{got[0].Wire.Senders[0], got[0].Wire.Senders[300]}
		want := []result.WireSender{
			{Unique: 4, Duplicates: 1, Reordered: 1, Beyond: 6, Copies: 1}, {Index: 300, Unique: 1, Beyond: 2},
		}
		if d := cmp.Diff(want, first); d != "" || len(got[0].Wire.Senders) != 301 {
			t.Errorf("run 70 of %d senders (-want +got):\n%s", len(got[0].Wire.Senders), d)
		}
		if d := cmp.Diff([]result.WireSender{{Unique: 3, Beyond: 3}}, got[1].Wire.Senders); d != "" {
			t.Errorf("run 80 (-want +got):\n%s", d)
		}
		if l := got[1].Wire.Slaves; l[0].Ours != 2 || l[1].Ours != 1 {
			t.Errorf("lines of run 80: %+v", l)
		}
		for _, r := range got {
			if r.First.Before(began) || r.Last.Before(r.First) || r.Last.After(time.Now()) {
				t.Errorf("run %d was heard from %v to %v, sent after %v", r.Run, r.First, r.Last, began)
			}
		}
		if taken := s.Taken(); taken.Datagrams != 10 {
			t.Errorf("took %+v, want 10 datagrams", taken)
		}
		x := s.Receiver.Interfaces
		if len(x) != 2 || x[0].Name != "rx0" || x[1].Driver != "veth" || x[0].MTU != 1500 || x[0].Ifindex != p.rx[0] || x[0].ReceiveBuffer != 2*receiveBuffer ||
			s.Receiver.Kernel == "" || !s.Receiver.Foreign || len(s.Receiver.Groups) != 25 || s.Receiver.Port != 6000 || len(s.Warnings) != 0 {
			t.Errorf("%+v, warnings %v", s.Receiver, s.Warnings)
		}
	})
}

// What overflows is booked to the run that was under way, also when the next one brings the count.
func TestOverflowBelongsToItsRun(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		var c *Collector
		var err error
		p.away(func() { c, err = collect(ReceiveConfig{Ifindexes: p.rx, Traffic: p.traffic(1)}, 4096) })
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		const sent = 200
		for run := range uint32(2) {
			c.mu.Lock() // the reader reads nothing
			for seq := range uint64(sent) {
				p.send(t, 0, p.traffic(1).Groups[0], stamp.Header{Run: run, Seq: seq})
			}
			c.mu.Unlock()
			got := ended(t, c)
			if l := got[run].Wire.Slaves[0]; l.Overflow == 0 || l.Ours+l.Overflow != sent || got[run].Heard() != sent {
				t.Errorf("run %d: %d of %d arrived and %d overflowed", run, l.Ours, sent, l.Overflow)
			}
		}
	})
}

// Without the right to packet sockets the datagrams count all the same.
func TestReceivingWithoutTheRightToSniff(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&header, &caps[0]); err != nil {
			t.Error(err)
			return
		}
		caps[0].Effective &^= 1<<unix.CAP_NET_RAW | 1<<unix.CAP_NET_ADMIN // of this thread, which ends with the test
		if err := unix.Capset(&header, &caps[0]); err != nil {
			t.Error(err)
			return
		}
		s := p.site(t, 1)
		p.send(t, 0, p.traffic(1).Groups[0], stamp.Header{Run: 9})
		got := ended(t, s.Collector)
		if len(got) != 1 || got[0].Wire.Slaves[0].Ours != 1 || s.Receiver.Foreign {
			t.Errorf("runs %+v, foreign %t", got, s.Receiver.Foreign)
		}
		if codes := codesOf(s.Warnings); codes != warnNoFrames && codes != warnNoFrames+" "+warnBuffer {
			t.Errorf("warnings %v", s.Warnings)
		}
	})
}

func codesOf(ws []result.Warning) string {
	var codes []string
	for _, w := range ws {
		codes = append(codes, w.Code)
	}
	return strings.Join(codes, " ")
}

func TestInterfacesThatAreRefused(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		p.away(func() {
			down := netlink.NewLinkAttrs()
			down.Name = "down0"
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: down, PeerName: "peer0"}); err != nil {
				t.Error(err)
				return
			}
			for _, c := range []struct {
				names []string
				want  string
			}{
				{nil, "--interface is missing: name where the senders' frames come in; those that are up and take multicast: rx0"},
				{[]string{"eth9"}, "--interface eth9: there is no such interface; those that are up and take multicast: rx0"},
				{[]string{"down0"}, "--interface down0: it is down; 'ip link set down0 up' brings it up"},
				{[]string{"rx0", "rx0"}, "--interface rx0 is named twice"},
			} {
				s, err := OpenSite(c.names, p.traffic(1), 0)
				if err == nil {
					t.Errorf("%v: opened", c.names)
					_ = s.Close()
				} else if err.Error() != c.want {
					t.Errorf("%v: %v\nwant %s", c.names, err, c.want)
				}
			}
			bad := p.traffic(1)
			bad.Groups[0] = "10.0.0.1" // the scenario's rules let no such group through
			if _, err := OpenSite([]string{"rx0"}, bad, 0); err == nil || !strings.HasPrefix(err.Error(), "--interface rx0: traffic.groups: 10.0.0.1") {
				t.Errorf("a group that is none: %v", err)
			}
		})
	})
}

// An interface without carrier may get it later; one that is gone does not come back.
func TestInterfacesThatComeAndGo(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		if err := netlink.LinkSetDown(p.tx[0]); err != nil {
			t.Error(err)
		}
		s := p.site(t, 1)
		if codesOf(s.Warnings) != warnNoCarrier || !strings.HasPrefix(s.Warnings[0].Text, "rx0 has no carrier") {
			t.Errorf("warnings %v", s.Warnings)
		}
		var before, after error
		p.away(func() { before = s.Gone() })
		if err := netlink.LinkDel(p.tx[0]); err != nil {
			t.Error(err)
		}
		p.away(func() { after = s.Gone() })
		if before != nil || after == nil || !strings.HasPrefix(after.Error(), "--interface rx0: it is gone") {
			t.Errorf("before %v, after %v", before, after)
		}
	})
}

// The warning about rp_filter is there when it does drop what comes, and only then.
func TestTheFilterDropsAsTold(t *testing.T) {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		if p.family == &inet6 {
			p.away(func() { sysctlSet(t, "net.ipv4.conf.all.rp_filter", "1") })
			if s := p.site(t, 1); len(s.Warnings) != 0 {
				t.Errorf("IPv6 has no such filter: %v", s.Warnings)
			}
			return
		}
		usual, err := netlink.ParseAddr("192.0.2.1/24")
		if err != nil {
			t.Error(err)
			return
		}
		old, err := netlink.ParseAddr("10.66.0.1/24")
		if err != nil {
			t.Error(err)
			return
		}
		for _, step := range []func() error{
			func() error { return netlink.AddrDel(p.tx[0], old) }, func() error { return netlink.AddrAdd(p.tx[0], usual) },
		} {
			if err := step(); err != nil {
				t.Error(err)
				return
			}
		}
		for i, c := range []struct {
			all, own string
			address  string // of the far end, and so a route
			mend     string // empty: no warning
		}{
			{"0", "0", "", ""},
			{"1", "0", "", "'sysctl -w net/ipv4/conf/all/rp_filter=0'"},
			{"0", "1", "", "'sysctl -w net/ipv4/conf/rx0/rp_filter=0'"},
			{"1", "2", "", "'sysctl -w net/ipv4/conf/all/rp_filter=0 net/ipv4/conf/rx0/rp_filter=0'"},
			{"2", "0", "", "all/rp_filter"},
			{"1", "1", "192.0.2.9/24", ""},
			{"2", "0", "192.0.2.9/24", ""},
		} {
			p.away(func() {
				sysctlSet(t, "net.ipv4.conf.all.rp_filter", c.all)
				sysctlSet(t, "net.ipv4.conf.rx0.rp_filter", c.own)
				if c.address != "" {
					p.setAddress(t, c.address)
				}
			})
			s := p.site(t, 1)
			p.send(t, 0, p.traffic(1).Groups[0], stamp.Header{Run: uint32(i)})
			got := ended(t, s.Collector)
			warned := codesOf(s.Warnings) == warnFilter
			if warned != (c.mend != "") || warned && !strings.Contains(s.Warnings[0].Text, c.mend) {
				t.Errorf("all %s, rx0 %s, address %q: warnings %v, want %q", c.all, c.own, c.address, s.Warnings, c.mend)
			}
			if (len(got) == 0) != warned {
				t.Errorf("all %s, rx0 %s, address %q: warned %t, and %d runs came", c.all, c.own, c.address, warned, len(got))
			}
		}
	})
}

// setAddress gives the far end of the first line its only address.
func (p *twoPlaces) setAddress(t *testing.T, address string) {
	t.Helper()
	l, err := netlink.LinkByIndex(p.rx[0])
	if err != nil {
		t.Error(err)
		return
	}
	a, err := netlink.ParseAddr(address)
	if err != nil {
		t.Error(err)
		return
	}
	if err := netlink.AddrReplace(l, a); err != nil {
		t.Error(err)
	}
}

// An interface of another VLAN or of none brings nothing, unless a switch helps.
func TestWarningOfVLANs(t *testing.T) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.RawFlags = "eth3", unix.IFF_LOWER_UP
	for _, c := range []struct {
		link netlink.Link
		vlan int
		warn bool
	}{
		{&netlink.Device{LinkAttrs: attrs}, 0, false},
		{&netlink.Device{LinkAttrs: attrs}, 100, true},
		{&netlink.Vlan{LinkAttrs: attrs, VlanId: 7}, 100, true},
		{&netlink.Vlan{LinkAttrs: attrs, VlanId: 100}, 100, false},
		{&netlink.Vlan{LinkAttrs: attrs, VlanId: 100}, 0, false}, // a switch may put tags on
	} {
		s := &Site{}
		s.warnOfLink(c.link, c.vlan)
		if got := codesOf(s.Warnings) == warnVLAN; got != c.warn {
			t.Errorf("%T in VLAN %d: %v", c.link, c.vlan, s.Warnings)
		}
	}
}

func TestFilterRules(t *testing.T) {
	for _, c := range []struct {
		name string
		filter
		want bool
	}{
		{"off", filter{back: 0, ifindex: 3}, false},
		{"strict, no route", filter{own: 1, ifindex: 3}, true},
		{"strict, another way", filter{own: 1, back: 2, ifindex: 3, address: true}, true},
		{"strict, this way", filter{all: 1, back: 3, ifindex: 3}, false},
		{"loose, no route", filter{own: 2, ifindex: 3, address: true}, true},
		{"loose, another way", filter{all: 1, own: 2, back: 2, ifindex: 3, address: true}, false},
		{"loose, another way and no address", filter{own: 2, back: 2, ifindex: 3}, true},
	} {
		if got := c.drops(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestDriverOfNoDevice(t *testing.T) {
	if d := driver("no-such-interface"); d != "" {
		t.Errorf("driver %q", d)
	}
	if _, err := os.Stat("/proc/sys/net/ipv4/conf/no-such"); err == nil || rpFilter("no-such") != 0 {
		t.Error("rp_filter of no interface")
	}
}
