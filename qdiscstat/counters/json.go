package counters

import (
	"encoding/json"
	"fmt"
	"time"
)

// line has the names, the order and the omissions of `tc -s -j qdisc show` (print_qdisc and
// print_tcstats2_attr, iproute2 6.1), and the time and ifindex besides.
type line struct {
	Time       string `json:"time"`
	Kind       string `json:"kind"`
	Handle     string `json:"handle"`
	Dev        string `json:"dev"`
	Ifindex    int    `json:"ifindex"`
	Root       bool   `json:"root,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Refcnt     uint32 `json:"refcnt,omitempty"`
	Options    any    `json:"options"`
	Bytes      uint64 `json:"bytes"`
	Packets    uint64 `json:"packets"`
	Drops      uint32 `json:"drops"`
	Overlimits uint32 `json:"overlimits"`
	Requeues   uint32 `json:"requeues"`
	Backlog    uint32 `json:"backlog"`
	Qlen       uint32 `json:"qlen"`
}

// AppendJSON appends the qdisc, read at a time, as one line of JSON with the field names of tc -s -j qdisc, ending
// in a newline. It is meant for other programs; Recordings hold the Qdisc itself.
func (q *Qdisc) AppendJSON(dst []byte, at time.Time) ([]byte, error) {
	l := line{
		Time:    at.Format("2006-01-02T15:04:05.000000Z07:00"),
		Kind:    q.Kind,
		Handle:  fmt.Sprintf("%x:", q.Handle>>16),
		Dev:     q.device(),
		Ifindex: q.Ifindex,
		Root:    q.Root(),
		Options: q.Options.kind(),
		Bytes:   q.Bytes, Packets: q.Packets,
		Drops: q.Drops, Overlimits: q.Overlimits, Requeues: q.Requeues,
		Backlog: q.Backlog, Qlen: q.Qlen,
	}
	if !q.Root() && q.Parent != 0 {
		l.Parent = classID(q.Parent)
	}
	if q.Refcnt != 1 {
		l.Refcnt = q.Refcnt
	}
	b, err := json.Marshal(l)
	if err != nil {
		return dst, fmt.Errorf("write qdisc %s of %s as JSON: %w", q.Kind, q.device(), err)
	}
	return append(append(dst, b...), '\n'), nil
}
