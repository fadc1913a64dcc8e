package qdisctree

import (
	"fmt"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// step is one message that changes something, and the command line that does the same.
type step struct {
	command string
	request func(ifindex int) *nl.NetlinkRequest
}

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL

func tcStep(command string, msgType, flags int, handle, parent uint32, kind string, options []byte) step {
	return step{command, func(ifindex int) *nl.NetlinkRequest {
		r := nl.NewNetlinkRequest(msgType, flags|unix.NLM_F_ACK)
		r.AddData(&nl.TcMsg{Ifindex: int32(ifindex), Handle: handle, Parent: parent})
		if kind != "" {
			r.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(kind)))
		}
		if options != nil {
			r.AddData(nl.NewRtAttr(nl.TCA_OPTIONS, options))
		}
		return r
	}}
}

// addQdisc makes a qdisc at an empty place, or at one with a qdisc that the kernel made.
func addQdisc(dev string, q Qdisc) step {
	command := fmt.Sprintf("tc qdisc add dev %s %s handle %s %s", dev, placeText(q.Parent), handleText(q.Handle), q.Kind)
	return tcStep(withWords(command, wordsOf(kinds, q.Kind, q.Options)), unix.RTM_NEWQDISC, create, q.Handle, q.Parent, q.Kind, q.Options)
}

func addClass(dev string, c Class) step {
	parent := c.Parent
	if parent == handleRoot {
		parent = major(c.Handle)
	}
	at := classText(parent)
	if parent&0xffff == 0 {
		at = handleText(parent)
	}
	command := fmt.Sprintf("tc class add dev %s parent %s classid %s %s", dev, at, classText(c.Handle), c.Kind)
	return tcStep(withWords(command, wordsOf(classKinds, c.Kind, c.Options)), unix.RTM_NEWTCLASS, create, c.Handle, c.Parent, c.Kind, c.Options)
}

func deleteQdisc(dev string, q Qdisc) step {
	place := placeText(q.Parent)
	if q.Parent == handleIngress {
		place = q.Kind // "ingress" or "clsact"
	}
	return tcStep(fmt.Sprintf("tc qdisc del dev %s %s", dev, place), unix.RTM_DELQDISC, 0, 0, q.Parent, "", nil)
}

// setUp brings the interface up or down.
func setUp(dev string, up bool) step {
	word, flags := "down", uint32(0)
	if up {
		word, flags = "up", unix.IFF_UP
	}
	return step{fmt.Sprintf("ip link set dev %s %s", dev, word), func(ifindex int) *nl.NetlinkRequest {
		r := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
		m := nl.NewIfInfomsg(unix.AF_UNSPEC)
		m.Index, m.Change, m.Flags = int32(ifindex), unix.IFF_UP, flags
		r.AddData(m)
		return r
	}}
}

// setMTU sets the interface's MTU, bytes.
func setMTU(dev string, mtu uint32) step {
	return step{fmt.Sprintf("ip link set dev %s mtu %d", dev, mtu), func(ifindex int) *nl.NetlinkRequest {
		r := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
		m := nl.NewIfInfomsg(unix.AF_UNSPEC)
		m.Index = int32(ifindex)
		r.AddData(m)
		r.AddData(nl.NewRtAttr(unix.IFLA_MTU, native.AppendUint32(nil, mtu)))
		return r
	}}
}

func withWords(command string, words []string) string {
	return strings.Join(append([]string{command}, words...), " ")
}
