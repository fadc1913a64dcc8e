package qdisctree

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
)

// message is struct tcmsg with its attributes, as far as this package wants it.
type message struct {
	ifindex        int
	handle, parent uint32
	info           uint32
	kind           string
	options        []byte
	extras         []string
}

// rateEstimator is TCA_STATS_RATE_EST: only there while a rate estimator runs (gnet_stats_copy_rate_est).
const rateEstimator = nl.TCA_STATS_RATE_EST

// decode reads RTM_NEWQDISC, RTM_NEWTCLASS or RTM_NEWTFILTER. It reports false only for one that is too short.
func decode(msg []byte) (m message, ok bool) {
	if len(msg) < nl.SizeofTcMsg {
		return m, false
	}
	m = message{ifindex: int(int32(u32(msg, 4))), handle: u32(msg, 8), parent: u32(msg, 12), info: u32(msg, 16)}
	for typ, data := range attrs(msg[nl.SizeofTcMsg:]) {
		switch typ {
		case nl.TCA_KIND:
			m.kind = text(data)
		case nl.TCA_OPTIONS:
			m.options = data
		case nl.TCA_STAB:
			m.extras = append(m.extras, "size table")
		case nl.TCA_INGRESS_BLOCK, nl.TCA_EGRESS_BLOCK:
			m.extras = append(m.extras, fmt.Sprintf("shared block %d", u32(data, 0)))
		case nl.TCA_STATS2:
			if find(data, rateEstimator) != nil {
				m.extras = append(m.extras, "rate estimator")
			}
		}
	}
	return m, true
}

func (m message) qdisc() Qdisc {
	return Qdisc{
		Kind: m.kind, Handle: m.handle, Parent: m.parent, Options: set(kinds, m.kind, m.options),
		Extras: append(m.extras, extrasOf(kinds, m.kind, m.options)...),
	}
}

func (m message) class() Class {
	return Class{
		Kind: m.kind, Handle: m.handle, Parent: m.parent, Options: set(classKinds, m.kind, m.options),
		Extras: append(m.extras, extrasOf(classKinds, m.kind, m.options)...),
	}
}

// filter takes the place from the request: a message of a shared block has the block's number there.
func (m message) filter(parent uint32) Filter {
	return Filter{Kind: m.kind, Parent: parent, Priority: uint16(m.info >> 16)}
}
