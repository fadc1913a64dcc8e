package ports_test

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/ports"

	"golang.org/x/sys/unix"
)

// alone runs the steps in a network namespace of its own, where /sys is that namespace's.
func alone(t *testing.T, steps func()) {
	t.Helper()
	if unix.Geteuid() != 0 {
		t.Skip("a network and a mount namespace need root")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for _, err := range []error{
			unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS),
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("sysfs", "/sys", "sysfs", unix.MS_RDONLY, ""),
		} {
			if err != nil {
				t.Errorf("a network and a mount namespace: %v", err)
				return
			}
		}
		steps()
	}()
	<-done
}

// ip runs commands of ip(8), one a line. They run in the calling thread's namespaces.
func ip(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if args := strings.Fields(line); len(args) > 0 {
			if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
			}
		}
	}
}

// codes are what the port is refused for.
func codes(f ports.Facts, a ports.Ask) []string {
	var all []string
	for _, r := range ports.Refuse(f, a) {
		all = append(all, r.Code)
	}
	return all
}

// look inspects, or fails the test.
func look(t *testing.T, name string) ports.Facts {
	t.Helper()
	f, err := ports.Inspect(name)
	if err != nil {
		t.Error(err)
	}
	return f
}

// change is one of a port, and what it is refused for then. After the undoing, if any, nothing is.
type change struct {
	name, make, undo, port string
	want                   []string
	ask                    ports.Ask
}

func (c change) check(t *testing.T) {
	ip(t, c.make)
	got := codes(look(t, c.port), c.ask)
	if !slices.Equal(got, c.want) {
		t.Errorf("%s: refused for %v, want %v", c.name, got, c.want)
	}
	if c.undo == "" {
		return
	}
	ip(t, c.undo)
	if got := codes(look(t, c.port), c.ask); got != nil {
		t.Errorf("%s: still refused for %v", c.name, got)
	}
}

var onVirtual = ports.Ask{AllowVirtual: true}

func TestPortsOfANamespace(t *testing.T) {
	alone(t, func() {
		ip(t, `link add eth1 type veth peer name far1
			link add eth2 numtxqueues 4 numrxqueues 4 type veth peer name far2 numtxqueues 4 numrxqueues 4
			link set eth1 up
			link set far1 up
			link set eth2 up
			link set far2 up`)
		for _, c := range []change{
			{"addresses", "address add 192.0.2.1/24 dev eth1", "address flush dev eth1 scope global", "eth1", []string{"addresses"}, onVirtual},
			{"an IPv6 address", "address add 2001:db8::1/64 dev eth1", "address del 2001:db8::1/64 dev eth1", "eth1", []string{"addresses"}, onVirtual},
			{"default route", "route add default dev eth1", "route del default", "eth1", []string{"default_route"}, onVirtual},
			{"IPv6 default route", "-6 route add default dev eth1", "-6 route del default dev eth1", "eth1", []string{"default_route"}, onVirtual},
			{"default route of another table", "route add default dev eth1 table 77", "route del default table 77", "eth1", []string{"default_route"}, onVirtual},
			{"multipath", "route add default nexthop dev eth2 nexthop dev eth1", "route del default", "eth1", []string{"default_route"}, onVirtual},
			{"half a default route", "route add 128.0.0.0/1 dev eth1", "route del 128.0.0.0/1", "eth1", []string{"default_route"}, onVirtual},
			{"a bridge with the default route", "link add br0 type bridge\nlink set br0 up\nlink set eth1 master br0\nroute add default dev br0", "link del br0", "eth1", []string{"default_route", "master"}, onVirtual},
			{"a macvlan with the default route", "link add mv0 link eth1 type macvlan\nlink set mv0 up\nroute add default dev mv0", "link del mv0", "eth1", []string{"default_route", "uppers"}, onVirtual},
			{"no carrier", "link set far1 down", "link set far1 up", "eth1", []string{"no_carrier"}, onVirtual},
			{"down", "link set eth1 down", "link set eth1 up", "eth1", []string{"down"}, onVirtual},
			{"another port's address", "address add 192.0.2.1/24 dev eth2", "address del 192.0.2.1/24 dev eth2", "eth1", nil, onVirtual},
			{"another port's default route", "route add default dev eth2", "route del default", "eth1", nil, onVirtual},
		} {
			c.check(t)
		}
		f := look(t, "eth2")
		if got := codes(f, ports.Ask{}); !slices.Equal(got, []string{"virtual"}) || f.Kind != "veth" || f.Driver != "veth" || len(f.Queues) != 4 || f.SpeedMbit != 10000 || f.MAC == "" {
			t.Errorf("refused for %v: %+v", got, f)
		}
		if got := codes(look(t, "lo"), ports.Ask{}); !slices.Equal(got, []string{"loopback"}) {
			t.Errorf("lo: %v", got)
		}
		if _, err := ports.Inspect("eth9"); err == nil || !strings.Contains(err.Error(), "eth9 here: there are eth1, eth2, far1, far2, lo") {
			t.Errorf("eth9: %v", err)
		}
		if c, err := ports.Counters("eth1"); err != nil || len(c) == 0 {
			t.Errorf("ethtool -S eth1: %v, %v", c, err)
		}
		if c, err := ports.Counters("lo"); err != nil || c == nil || len(c) != 0 {
			t.Errorf("ethtool -S lo: %v, %v", c, err)
		}
		if _, err := ports.Counters("eth9"); err == nil {
			t.Error("eth9 has counters")
		}
	})
}

