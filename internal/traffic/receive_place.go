package traffic

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Codes of a receiver's warnings.
const (
	warnNoCarrier = "no-carrier"
	warnFilter    = "rp-filter"
	warnVLAN      = "vlan"
	warnNoFrames  = "no-foreign-frames"
	warnBuffer    = "small-receive-buffer"
)

// Site is a receiver at work on named interfaces, and what is to be known of the machine there.
type Site struct {
	*Collector
	Receiver result.Receiver
	Warnings []result.Warning // what will or may lose packets here
}

// OpenSite makes this machine a member of the scenario's groups on the interfaces, which must be there and up, and starts
// to count. vlan is that of the senders' frames; 0: none. Errors are one sentence.
func OpenSite(names []string, t scenarios.Traffic, vlan int) (*Site, error) {
	interfaces, err := named(names)
	if err != nil {
		return nil, err
	}
	s, cfg := &Site{}, ReceiveConfig{Traffic: t, WithoutFrames: !maySniff()}
	if cfg.WithoutFrames {
		s.warn(warnNoFrames, "Frames that are no datagrams of the groups are not counted: that takes CAP_NET_RAW.")
	}
	for _, x := range interfaces {
		cfg.Ifindexes = append(cfg.Ifindexes, x.Index)
		if link, err := netlink.LinkByIndex(x.Index); err == nil { // what can't be asked is not warned of
			s.warnOfLink(link, vlan)
		}
		s.warnOfFilter(x, t)
	}
	if s.Collector, err = Collect(cfg); err != nil {
		return nil, fmt.Errorf("--interface %s: %w", strings.Join(names, ","), err)
	}
	if s.Receiver, err = s.describe(interfaces, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Site) warn(code, format string, args ...any) {
	s.Warnings = append(s.Warnings, result.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// warnOfLink warns of an interface that can't bring anything as it is. A switch may take tags off: so it is no error.
func (s *Site) warnOfLink(link netlink.Link, vlan int) {
	name := link.Attrs().Name
	// IFF_RUNNING of net.Interface lags behind the carrier (net/core/link_watch.c).
	if link.Attrs().RawFlags&unix.IFF_LOWER_UP == 0 {
		s.warn(warnNoCarrier, "%s has no carrier: nothing can come before it has.", name)
	}
	if of, is := link.(*netlink.Vlan); vlan != 0 && !(is && of.VlanId == vlan) {
		s.warn(warnVLAN, "The senders' frames are in VLAN %d and %s is no interface of it: they come in only where a switch takes the tag off, or at one that 'ip link add link %s name %s.%d type vlan id %d' makes.",
			vlan, name, name, name, vlan, vlan)
	}
}

// maySniff tells whether this process has the right to packet sockets.
func maySniff() bool {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, unix.EPERM)
	}
	_ = unix.Close(fd)
	return true
}

// named are the interfaces of these names.
func named(names []string) ([]net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("--interface is missing: name where the senders' frames come in; %s", candidates(all))
	}
	var found []net.Interface
	for i, name := range names {
		k := slices.IndexFunc(all, func(x net.Interface) bool { return x.Name == name })
		switch {
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("--interface %s is named twice", name)
		case k < 0:
			return nil, fmt.Errorf("--interface %s: there is no such interface; %s", name, candidates(all))
		case all[k].Flags&net.FlagUp == 0:
			return nil, fmt.Errorf("--interface %s: it is down; 'ip link set %s up' brings it up", name, name)
		}
		found = append(found, all[k])
	}
	return found, nil
}

// candidates says which interfaces multicast can come in at.
func candidates(all []net.Interface) string {
	var names []string
	for _, x := range all {
		if x.Flags&net.FlagUp != 0 && x.Flags&net.FlagMulticast != 0 && x.Flags&net.FlagLoopback == 0 {
			names = append(names, x.Name)
		}
	}
	if len(names) == 0 {
		return "no interface here is up and takes multicast"
	}
	return "those that are up and take multicast: " + strings.Join(names, ", ")
}

// describe is what the result is to say of this place.
func (s *Site) describe(interfaces []net.Interface, cfg ReceiveConfig) (result.Receiver, error) {
	r := result.Receiver{Groups: cfg.Traffic.Groups, Port: cfg.Traffic.Port, Foreign: !cfg.WithoutFrames}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return r, os.NewSyscallError("uname", err)
	}
	r.Kernel = unix.ByteSliceToString(name.Release[:])
	for line, x := range interfaces {
		buffer, err := s.receiveBuffer(line)
		if err != nil {
			return r, fmt.Errorf("--interface %s: %w", x.Name, err)
		}
		if buffer < smallBuffer {
			s.warn(warnBuffer, "The receive buffers on %s are %d bytes and may overflow: 'sysctl -w net.core.rmem_max=%d' or the right CAP_NET_ADMIN makes them as large as they are meant to be.", x.Name, buffer, receiveBuffer)
		}
		r.Interfaces = append(r.Interfaces, result.ReceiverInterface{
			Name: x.Name, Ifindex: x.Index, MAC: x.HardwareAddr.String(), MTU: x.MTU, Driver: driver(x.Name), ReceiveBuffer: buffer,
		})
	}
	return r, nil
}

// smallBuffer is less than 10 Gbit/s bring within two naps and a late wake-up: 4 MiB, doubled.
const smallBuffer = 8 << 20

// receiveBuffer is that of a line's first UDP socket, as all are, bytes.
func (c *Collector) receiveBuffer(line int) (int, error) {
	i := slices.IndexFunc(c.sockets, func(x *receiver) bool { return x.line == line && !x.sniffs })
	n, err := unix.GetsockoptInt(c.sockets[i].fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return n, os.NewSyscallError("getsockopt SO_RCVBUF", err)
}

// driver is an interface's, as ethtool -i says; empty where it has none, as lo.
func driver(name string) string {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return ""
	}
	defer e.Close()
	d, err := e.DriverName(name)
	if err != nil {
		return ""
	}
	return d
}

// Gone says that an interface is no longer there, in one sentence; nil while all are.
func (s *Site) Gone() error {
	for _, x := range s.Receiver.Interfaces {
		if _, err := net.InterfaceByIndex(x.Ifindex); err != nil {
			return fmt.Errorf("--interface %s: it is gone: %w", x.Name, err)
		}
	}
	return nil
}
