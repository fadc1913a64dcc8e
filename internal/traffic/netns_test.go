package traffic

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/scenarios"
)

// line is a veth pair in a network namespace of the test's own: what is sent out of tx is seen at rx.
type line struct {
	tx, rx netlink.Link
	family *family
	groups scenarios.Groups // three
}

// inBoth runs f as inNamespace does, once for each family.
func inBoth(t *testing.T, f func(t *testing.T, l line)) {
	t.Helper()
	for name, prepare := range map[string]func(testing.TB, *line){
		"IPv4": func(testing.TB, *line) {},
		"IPv6": func(t testing.TB, l *line) { l.useIPv6(t) },
	} {
		t.Run(name, func(t *testing.T) {
			inNamespace(t, func(t *testing.T, l line) {
				prepare(t, &l)
				f(t, l)
			})
		})
	}
}

// useIPv6 makes the line's groups IPv6 ones, and gives tx an address to reach them from.
func (l *line) useIPv6(t testing.TB) {
	t.Helper()
	l.family, l.groups = &inet6, scenarios.Groups{"ff15::6601", "ff02::6602", "ff15::6603"}
	addIPv6(t, l.tx, "2001:db8::1/64")
	l.awaitQuiet(t)
}

// txPackets is how many packets tx has sent.
func (l line) txPackets(t testing.TB) uint64 {
	t.Helper()
	now, err := netlink.LinkByIndex(l.tx.Attrs().Index)
	if err != nil {
		t.Fatal(err)
	}
	return now.Attrs().Statistics.TxPackets
}

// addIPv6 turns IPv6 on for an interface.
func addIPv6(t testing.TB, link netlink.Link, address string) {
	t.Helper()
	if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil {
		t.Skipf("this kernel has no IPv6: %v", err)
	}
	// The second report of memberships comes some time within the interval; a test is over before that.
	for _, s := range [][2]string{{"mldv2_unsolicited_report_interval", "3600000"}, {"addr_gen_mode", "1"}, {"router_solicitations", "0"}, {"dad_transmits", "0"}, {"disable_ipv6", "0"}} {
		sysctlSet(t, "net.ipv6.conf."+link.Attrs().Name+"."+s[0], s[1])
	}
	addr, err := netlink.ParseAddr(address)
	if err != nil {
		t.Fatal(err)
	}
	addr.Flags = unix.IFA_F_NODAD
	if err := netlink.AddrAdd(link, addr); err != nil {
		t.Fatal(err)
	}
}

// awaitQuiet waits until tx has said which groups it is a member of, as IPv6 does of itself, and nothing for a while.
func (l line) awaitQuiet(t testing.TB) {
	t.Helper()
	var last, same uint64
	for deadline := time.Now().Add(10 * time.Second); same < 10; time.Sleep(10 * time.Millisecond) {
		if n := l.txPackets(t); n == last && n > 0 {
			same++
		} else {
			last, same = n, 0
		}
		if time.Now().After(deadline) {
			t.Fatal("tx keeps sending of itself")
		}
	}
}

// inNamespace runs f on a thread of its own in a new network namespace with a line. The thread ends with it.
func inNamespace[T testing.TB](t T, f func(t T, l line)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread is thrown away with its namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Errorf("unshare CLONE_NEWNET: %v", err)
			return
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "tx"
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "rx"}); err != nil {
			t.Errorf("veth pair: %v", err)
			return
		}
		disableIPv6(t)
		l := line{family: &inet4, groups: scenarios.Groups{"239.66.1.1", "239.66.1.2", "239.66.1.3"}}
		for name, link := range map[string]*netlink.Link{"tx": &l.tx, "rx": &l.rx} {
			var err error
			if *link, err = netlink.LinkByName(name); err == nil {
				err = netlink.LinkSetUp(*link)
			}
			if err != nil {
				t.Errorf("link %s: %v", name, err)
				return
			}
		}
		if err := l.awaitCarrier(); err != nil {
			t.Error(err)
			return
		}
		f(t, l)
	}()
	<-done
}