// A sysfs of another namespace tells of other ports.
func TestSysfsOfAnotherNamespace(t *testing.T) {
	alone(t, func() {
		ip(t, "link add eth1 type veth peer name far1")
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		ip(t, "link add far9 type veth peer name eth1")
		if _, err := ports.Inspect("eth1"); err == nil || !strings.Contains(err.Error(), "another network namespace") {
			t.Errorf("%v", err)
		}
	})
}

// A connection to port 22 is found on the port by which its peer is reached, and on the one that has its address.
func TestSSHConnectionOfANamespace(t *testing.T) {
	alone(t, func() {
		near := fmt.Sprintf("/proc/%d/task/%d/ns/net", unix.Getpid(), unix.Gettid())
		ip(t, `link add eth1 type veth peer name far1
			link add eth2 type veth peer name far2
			link add br0 type bridge
			link add eth3 type veth peer name far3
			link set eth1 master br0
			link set eth1 up
			link set eth2 up
			link set eth3 up
			link set br0 up
			address add 192.0.2.1/32 dev eth2
			route add 192.0.2.0/24 dev br0`)
		listener, err := net.Listen("tcp4", "192.0.2.1:22")
		if err != nil {
			t.Error(err)
			return
		}
		defer listener.Close()
		peer, err := dialFrom(near)
		if err != nil {
			t.Error(err)
			return
		}
		defer peer.Close()
		session, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer session.Close()
		want := session.RemoteAddr().(*net.TCPAddr).AddrPort()
		for name, through := range map[string]bool{"eth1": true, "br0": true, "eth2": true, "eth3": false} {
			f := look(t, name)
			if through != slices.Equal(f.SSH, []string{netip.AddrPortFrom(want.Addr().Unmap(), want.Port()).String()}) {
				t.Errorf("%s carries SSH connections from %v", name, f.SSH)
			}
		}
	})
}

// dialFrom makes a namespace, takes far1 into it, and connects from there.
func dialFrom(near string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return
		}
		self := fmt.Sprint(unix.Gettid())
		for _, args := range [][]string{
			{"nsenter", "--net=" + near, "ip", "link", "set", "far1", "netns", self},
			{"ip", "link", "set", "far1", "up"},
			{"ip", "address", "add", "192.0.2.9/24", "dev", "far1"},
		} {
			if out, failed := exec.Command(args[0], args[1:]...).CombinedOutput(); failed != nil {
				err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), failed, out)
				return
			}
		}
		dialer := net.Dialer{Timeout: 10 * time.Second}
		conn, err = dialer.Dial("tcp4", "192.0.2.1:22")
	}()
	<-done
	return conn, err
}
