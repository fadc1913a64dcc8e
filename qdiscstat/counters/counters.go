// Package counters holds the counters of a qdisc as the kernel reports them, their differences, and their
// text as tc prints it. It makes no system call.
package counters

// Qdisc is one qdisc of one interface at one instant. Counters are the kernel's own (gnet_stats,
// include/uapi/linux/gen_stats.h); those of 32 bits wrap, see Delta.
type Qdisc struct {
	Ifindex int    `json:"ifindex"`
	Dev     string `json:"dev,omitempty"`
	Kind    string `json:"kind"`
	Handle  uint32 `json:"handle"`
	Parent  uint32 `json:"parent"` // TC_H_ROOT 0xffffffff; TC_H_CLSACT 0xfffffff1
	Refcnt  uint32 `json:"refcnt,omitempty"`

	Bytes      uint64 `json:"bytes"`
	Packets    uint64 `json:"packets"` // 64 bits where Packets64, else the kernel's u32
	Packets64  bool   `json:"packets64"`
	Qlen       uint32 `json:"qlen"`    // packets of backlog
	Backlog    uint32 `json:"backlog"` // bytes of backlog
	Drops      uint32 `json:"drops"`
	Requeues   uint32 `json:"requeues"`
	Overlimits uint32 `json:"overlimits"`

	// Options is filled only by a call that asks for options, and only for kinds that are decoded.
	Options *Options `json:"options,omitempty"`
}

// Key tells qdiscs apart within one namespace: children of mq that nobody replaced all have handle 0.
type Key struct {
	Ifindex int
	Parent  uint32
	Kind    string
}

// Key is the qdisc's own key.
func (q *Qdisc) Key() Key { return Key{q.Ifindex, q.Parent, q.Kind} }
