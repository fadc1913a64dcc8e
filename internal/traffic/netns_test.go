package traffic

import (
	"fmt"
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
		var l line
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

// ear hears every IPv4 packet that arrives at the line's other end.
type ear struct {
	fd  int
	got map[uint16]map[uint64]int // how often each number of each sender came
	to  map[[4]byte]int           // packets by destination
}

func (l line) listen(t *testing.T) *ear {
	t.Helper()
	const bigEndianIP = 0x0008 // ETH_P_IP in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, bigEndianIP)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndianIP, Ifindex: l.rx.Attrs().Index}); err != nil {
		t.Fatal(err)
	}
	return &ear{fd: fd, got: map[uint16]map[uint64]int{}, to: map[[4]byte]int{}}
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
		const headers = 28 // IPv4 and UDP
		if n < headers {
			continue
		}
		// A veth hands a GSO packet on in one piece, its segments back to back.
		for data := b[headers:n]; len(data) >= payload; data = data[payload:] {
			h, ours := stamp.Parse(data)
			if !ours || h.Run != run {
				break
			}
			if e.got[h.Sender] == nil {
				e.got[h.Sender] = map[uint64]int{}
			}
			e.got[h.Sender][h.Seq]++
			e.to[[4]byte(b[16:20])]++
		}
	}
}

func (e *ear) close() { _ = unix.Close(e.fd) }

// config is a short run out of the line; what a test is about it changes.
func (l line) config(change func(*scenarios.Traffic)) Config {
	t := scenarios.Traffic{
		Groups: scenarios.Groups{"239.66.1.1"}, Port: 6000, Payload: 1000, Senders: 1, Batch: 1,
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
