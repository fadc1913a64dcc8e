package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/thread"
	"bondrepro/scenarios"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ends are the two sides of a workload, in namespaces of their own sample. On loopback they are one.
type ends struct {
	client, server *space
	address        netip.Addr // of the server
	closers        []func() error
}

// ways make the ends, by topology.kind.
var ways = map[string]func(*ends, Job) error{
	scenarios.KindLoopback: (*ends).loopback,
	scenarios.KindVeth:     (*ends).veth,
	scenarios.KindJoined:   (*ends).joined,
}

// carrierLimit is how long the two ends may take to have their carrier.
const carrierLimit = 10 * time.Second

var (
	clientAddress = netip.MustParsePrefix("192.0.2.1/24")
	serverAddress = netip.MustParsePrefix("192.0.2.2/24")
	loopAddress   = netip.MustParseAddr("127.0.0.1")
)

// openEnds makes the job's ends. The caller closes them.
func openEnds(job Job) (_ *ends, err error) {
	e := &ends{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	way, ok := ways[job.Scenario.Topology.Kind]
	if !ok {
		return nil, refuse("topology.kind: a workload can't be measured over a %s", job.Scenario.Topology.Kind)
	}
	return e, way(e, job)
}

// close takes down what was made, last first. What is in a namespace ends with it.
func (e *ends) close() error {
	var errs []error
	for _, f := range slices.Backward(e.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// space makes a namespace that ends with the ends, silent but for the workload.
func (e *ends) space() (*space, error) {
	s, err := newSpace()
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, func() error { s.close(); return nil })
	return s, s.do(silence)
}

// silence turns IPv6 off for every interface to come: neighbour discovery is no part of a workload. A kernel without IPv6 is
// silent already, and where the sysctls can't be written its few packets do no harm here.
func silence() error {
	for _, scope := range []string{"all", "default"} {
		err := writeSysctl("net/ipv6/conf/"+scope+"/disable_ipv6", "1")
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("sysctl net.ipv6.conf.%s.disable_ipv6: %w", scope, err)
		}
	}
	return nil
}

func (e *ends) loopback(job Job) (err error) {
	if e.client, err = e.space(); err != nil {
		return err
	}
	e.server, e.address = e.client, loopAddress
	return e.prepare(job, e.client, "lo", netip.Prefix{}) // the kernel gives lo its address
}

func (e *ends) veth(job Job) (err error) {
	if e.client, err = e.space(); err != nil {
		return err
	}
	if e.server, err = e.space(); err != nil {
		return err
	}
	const name = "eth0"
	if err := e.client.do(func() error { return addPair(name, e.server.fd) }); err != nil {
		return err
	}
	return e.prepareBoth(job, name, name)
}

// addPair is `ip link add NAME type veth peer NAME netns SERVER`, with one queue each way: packets are received in order
// then, and by one CPU at a time. A veth has one for each CPU else (veth_get_num_queues, drivers/net/veth.c).
func addPair(name string, server int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues = name, 1, 1
	pair := netlink.NewVeth(attrs)
	pair.PeerName, pair.PeerNamespace = name, netlink.NsFd(server)
	pair.PeerNumTxQueues, pair.PeerNumRxQueues = 1, 1
	if err := netlink.LinkAdd(pair); err != nil {
		return linkError("ip link add type veth", name, err)
	}
	return nil
}

func (e *ends) prepareBoth(job Job, client, server string) error {
	e.address = serverAddress.Addr()
	if err := e.prepare(job, e.client, client, clientAddress); err != nil {
		return err
	}
	if err := e.prepare(job, e.server, server, serverAddress); err != nil {
		return err
	}
	for _, end := range []struct {
		space *space
		name  string
	}{{e.client, client}, {e.server, server}} {
		if err := end.space.do(func() error { return waitCarrier(end.name) }); err != nil {
			return err
		}
	}
	return nil
}

// prepare sets one end up as the scenario wants it.
func (e *ends) prepare(job Job, s *space, name string, address netip.Prefix) error {
	return s.do(func() error {
		machine, err := e.sysctls(job, job.Scenario.Sysctl)
		if err != nil {
			return err
		}
		link, err := netlink.LinkByName(name)
		if err != nil {
			return linkError("ip link show", name, err)
		}
		if mtu := job.Scenario.Topology.MTU; link.Attrs().MTU != mtu {
			if err := netlink.LinkSetMTU(link, mtu); err != nil {
				return refuse("topology.mtu: %s does not take %d bytes: %v", name, mtu, err)
			}
		}
		if err := e.setOffload(s, name, offload(job.Scenario.Offload)); err != nil {
			return err
		}
		if address.IsValid() {
			a := &netlink.Addr{IPNet: &net.IPNet{IP: address.Addr().AsSlice(), Mask: net.CIDRMask(address.Bits(), 32)}}
			if err := netlink.AddrAdd(link, a); err != nil {
				return linkError("ip address add", address.String()+" dev "+name, err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return linkError("ip link set up", name, err)
		}
		// Those of an interface are there now.
		left, err := e.sysctls(job, machine)
		if err != nil {
			return err
		}
		return e.machineSysctls(job, left)
	})
}

// joined moves two NICs of the machine into namespaces of their own, and back with the ends.
func (e *ends) joined(job Job) error {
	names, err := slaveNames(job, job.Slaves)
	if err != nil {
		return err
	}
	if len(names) != 2 {
		return fmt.Errorf("topology.kind joined is two NICs, and there are %d", len(names))
	}
	home, err := openSpace()
	if err != nil {
		return err
	}
	e.closers = append(e.closers, func() error { return unix.Close(home) })
	for i, end := range []**space{&e.client, &e.server} {
		if *end, err = e.space(); err != nil {
			return err
		}
		if err := e.move(names[i], *end, home); err != nil {
			return err
		}
	}
	return e.prepareBoth(job, names[0], names[1])
}

// move is `ip link set NAME netns …`, undone with the ends.
func (e *ends) move(name string, to *space, home int) error {
	if err := thread.Run(func() error { return setSpace(name, to.fd) }); err != nil {
		return err
	}
	e.closers = append(e.closers, func() error { return to.do(func() error { return setSpace(name, home) }) })
	return nil
}

func setSpace(name string, fd int) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return linkError("ip link show", name, err)
	}
	if err := netlink.LinkSetNsFd(link, fd); err != nil {
		return linkError("ip link set netns", name, err)
	}
	return nil
}

// setOffload sets features of an interface, and puts them back with the ends: a NIC outlives them.
func (e *ends) setOffload(s *space, name string, features map[string]bool) error {
	before, err := bondctl.Offload(name, slices.Collect(maps.Keys(features)))
	if err != nil {
		return err
	}
	if err := bondctl.SetOffload(name, features); err != nil {
		return err
	}
	e.closers = append(e.closers, func() error {
		return s.do(func() error { return bondctl.SetOffload(name, before) })
	})
	return nil
}

// sysctls sets those that the calling thread's namespace has and returns the others. Nothing is put back: the namespace
// is the sample's own.
func (e *ends) sysctls(job Job, values map[string]string) (left map[string]string, err error) {
	may, left := mine(values, false)
	_, missing, err := applySysctls(may)
	maps.Copy(left, missing)
	return left, err
}

// machineSysctls sets those that no namespace has, on a machine that is ours, and puts them back with the ends.
func (e *ends) machineSysctls(job Job, values map[string]string) error {
	if !job.Machine {
		return unknownSysctl(values, false)
	}
	var undo func() error
	var missing map[string]string
	err := thread.Run(func() (err error) { // in the process's own namespace
		undo, missing, err = applySysctls(values)
		return err
	})
	if undo != nil {
		e.closers = append(e.closers, func() error { return thread.Run(undo) })
	}
	if err == nil {
		err = unknownSysctl(missing, true)
	}
	return err
}

// linkError is a netlink call that failed.
func linkError(op, object string, err error) error { return fmt.Errorf("%s %s: %w", op, object, err) }

// waitCarrier waits until the interface can send.
func waitCarrier(name string) error {
	for end := time.Now().Add(carrierLimit); ; time.Sleep(time.Millisecond) {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return linkError("ip link show", name, err)
		}
		if link.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has no carrier after %v", name, carrierLimit)
		}
	}
}
