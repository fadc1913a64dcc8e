package netns

import (
	"errors"
	"fmt"
	"io/fs"

	"bondrepro/internal/thread"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// far is the namespace of the lines' other ends. No thread stays in it; the descriptor keeps it.
type far struct{ fd int }

// newFar makes the namespace and prepares it for the far ends to come.
func newFar() (*far, error) {
	f := &far{}
	err := thread.Run(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return refused("unshare", "CLONE_NEWNET", err)
		}
		const own = "/proc/thread-self/ns/net"
		var err error
		if f.fd, err = unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return refused("open", own, err)
		}
		return farSysctls()
	})
	return f, err
}

// do runs g on a thread in the far namespace, which ends with it.
func (f *far) do(g func() error) error {
	return thread.Run(func() error {
		if err := unix.Setns(f.fd, unix.CLONE_NEWNET); err != nil {
			return refused("setns", "the far side", err)
		}
		return g()
	})
}

// farSysctls let the far ends take datagrams from an address that no route leads back to, over IPv4 and IPv6.
// rp_filter of an interface is the greater of its own and that of "all" (include/linux/inetdevice.h, IN_DEV_RPFILTER).
func farSysctls() error {
	for _, scope := range []string{"all", "default"} {
		if err := setSysctl("net/ipv4/conf/"+scope+"/rp_filter", "0"); err != nil {
			return err
		}
	}
	for _, scope := range []string{"all", "default"} {
		err := setSysctl("net/ipv6/conf/"+scope+"/disable_ipv6", "0")
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // bondctl refuses an IPv6 scenario on a kernel without
			return err
		}
	}
	return nil
}

// up sets the far ends up, silent, and returns their ifindexes in order.
func (f *far) up(pairs []pair) (indexes []int, err error) {
	err = f.do(func() error {
		for _, p := range pairs {
			link, err := netlink.LinkByName(p.far)
			if err != nil {
				return refused("ip link show", p.far, err)
			}
			if mtu := link.Attrs().MTU; mtu != farMTU {
				return fmt.Errorf("ip link add type veth: %s has the MTU %d, not %d", p.far, mtu, farMTU)
			}
			if err := silence(link); err != nil {
				return err
			}
			if err := netlink.LinkSetUp(link); err != nil {
				return refused("ip link set up", p.far, err)
			}
			indexes = append(indexes, link.Attrs().Index)
		}
		return nil
	})
	return indexes, err
}

// silence keeps a far end from sending: the receivers' IGMP and MLD reports would come in at the bond, and clsact
// counts what comes in, too. blackhole (net/sched/sch_blackhole.c) is part of every kernel that has qdiscs.
func silence(link netlink.Link) error {
	return refused("tc qdisc add root blackhole", link.Attrs().Name, netlink.QdiscAdd(&netlink.GenericQdisc{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT},
		QdiscType:  "blackhole",
	}))
}
