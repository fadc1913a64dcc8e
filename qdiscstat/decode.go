package qdiscstat

import (
	"bondrepro/qdiscstat/counters"

	"golang.org/x/sys/unix"
)

// tcmsgLen is the size of struct tcmsg (include/uapi/linux/rtnetlink.h): u8 family, 3 bytes of padding,
// s32 ifindex, u32 handle, parent, info.
const tcmsgLen = 20

// interner gives the string of a kind without allocating for one it knows.
type interner map[string]string

func (n interner) get(b []byte) string {
	if s, ok := n[string(b)]; ok {
		return s
	}
	if len(n) >= 256 { // more than there are kinds: do not grow on nonsense
		return string(b)
	}
	s := string(b)
	n[s] = s
	return s
}

// decodeQdisc reads the payload of one RTM_NEWQDISC message. It reports false only for one that is too short
// to name its device; whatever else is missing reads as 0. The options are the raw TCA_OPTIONS, inside msg.
func decodeQdisc(msg []byte, kinds interner) (q counters.Qdisc, options []byte, ok bool) {
	if len(msg) < tcmsgLen {
		return q, nil, false
	}
	q.Ifindex = int(int32(u32(msg, 4)))
	q.Handle = u32(msg, 8)
	q.Parent = u32(msg, 12)
	q.Refcnt = u32(msg, 16)

	var stats, legacy []byte
	a := attrs{rest: msg[tcmsgLen:]}
	for a.next() {
		switch a.typ {
		case unix.TCA_KIND:
			q.Kind = kinds.get(text(a.data))
		case unix.TCA_OPTIONS:
			options = a.data
		case unix.TCA_STATS:
			legacy = a.data
		case unix.TCA_STATS2:
			stats = a.data
		}
	}
	s := gnetStats{}
	if stats != nil {
		s = decodeStats2(stats)
	} else if legacy != nil {
		s = decodeStats(legacy)
	}
	s.fill(&q)
	return q, options, true
}
