package qdiscstat

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// requireEnv lists, apart by blanks, qdisc kinds for which a skip is a failure: a guest whose kernel is known to
// have them sets it. Any value also makes root and tc required.
const requireEnv = "BONDREPRO_REQUIRE_QDISCS"

// skip skips a test, or fails it where requireEnv is set to anything (kind "") or names the kind.
func skip(t testing.TB, kind, why string) {
	t.Helper()
	required := strings.Fields(os.Getenv(requireEnv))
	if len(required) > 0 && (kind == "" || slices.Contains(required, kind)) {
		t.Fatalf("must not be skipped (%s): %s", requireEnv, why)
	}
	t.Skip(why)
}

// freshNamespace moves the test to a new network namespace. Its thread stays locked and so dies with the test.
func freshNamespace(t testing.TB) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		if errors.Is(err, unix.EPERM) {
			skip(t, "", "needs root to make a network namespace")
		}
		t.Fatalf("unshare: %v", err)
	}
}

// veth makes a veth pair: name, with so many queues, in the current namespace and its peer "peer" in a namespace of
// its own, both up, without IPv6, so that they are quiet. 10.9.9.1/24 is at name and 10.9.9.2 beyond it.
func veth(t testing.TB, name string, queues int) netlink.Link {
	t.Helper()
	here, err := netns.Get()
	must(t, err)
	there, err := netns.New()
	must(t, err)
	t.Cleanup(func() { here.Close(); there.Close() })
	must(t, netns.Set(here))

	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues = name, queues, queues
	attrs.TxQLen = 100 // what pfifo_fast keeps in a band: few, so that it drops
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "peer", PeerNamespace: netlink.NsFd(there)}))
	quiet(t, name)
	link, err := netlink.LinkByName(name)
	must(t, err)
	must(t, netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 9, 9, 1), Mask: net.CIDRMask(24, 32)}}))
	must(t, netlink.LinkSetUp(link))

	must(t, netns.Set(there))
	quiet(t, "peer")
	peer, err := netlink.LinkByName("peer")
	must(t, err)
	must(t, netlink.LinkSetUp(peer))
	must(t, netns.Set(here))

	must(t, netlink.NeighAdd(&netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT,
		IP: net.IPv4(10, 9, 9, 2), HardwareAddr: peer.Attrs().HardwareAddr}))
	return link
}

// quiet turns IPv6 off on a device, for its neighbour discovery; a kernel without IPv6 has no such file.
func quiet(t testing.TB, name string) {
	t.Helper()
	err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Logf("turn IPv6 off: %v", err)
	}
}

// flood sends UDP datagrams to 10.9.9.2 with every priority in turn, out of enough sockets for their buffers not to
// hold them back. It sends at least n, and goes on until stop is called, which waits for it. That the kernel
// refuses some is what some tests are about.
func flood(t testing.TB, n int) (stop func()) {
	t.Helper()
	const sockets = 16
	var fds [sockets]int
	for i := range fds {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		must(t, err)
		must(t, unix.Connect(fd, &unix.SockaddrInet4{Port: 6000, Addr: [4]byte{10, 9, 9, 2}}))
		must(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PRIORITY, i%7)) // 7 and more need CAP_NET_ADMIN
		fds[i] = fd
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		payload := make([]byte, 1000)
		for i := 0; ; i++ {
			_, _ = unix.Write(fds[i%sockets], payload)
			select {
			case <-quit:
				if i >= n {
					for _, fd := range fds {
						unix.Close(fd)
					}
					return
				}
			default:
			}
			if i%64 == 63 {
				time.Sleep(100 * time.Microsecond) // leave room for those who read
			}
		}
	}()
	return func() { close(quit); <-done }
}

// tc runs tc in the namespace of the calling, locked thread: a child is cloned from it.
func tc(t testing.TB, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("tc")
	if err != nil {
		skip(t, "", "tc (iproute2) is not there")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.Env = append(os.Environ(), "TC_LIB_DIR="+tcLibrary(t))
	if err := cmd.Run(); err != nil {
		return out.String(), errors.New("tc " + strings.Join(args, " ") + ": " + err.Error() + ": " + stderr.String())
	}
	return out.String(), nil
}

// tcLibrary is a folder with a distribution for netem, whose place differs between distributions of Linux.
func tcLibrary(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/bell.dist", []byte("-16000 -8000 -4000 -1000 0 1000 4000 8000 16000\n"), 0o644))
	return dir
}

// mustTC is tc for what every kernel can do.
func mustTC(t testing.TB, args ...string) string {
	t.Helper()
	out, err := tc(t, args...)
	must(t, err)
	return out
}

func open(t testing.TB) *Conn {
	t.Helper()
	c, err := Open()
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
