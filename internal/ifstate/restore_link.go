package ifstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// setLink changes attributes of an interface, and those flags that change has set.
func setLink(index int, flags, change uint32, attrs ...attribute) error {
	header := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(header[4:], uint32(index))
	binary.NativeEndian.PutUint32(header[8:], flags)
	binary.NativeEndian.PutUint32(header[12:], change)
	return send(unix.RTM_NEWLINK, 0, join(header, attrs))
}

// removeMade removes the interfaces that we made.
func (r *restorer) removeMade() error {
	for _, m := range r.made {
		if err := r.read(); err != nil {
			return err
		}
		if !r.isOurs(m) {
			continue
		}
		header := make([]byte, unix.SizeofIfInfomsg)
		binary.NativeEndian.PutUint32(header[4:], uint32(m.Ifindex))
		r.do(fault{m.Name, whatMade, ""}, "ip link del dev "+m.Name, func() error {
			if err := send(unix.RTM_DELLINK, 0, header); !errors.Is(err, unix.ENODEV) {
				return err
			}
			return nil
		})
	}
	return nil
}

// whatMade is Leftover.What of an interface that we made.
const whatMade = "interface made here"

// isOurs tells whether an interface that we made is there.
func (r *restorer) isOurs(m Made) bool {
	l := byIndex(r.all, m.Ifindex)
	return l != nil && l.name == m.Name
}

func (r *restorer) queueLength(i *Interface, l link) error {
	if l.txQueueLen != i.TxQueueLen {
		r.do(fault{i.Name, "txqueuelen", ""}, fmt.Sprintf("ip link set dev %s txqueuelen %d", l.name, i.TxQueueLen), func() error {
			return setLink(l.index, 0, 0, attribute{unix.IFLA_TXQLEN, bytes32(uint32(i.TxQueueLen))})
		})
	}
	return nil
}

// attributes puts back MAC, MTU, group, link mode and flags. A slave's MAC is its bond's affair.
func (r *restorer) attributes(i *Interface, l link) error {
	if i.MAC != "" && l.mac != i.MAC && (i.Master == "" || i.MasterKind != "bond") {
		r.setMAC(i, &l, i.MAC)
	}
	if l.mtu != i.MTU {
		r.do(fault{i.Name, "mtu", ""}, fmt.Sprintf("ip link set dev %s mtu %d", l.name, i.MTU), func() error {
			return setLink(l.index, 0, 0, attribute{unix.IFLA_MTU, bytes32(uint32(i.MTU))})
		})
	}
	if l.group != i.Group {
		r.do(fault{i.Name, "group", ""}, fmt.Sprintf("ip link set dev %s group %d", l.name, i.Group), func() error {
			return setLink(l.index, 0, 0, attribute{unix.IFLA_GROUP, bytes32(i.Group)})
		})
	}
	if l.mode != i.LinkMode {
		words := map[uint8]string{0: "default", 1: "dormant"}
		r.do(fault{i.Name, "link mode", ""}, fmt.Sprintf("ip link set dev %s mode %s", l.name, words[i.LinkMode]), func() error {
			return setLink(l.index, 0, 0, attribute{unix.IFLA_LINKMODE, []byte{i.LinkMode}})
		})
	}
	for bit := uint32(1); bit <= settable; bit <<= 1 {
		if bit&settable == 0 || bit == unix.IFF_UP || (l.flags^i.Flags)&bit == 0 {
			continue
		}
		r.do(fault{i.Name, "flags", ""}, flagCommand(l.name, bit, i.Flags&bit != 0), func() error {
			return setLink(l.index, i.Flags&bit, bit)
		})
	}
	return nil
}

func flagCommand(name string, bit uint32, on bool) string {
	word := fmt.Sprintf("flag-%#x", bit)
	for _, f := range flagWords {
		if f.flag == bit {
			word, on = f.word, on != f.inverse
		}
	}
	return fmt.Sprintf("ip link set dev %s %s %s", name, word, map[bool]string{true: "on", false: "off"}[on])
}

