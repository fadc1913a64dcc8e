package traffic

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// sendTimeout is how long a blocking send waits before the sender looks whether it is to end.
const sendTimeout = 100 * time.Millisecond

// txTimestamping asks for a software timestamp of each send, by number and without the packet's own bytes
// (Documentation/networking/timestamping.rst).
const txTimestamping = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE |
	unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY

// option is one integer socket option: what is set, and what must read back.
type option struct {
	field string // of the scenario, for the error
	value string // there
	name  string // of the option
	level int
	opt   int
	set   int
	want  int
	why   func(got int) string // what a different value read back means; nil: just the value
}

// options lists what a scenario asks of each socket. An option at the kernel's default is left alone.
func options(t scenarios.Traffic) []option {
	s, f := t.Socket, familyOf(t)
	all := []option{
		// Without it a send whose packet a qdisc drops is told 0 (udp_send_skb, net/ipv4/udp.c; udp_v6_send_skb, net/ipv6/udp.c).
		{field: "traffic", value: f.recverrName, name: f.recverrName, level: f.level, opt: f.recverr, set: 1, want: 1},
		{field: "traffic.socket.priority", value: fmt.Sprint(s.Priority), name: "SO_PRIORITY",
			level: unix.SOL_SOCKET, opt: unix.SO_PRIORITY, set: s.Priority, want: s.Priority},
	}
	switch {
	case s.SndBufForce > 0:
		all = append(all, sndbuf("traffic.socket.sndbuf_force", "SO_SNDBUFFORCE", unix.SO_SNDBUFFORCE, s.SndBufForce))
	case s.SndBuf > 0:
		all = append(all, sndbuf("traffic.socket.sndbuf", "SO_SNDBUF", unix.SO_SNDBUF, s.SndBuf))
	}
	if s.TxTimestamping {
		all = append(all, option{field: "traffic.socket.tx_timestamping", value: "on", name: "SO_TIMESTAMPING",
			level: unix.SOL_SOCKET, opt: unix.SO_TIMESTAMPING, set: txTimestamping, want: txTimestamping})
	}
	if s.ZeroCopy {
		all = append(all, option{field: "traffic.socket.zerocopy", value: "on", name: "SO_ZEROCOPY",
			level: unix.SOL_SOCKET, opt: unix.SO_ZEROCOPY, set: 1, want: 1})
	}
	if s.GSO > 0 {
		all = append(all, option{field: "traffic.socket.gso", value: fmt.Sprint(s.GSO), name: "UDP_SEGMENT",
			level: unix.IPPROTO_UDP, opt: unix.UDP_SEGMENT, set: t.Payload, want: t.Payload})
	}
	return all
}

// sndbuf is a send buffer as SO_SNDBUF reads it back: the kernel doubles what it is given (socket(7)).
func sndbuf(field, name string, opt int, size scenarios.Size) option {
	return option{field: field, value: fmt.Sprintf("%d bytes", size), name: name, level: unix.SOL_SOCKET, opt: opt,
		set: int(size) / 2, want: int(size), why: func(got int) string {
			return fmt.Sprintf("the kernel made it %d bytes, an even number of at least SOCK_MIN_SNDBUF and at most twice net.core.wmem_max (%s)", got, sysctl("net.core.wmem_max"))
		}}
}

// apply sets an option and reads it back.
func (o option) apply(fd int) error {
	refused := &OptionError{Field: o.field, Option: o.name, Value: o.value}
	if err := unix.SetsockoptInt(fd, o.level, o.opt, o.set); err != nil {
		refused.Err, refused.Why = err, hints[hint{o.name, err}]
		return refused
	}
	got, err := unix.GetsockoptInt(fd, o.level, readBack(o.opt))
	if err != nil {
		refused.Err, refused.Why = err, "it was set but can't be read back"
		return refused
	}
	if got == o.want {
		return nil
	}
	refused.Why = fmt.Sprintf("the kernel made it %d", got)
	if o.why != nil {
		refused.Why = o.why(got)
	}
	return refused
}

// readBack is the option that reads what another has set.
func readBack(opt int) int {
	if opt == unix.SO_SNDBUFFORCE {
		return unix.SO_SNDBUF
	}
	return opt
}

// enotsupp is ENOTSUPP of linux/errno.h, which leaks from setsockopt and has no name in user space.
const enotsupp = syscall.Errno(524)

const noSource = "the interface needs an address to send from, and for IPv6 one whose duplicate address detection is over"

type hint struct {
	option string
	err    error
}

