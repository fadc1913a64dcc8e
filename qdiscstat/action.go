package qdiscstat

import (
	"bondrepro/qdiscstat/counters"

	"golang.org/x/sys/unix"
)

// Attributes of filters and actions (include/uapi/linux/pkt_cls.h).
const actStats = 4 // TCA_ACT_STATS

// actionsOf maps, as each classifier keeps its actions under a number of its own, a classifier's kind to the attribute in its TCA_OPTIONS that nests its actions.
var actionsOf = map[string]uint16{
	"basic":    3, // TCA_BASIC_ACT
	"bpf":      1, // TCA_BPF_ACT
	"flower":   3, // TCA_FLOWER_ACT
	"fw":       4, // TCA_FW_ACT
	"matchall": 2, // TCA_MATCHALL_ACT
	"u32":      7, // TCA_U32_ACT
}

// Action sums what the actions of the filters at parent of an interface counted, for example of a "matchall
// action continue" at counters.ClsactEgress: an RTM_GETTFILTER dump. Filters of a kind that is not in its
// table count as having no actions. No filter at all is no error: the sum is 0.
func (c *Conn) Action(ifindex int, parent uint32) (counters.Action, error) {
	payload := c.request(unix.RTM_GETTFILTER, unix.NLM_F_DUMP, tcmsgLen)
	native.PutUint32(payload[4:], uint32(ifindex))
	native.PutUint32(payload[12:], parent)

	sum := counters.Action{}
	err := c.roundTrip("dump filters", func(msgType uint16, msg []byte) {
		if msgType == unix.RTM_NEWTFILTER && int(int32(u32(msg, 4))) == ifindex && u32(msg, 12) == parent {
			addFilter(&sum, msg)
		}
	})
	if err != nil {
		return counters.Action{}, err
	}
	return sum, nil
}

// addFilter adds the actions of one RTM_NEWTFILTER message.
func addFilter(sum *counters.Action, msg []byte) {
	if len(msg) < tcmsgLen {
		return
	}
	var kind, options []byte
	a := attrs{rest: msg[tcmsgLen:]}
	for a.next() {
		switch a.typ {
		case unix.TCA_KIND:
			kind = text(a.data)
		case unix.TCA_OPTIONS:
			options = a.data
		}
	}
	nest, known := actionsOf[string(kind)]
	if !known {
		return
	}
	before := sum.Actions
	for a = (attrs{rest: options}); a.next(); {
		if a.typ == nest {
			addActions(sum, a.data)
		}
	}
	if sum.Actions > before {
		sum.Filters++
	}
}

// addActions adds a list of actions: one nest each, numbered by priority, with TCA_ACT_STATS in it.
func addActions(sum *counters.Action, list []byte) {
	for each := (attrs{rest: list}); each.next(); {
		for a := (attrs{rest: each.data}); a.next(); {
			if a.typ != actStats {
				continue
			}
			s := decodeStats2(a.data)
			sum.Actions++
			sum.Bytes += s.bytes
			sum.Packets += s.packets
		}
	}
}