// awaitCarrier waits until linkwatch has seen the carrier: before that the qdisc is noop, which loses packets and
// reports success (NET_XMIT_CN).
func (l line) awaitCarrier() error {
	deadline := time.Now().Add(10 * time.Second)
	for _, link := range []netlink.Link{l.tx, l.rx} {
		for {
			now, err := netlink.LinkByIndex(link.Attrs().Index)
			if err != nil {
				return err
			}
			if now.Attrs().OperState == netlink.OperUp {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("link %s is %v, not up", link.Attrs().Name, now.Attrs().OperState)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// throttle gives the line a rate, bytes a second, with a pfifo_fast of so many packets as tbf's child.
func (l line) throttle(t *testing.T, rate uint64, packets int) {
	t.Helper()
	steps := []struct {
		name string
		do   func() error
	}{
		{"txqueuelen", func() error { return netlink.LinkSetTxQLen(l.tx, packets) }},
		{"tbf", func() error {
			return netlink.QdiscAdd(&netlink.Tbf{QdiscAttrs: l.qdisc(netlink.HANDLE_ROOT, 1), Rate: rate, Buffer: 15625 * 3000 / uint32(rate/1000+1), Limit: 1 << 30})
		}},
		{"pfifo_fast", func() error {
			return netlink.QdiscAdd(&netlink.GenericQdisc{QdiscAttrs: l.qdisc(netlink.MakeHandle(1, 1), 2), QdiscType: "pfifo_fast"})
		}},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s on the line: %v", s.name, err)
		}
	}
}

func (l line) qdisc(parent uint32, handle uint16) netlink.QdiscAttrs {
	return netlink.QdiscAttrs{LinkIndex: l.tx.Attrs().Index, Parent: parent, Handle: netlink.MakeHandle(handle, 0)}
}

// child reads the counters of the line's pfifo_fast.
func (l line) child(t *testing.T) (sent, dropped, backlog uint64) {
	t.Helper()
	qdiscs, err := netlink.QdiscList(l.tx)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range qdiscs {
		if s := q.Attrs().Statistics; q.Type() == "pfifo_fast" && s != nil {
			return uint64(s.Basic.Packets), uint64(s.Queue.Drops), uint64(s.Queue.Qlen)
		}
	}
	t.Fatal("no pfifo_fast with counters on the line")
	return 0, 0, 0
}

// ear hears every packet of the line's family that arrives at its other end.
type ear struct {
	fd    int
	got   map[uint16]map[uint64]int   // how often each number of each sender came
	sent  map[uint16]map[uint64]int64 // when it was sent, CLOCK_MONOTONIC, ns
	to    map[netip.AddrPort]int      // packets by destination
	frame []byte                      // the first of a run
}

func (l line) listen(t *testing.T) *ear {
	t.Helper()
	ethertype := map[*family]uint16{&inet4: 0x0008, &inet6: 0xdd86}[l.family] // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(ethertype))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: ethertype, Ifindex: l.rx.Attrs().Index}); err != nil {
		t.Fatal(err)
	}
	return &ear{fd: fd, got: map[uint16]map[uint64]int{}, sent: map[uint16]map[uint64]int64{}, to: map[netip.AddrPort]int{}}
}

// hear reads what has come of a run, until nothing has for a while.
func (e *ear) hear(run uint32, payload int) {
	b := make([]byte, 65536)
	quiet := unix.NsecToTimeval((200 * time.Millisecond).Nanoseconds())
	_ = unix.SetsockoptTimeval(e.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &quiet)
	for {
		n, _, err := unix.Recvfrom(e.fd, b, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		// A veth hands a GSO packet on in one piece, its segments back to back.
		d, _ := stamp.Find(b[:n])
		for data := d.Payload; len(data) >= payload; data = data[payload:] {
			h, ours := stamp.Parse(data)
			if !ours || h.Run != run {
				break
			}
			if e.got[h.Sender] == nil {
				e.got[h.Sender], e.sent[h.Sender] = map[uint64]int{}, map[uint64]int64{}
			}
			if e.frame == nil {
				e.frame = bytes.Clone(b[:n])
			}
			e.got[h.Sender][h.Seq]++
			e.sent[h.Sender][h.Seq] = int64(h.TimeNS)
			e.to[d.To]++
		}
	}
}

func (e *ear) close() { _ = unix.Close(e.fd) }

// config is a short run out of the line; what a test is about it changes.
func (l line) config(change func(*scenarios.Traffic)) Config {
	t := scenarios.Traffic{
		Groups: l.groups[:1], Port: 6000, Payload: 1000, Senders: 1, Batch: 1,
		Duration: scenarios.Duration(300 * time.Millisecond),
		Socket:   scenarios.Socket{Blocking: true, SndBuf: 65536},
	}
	if change != nil {
		change(&t)
	}
	return Config{Traffic: t, Run: 7, Ifindex: l.tx.Attrs().Index}
}

// disableIPv6 keeps router solicitations and the like out of every count.
func disableIPv6(t testing.TB) {
	for _, name := range []string{"tx", "rx"} {
		if _, err := os.Stat("/proc/sys/net/ipv6"); err == nil {
			sysctlSet(t, "net.ipv6.conf."+name+".disable_ipv6", "1")
		}
	}
}

// sysctlSet writes a sysctl of the calling thread's namespace.
func sysctlSet(t testing.TB, name, value string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}
