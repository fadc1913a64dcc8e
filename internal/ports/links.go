package ports

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// dumpTries bounds how often a dump that something else changed meanwhile is asked for again.
const dumpTries = 10

// again asks until a dump is whole.
func again[T any](dump func() (T, error)) (all T, err error) {
	for range dumpTries {
		all, err = dump()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, err
}

// link is one interface as rtnetlink tells of it.
type link struct {
	netlink.LinkAttrs
	kind   string
	maxMTU int
}

// readLinks is `ip -d link show`.
func readLinks() ([]link, error) {
	messages, err := again(func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
		req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
		return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	})
	if err != nil {
		return nil, fmt.Errorf("ip link show: %w", err)
	}
	var links []link
	for _, m := range messages {
		l, err := decodeLink(m)
		if err != nil {
			return nil, fmt.Errorf("ip link show: %w", err)
		}
		links = append(links, l)
	}
	return links, nil
}

// decodeLink reads one RTM_NEWLINK, less its header.
func decodeLink(m []byte) (link, error) {
	decoded, err := netlink.LinkDeserialize(nil, m)
	if err != nil {
		return link{}, err
	}
	l := link{LinkAttrs: *decoded.Attrs()}
	attrs, err := nl.ParseRouteAttr(m[unix.SizeofIfInfomsg:])
	if err != nil {
		return link{}, err
	}
	for _, a := range attrs {
		switch a.Attr.Type {
		case unix.IFLA_MAX_MTU: // the library has no field for it
			l.maxMTU = int(nl.NativeEndian().Uint32(a.Value))
		case unix.IFLA_LINKINFO: // nor a kind for hardware, which it calls "device"
			info, err := nl.ParseRouteAttr(a.Value)
			if err != nil {
				return link{}, err
			}
			for _, i := range info {
				if i.Attr.Type == unix.IFLA_INFO_KIND {
					l.kind = nl.BytesToString(i.Value)
				}
			}
		}
	}
	return l, nil
}

func names(links []link) []string {
	var all []string
	for _, l := range links {
		all = append(all, l.Name)
	}
	slices.Sort(all)
	return all
}

func nameOf(links []link, ifindex int) string {
	for _, l := range links {
		if l.Index == ifindex {
			return l.Name
		}
	}
	return ""
}

// Slaves names the interfaces that have the given one as their master.
func Slaves(bond string) ([]string, error) {
	links, err := readLinks()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, l := range links {
		if l.MasterIndex != 0 && nameOf(links, l.MasterIndex) == bond {
			all = append(all, l.Name)
		}
	}
	return all, nil
}

// facts are those that rtnetlink tells.
func (l link) facts(links []link) Facts {
	f := Facts{
		Name: l.Name, Ifindex: l.Index, Kind: l.kind, Link: l.EncapType,
		Up: l.RawFlags&unix.IFF_UP != 0, Carrier: l.RawFlags&unix.IFF_LOWER_UP != 0,
		MTU: l.MTU, MaxMTU: l.maxMTU, MAC: l.HardwareAddr.String(), Master: nameOf(links, l.MasterIndex),
	}
	if l.Statistics != nil {
		f.TxPackets = l.Statistics.TxPackets
	}
	return f
}

// readAddresses are those that were given to the interface: `ip address show dev NAME`.
func readAddresses(ifindex int) ([]netip.Prefix, error) {
	all, err := again(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("ip address show: %w", err)
	}
	var given []netip.Prefix
	for _, a := range all {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok || a.LinkIndex != ifindex {
			continue
		}
		ones, _ := a.Mask.Size()
		if p := netip.PrefixFrom(ip.Unmap(), ones); !madeByKernel(p) {
			given = append(given, p)
		}
	}
	return given, nil
}

// madeByKernel tells of the address that every port that is up has, made of its MAC address or of a secret
// (net/ipv6/addrconf.c, addrconf_addr_gen). It comes back by itself.
func madeByKernel(p netip.Prefix) bool {
	return p.Addr().Is6() && p.Addr().IsLinkLocalUnicast()
}