// hints say what to do about the errnos that users meet.
var hints = map[hint]string{
	{"SO_SNDBUFFORCE", unix.EPERM}:    "it needs CAP_NET_ADMIN in the initial user namespace: run as root, or set sndbuf",
	{"SO_PRIORITY", unix.EPERM}:       "values beyond 0..6 need CAP_NET_ADMIN or CAP_NET_RAW",
	{"SO_ZEROCOPY", enotsupp}:         "kernels have it for UDP from 5.0 on",
	{"SO_ZEROCOPY", unix.ENOPROTOOPT}: "kernels have it from 4.14 on",
	{"UDP_SEGMENT", unix.ENOPROTOOPT}: "kernels have it from 4.18 on",
	{"connect", unix.ENETUNREACH}:     noSource,
	{"connect", unix.EADDRNOTAVAIL}:   noSource,
}

// applyAll makes a new socket what the scenario asks for, on the interface it is to send out of.
func applyAll(fd int, t scenarios.Traffic, ifindex int) error {
	for _, o := range options(t) {
		if err := o.apply(fd); err != nil {
			return err
		}
	}
	if err := applyPacing(fd, t); err != nil {
		return err
	}
	if t.Socket.Blocking {
		if err := applyTimeout(fd); err != nil {
			return err
		}
	}
	return applyMulticast(fd, familyOf(t), ifindex)
}

// applyPacing sets SO_MAX_PACING_RATE, bytes a second; 64 bits wide from 5.0 on. Only fq obeys it for UDP, and
// whether fq is there is for the topology to know.
func applyPacing(fd int, t scenarios.Traffic) error {
	rate := bytesPerSecond(t.Socket.MaxPacingRate, t.Payload+familyOf(t).overhead)
	if rate == 0 {
		return nil
	}
	refused := &OptionError{Field: "traffic.socket.max_pacing_rate", Option: "SO_MAX_PACING_RATE", Value: fmt.Sprintf("%d bytes a second", rate)}
	if err := unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, rate); err != nil {
		refused.Err = err
		return refused
	}
	got, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
	if err != nil {
		refused.Err, refused.Why = err, "it was set but can't be read back"
		return refused
	}
	if got != rate {
		refused.Why = fmt.Sprintf("the kernel made it %d", got)
		return refused
	}
	return nil
}

func applyTimeout(fd int) error {
	want := unix.NsecToTimeval(sendTimeout.Nanoseconds())
	refused := &OptionError{Field: "traffic.socket.blocking", Option: "SO_SNDTIMEO", Value: sendTimeout.String()}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &want); err != nil {
		refused.Err = err
		return refused
	}
	got, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil {
		refused.Err, refused.Why = err, "it was set but can't be read back"
		return refused
	}
	// The kernel keeps it in jiffies, 10 ms at most.
	if d := time.Duration(got.Nano()) - sendTimeout; d.Abs() > 10*time.Millisecond {
		refused.Why = fmt.Sprintf("the kernel made it %v", time.Duration(got.Nano()))
		return refused
	}
	return nil
}

// applyMulticast keeps packets on the line (TTL or hop limit 1), off this machine's own receivers, and on the interface given.
// IPv4 does not tell the interface (getsockopt IP_MULTICAST_IF knows an address only): the counter on the bond does.
func applyMulticast(fd int, f *family, ifindex int) error {
	pc := f.packetConn(fd)
	steps := []struct {
		name, value string
		set         func() error
		ok          func() (bool, error)
	}{
		{f.hopsName, "1", func() error { return pc.SetMulticastHops(1) },
			func() (bool, error) { n, err := pc.MulticastHops(); return n == 1, err }},
		{f.loopName, "off", func() error { return pc.SetMulticastLoopback(false) },
			func() (bool, error) { on, err := pc.MulticastLoopback(); return !on, err }},
		{f.ifName, fmt.Sprintf("interface %d", ifindex), func() error { return f.multicastInterface(fd, ifindex) },
			func() (bool, error) { return true, nil }},
	}
	for _, s := range steps {
		refused := &OptionError{Field: "traffic", Option: s.name, Value: s.value}
		if err := s.set(); err != nil {
			refused.Err = err
			return refused
		}
		ok, err := s.ok()
		if err != nil || !ok {
			refused.Err, refused.Why = err, "it did not read back"
			return refused
		}
	}
	return nil
}

// sysctl reads one, for an error's text. Private network namespaces of older kernels don't show net.core.*mem*.
func sysctl(name string) string {
	b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return "not shown here"
	}
	return strings.TrimSpace(string(b))
}
