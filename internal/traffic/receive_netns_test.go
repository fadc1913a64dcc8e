package traffic

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// twoPlaces is two network namespaces of the test's own with veth pairs between them: what is sent out of tx here is
// received at rx there.
type twoPlaces struct {
	here, there int // namespaces
	tx          []netlink.Link
	rx          []int // interface indexes
	family      *family
	socket      int // sends out of any tx
}

// betweenNamespaces runs f on a thread of its own in the near one of two namespaces, once for each family. The thread
// ends with it.
func betweenNamespaces(t *testing.T, lines int, f func(t *testing.T, p *twoPlaces)) {
	t.Helper()
	for _, c := range []struct {
		name   string
		family *family
	}{{"IPv4", &inet4}, {"IPv6", &inet6}} {
		t.Run(c.name, func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("needs root for network namespaces")
			}
			if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil && c.family == &inet6 {
				t.Skipf("this kernel has no IPv6: %v", err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				runtime.LockOSThread() // for good: the thread is thrown away with its namespaces
				p := &twoPlaces{family: c.family}
				if err := p.make(t, lines); err != nil {
					t.Error(err)
					return
				}
				defer p.close()
				f(t, p)
			}()
			<-done
		})
	}
}

func (p *twoPlaces) make(t *testing.T, lines int) (err error) {
	for _, ns := range []*int{&p.there, &p.here} {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare CLONE_NEWNET: %w", err)
		}
		if *ns, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		quiet(t)
	}
	p.away(func() { err = raiseLoopback() }) // some tests give up the right to
	if err != nil {
		return err
	}
	for i := range lines {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = fmt.Sprintf("tx%d", i)
		rx := fmt.Sprintf("rx%d", i)
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: rx, PeerNamespace: netlink.NsFd(p.there)}); err != nil {
			return fmt.Errorf("veth pair: %w", err)
		}
		var errs error
		p.away(func() { errs = p.raise(rx, "", func(l netlink.Link) { p.rx = append(p.rx, l.Attrs().Index) }) })
		address := map[*family]string{&inet4: fmt.Sprintf("10.66.%d.1/24", i), &inet6: fmt.Sprintf("2001:db8:%d::1/64", i)}[p.family]
		if err := errors.Join(errs, p.raise(attrs.Name, address, func(l netlink.Link) { p.tx = append(p.tx, l) })); err != nil {
			return err
		}
		// IPv6 takes nothing from an interface before it has seen the carrier (addrconf_notify, net/ipv6/addrconf.c).
		p.away(func() {
			var l netlink.Link
			if l, errs = netlink.LinkByIndex(p.rx[i]); errs == nil {
				errs = line{tx: l, rx: l}.awaitCarrier()
			}
		})
		if errs != nil {
			return errs
		}
	}
	p.socket, err = unix.Socket(p.family.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	return err
}

// quiet makes new interfaces of the namespace say as little of themselves as they can.
func quiet(t *testing.T) {
	sysctlSet(t, "net.ipv4.conf.all.rp_filter", "0")
	sysctlSet(t, "net.ipv4.conf.default.rp_filter", "0")
	if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil {
		return
	}
	for _, s := range [][2]string{{"mldv2_unsolicited_report_interval", "3600000"}, {"addr_gen_mode", "1"}, {"router_solicitations", "0"}, {"dad_transmits", "0"}} {
		sysctlSet(t, "net.ipv6.conf.default."+s[0], s[1])
	}
}

func (p *twoPlaces) raise(name, address string, keep func(netlink.Link)) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	keep(l)
	if p.family == &inet4 {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := netlink.LinkSetUp(l); err != nil || address == "" {
		return err
	}
	a, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	a.Flags = unix.IFA_F_NODAD
	if err := netlink.AddrAdd(l, a); err != nil {
		return err
	}
	return line{tx: l, rx: l}.awaitCarrier()
}

// away runs f in the far namespace.
func (p *twoPlaces) away(f func()) {
	if err := unix.Setns(p.there, unix.CLONE_NEWNET); err != nil {
		panic(err)
	}
	f()
	if err := unix.Setns(p.here, unix.CLONE_NEWNET); err != nil {
		panic(err)
	}
}

func (p *twoPlaces) close() {
	for _, fd := range []int{p.socket, p.here, p.there} {
		_ = unix.Close(fd)
	}
}

// traffic is of two senders to so many groups.
func (p *twoPlaces) traffic(groups int) scenarios.Traffic {
	t := scenarios.Traffic{Port: 6000, Payload: testPayload, Senders: 2}
	ip := map[*family]netip.Addr{&inet4: netip.MustParseAddr("239.66.1.1"), &inet6: netip.MustParseAddr("ff15::6601")}[p.family]
	for range groups {
		t.Groups = append(t.Groups, ip.String())
		ip = ip.Next()
	}
	return t
}

// listen listens at the far ends with the first buffer that is given, or the usual one.
func (p *twoPlaces) listen(t *testing.T, traffic scenarios.Traffic, buffer ...int) *Receivers {
	t.Helper()
	var r *Receivers
	var err error
	p.away(func() {
		r, err = listen(ReceiveConfig{Ifindexes: p.rx, Traffic: traffic}, append(buffer, receiveBuffer)[0])
	})
	if err != nil {
		t.Error(err)
		runtime.Goexit()
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// send sends one datagram out of a line.
func (p *twoPlaces) send(t *testing.T, line int, group string, h stamp.Header) {
	t.Helper()
	b := make([]byte, testPayload)
	stamp.Put(b, h)
	p.sendTo(t, line, netip.AddrPortFrom(netip.MustParseAddr(group), 6000), b)
}

func (p *twoPlaces) sendTo(t *testing.T, line int, to netip.AddrPort, b []byte) {
	t.Helper()
	if err := p.family.multicastInterface(p.socket, p.tx[line].Attrs().Index); err != nil {
		t.Error(err)
	}
	if err := unix.Sendto(p.socket, b, 0, p.family.unixAddr(to)); err != nil {
		t.Errorf("send to %v: %v", to, err)
	}
}

// settled is what has arrived once nothing comes any more.
func settled(t *testing.T, r *Receivers) result.Wire {
	t.Helper()
	if err := r.WaitIdle(t.Context(), 30*time.Millisecond); err != nil {
		t.Error(err)
	}
	return r.End()
}