// setMAC takes the interface down for it where the driver wants that (IFF_LIVE_ADDR_CHANGE).
func (r *restorer) setMAC(i *Interface, l *link, address string) {
	mac, err := net.ParseMAC(address)
	if err != nil {
		r.errs[fault{i.Name, "MAC", ""}] = err.Error()
		return
	}
	set := func() bool {
		return r.do(fault{i.Name, "MAC", ""}, fmt.Sprintf("ip link set dev %s address %s", l.name, address), func() error {
			return setLink(l.index, 0, 0, attribute{unix.IFLA_ADDRESS, mac})
		})
	}
	if !set() && l.up() && r.setUp(i, *l, false) {
		l.flags &^= unix.IFF_UP
		set()
	}
}

func (r *restorer) setUp(i *Interface, l link, up bool) bool {
	word, flags := "down", uint32(0)
	if up {
		word, flags = "up", unix.IFF_UP
	}
	return r.do(fault{i.Name, "flags", ""}, fmt.Sprintf("ip link set dev %s %s", l.name, word), func() error {
		return setLink(l.index, flags, unix.IFF_UP)
	})
}

func (r *restorer) upOrDown(i *Interface, l link) error {
	if want := i.Flags&unix.IFF_UP != 0; want != l.up() {
		r.setUp(i, l, want)
	}
	return nil
}

// offload puts back features and channels.
func (r *restorer) offload(i *Interface, l link) error {
	tool, err := openEthtool()
	if err != nil {
		return err
	}
	defer tool.close()
	if now := tool.channels(l.name); i.Channels != nil && now != nil && *now != *i.Channels {
		command := fmt.Sprintf("ethtool -L %s rx %d tx %d other %d combined %d", l.name, i.Channels.Rx, i.Channels.Tx, i.Channels.Other, i.Channels.Combined)
		r.do(fault{i.Name, "channels", ""}, command, func() error {
			return tool.setChannels(l.name, *i.Channels)
		})
	}
	now, err := tool.features(l.name)
	if err != nil {
		return nil // it went: the next phase sees that
	}
	for _, name := range slices.Sorted(maps.Keys(i.Features)) {
		want := i.Features[name]
		if f, ok := now[name]; !ok || !f.Available || f.Requested == want.Requested {
			continue
		}
		command := fmt.Sprintf("ethtool -K %s %s %s", l.name, name, map[bool]string{true: "on", false: "off"}[want.Requested])
		r.do(fault{i.Name, "feature " + name, ""}, command, func() error {
			return tool.setFeature(l.name, name, want.Requested)
		})
	}
	return nil
}

// settings puts back the interface's sysctls, those that are there now.
func (r *restorer) settings(i *Interface, l link) error {
	for _, path := range inOrder(i.Sysctls) {
		want, ok := i.Sysctls[path]
		if !ok {
			continue
		}
		now, err := readSysctl(path, l.name)
		if errors.Is(err, unix.ENOENT) || err == nil && now == want {
			continue
		}
		what := "sysctl " + sysctlName(path, i.Name)
		r.do(fault{i.Name, what, ""}, fmt.Sprintf("sysctl -w %s=%q", sysctlName(path, l.name), want), func() error {
			return writeSysctl(path, l.name, want)
		})
	}
	return nil
}

// awaitCarrier waits until every interface that had carrier has it again.
func (r *restorer) awaitCarrier() error {
	for {
		if err := r.read(); err != nil {
			return err
		}
		waiting := false
		for n, m := range r.pairs() {
			i := r.want.Interfaces[n]
			if m < 0 || !i.Carrier || i.Flags&unix.IFF_UP == 0 {
				continue
			}
			l := r.all[m]
			waiting = waiting || l.up() && !(l.flags&unix.IFF_LOWER_UP != 0 && (i.OperState != operUp || operText(l.oper) == operUp))
		}
		if !waiting || time.Now().After(r.carrierUntil) {
			return nil
		}
		if err := r.sleep(); err != nil {
			return err
		}
	}
}

// nested is an attribute with attributes in it.
func nested(kind uint16, all ...attribute) attribute {
	return attribute{kind | unix.NLA_F_NESTED, join(nil, all)}
}

func words(s string) []byte { return nl.NonZeroTerminated(s) }
