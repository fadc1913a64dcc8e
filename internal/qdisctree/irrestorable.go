package qdisctree

import (
	"fmt"
	"math"
	"strings"
)

// Irrestorable says in one clause each what Restore can't put back, by name, with what to do about it where there is something.
func (t Tree) Irrestorable() []string {
	var list []string
	ofDefaultMq := map[string]bool{}
	for _, q := range t.Qdiscs {
		why := t.cannot(q)
		if why == "" || major(q.Parent) == 0 && ofDefaultMq[q.Kind] {
			continue // the queues of a mq without a handle are all alike: one clause for all
		}
		ofDefaultMq[q.Kind] = major(q.Parent) == 0
		list = append(list, why)
	}
	for _, c := range t.Classes {
		if len(c.Extras) > 0 {
			list = append(list, fmt.Sprintf("%s with a %s", c, strings.Join(c.Extras, ", a ")))
		}
	}
	for _, place := range t.filterPlaces() {
		if clause := t.filtersAt(place); clause != "" {
			list = append(list, clause)
		}
	}
	return append(list, t.unfilled()...)
}

// cannot says why a qdisc can't be put back, "" if it can.
func (t Tree) cannot(q Qdisc) string {
	_, known := kinds[q.Kind]
	switch {
	case q.Parent == handleIngress:
		return fmt.Sprintf("qdisc %s: remove it (tc qdisc del dev %s %s)", q.Kind, t.Dev, q.Kind)
	case !known:
		return fmt.Sprintf("%s: only %s can be put back", q, strings.Join(Kinds(), ", "))
	case len(q.Extras) > 0:
		return fmt.Sprintf("%s with a %s", q, strings.Join(q.Extras, ", a "))
	case q.Handle != 0 || q.Kind == "mq":
		return ""
	}
	return t.cannotDefault(q)
}

// cannotDefault says why the kernel would not make this qdisc by itself once more. Nothing can set the options of a qdisc
// without a handle (tc_modify_qdisc, net/sched/sch_api.c).
func (t Tree) cannotDefault(q Qdisc) string {
	// noqueue at the root is that of an interface that needs no queue (IFF_NO_QUEUE), whatever the default is.
	asDefault := q.Kind == t.Default || t.Default == "" || q.Kind == "noqueue" && q.Parent == handleRoot
	if !asDefault {
		return fmt.Sprintf("%s without a handle, which is not what net.core.default_qdisc would make (%s): %s", q, t.Default, t.advice(q))
	}
	for _, d := range defaults[q.Kind] {
		if d.stale(q, t) && (d.at == nil || t.madeAt() == 0) {
			got := d.value(q.Options)
			return fmt.Sprintf("%s without a handle, whose %s of %d was made before the interface's %s became %d: %s", q, d.name, got, d.from, d.of(t), t.advice(q))
		}
	}
	return ""
}

// advice is how to get a qdisc that can be put back.
func (t Tree) advice(q Qdisc) string {
	if q.Parent == handleRoot {
		return fmt.Sprintf("give it a handle (tc qdisc replace dev %s root handle 1: %s)", t.Dev, q.Kind)
	}
	if major(q.Parent) == 0 {
		return fmt.Sprintf("have the kernel make it anew (tc qdisc replace dev %[1]s root handle 1: mq, tc qdisc del dev %[1]s root)", t.Dev)
	}
	return fmt.Sprintf("give it a handle (tc qdisc replace dev %s %s %s)", t.Dev, placeText(q.Parent), q.Kind)
}

// made is an option that a default qdisc takes from its interface when it is made.
type made struct {
	name, from string
	value      func(options []byte) uint32
	of         func(Tree) uint32
	made       func(Tree) uint32
	slack      uint32 // how much more it may be: link-layer headers, which the kernel does not tell
	// at is the MTU at which an option of this value is made; nil where it is not the MTU that decides.
	at func(value uint32) uint32
}

// stale tells whether the kernel would make another value now.
func (d made) stale(q Qdisc, t Tree) bool {
	got, wanted := d.value(q.Options), d.made(t)
	return got < wanted || got > wanted+d.slack
}

const (
	ethernetHeader = 14
	// leastMTU keeps IPv6 on the interface (IPV6_MIN_MTU): below it, all that IPv6 has there would go.
	leastMTU = 1280
)

// madeAt is the one MTU at which all default qdiscs were made, where that is not the present one and the interface can
// have it for a moment; else 0.
func (t Tree) madeAt() uint32 {
	var at uint32
	for _, q := range t.Qdiscs {
		for _, d := range defaults[q.Kind] {
			if q.Handle != 0 || d.at == nil {
				continue
			}
			mtu := t.MTU
			if d.stale(q, t) {
				mtu = d.at(d.value(q.Options))
			}
			if at != 0 && mtu != at {
				return 0
			}
			at = mtu
		}
	}
	if at == t.MTU || at < leastMTU || t.MTU < leastMTU || at > math.MaxUint16 {
		return 0
	}
	return at
}

// header is more than any link-layer header has.
const header = 64

func mtu(t Tree) uint32 { return t.MTU }

// defaults are those of fq_codel_init, fq_init and fifo_init: psched_mtu is the MTU and the link layer's header.
var defaults = map[string][]made{
	"fq_codel": {{"quantum", "MTU", attr32(fqCodelQuantum), mtu, mtu, header, func(v uint32) uint32 { return v - ethernetHeader }}},
	"fq": {{"quantum", "MTU", attr32(fqQuantum), mtu, func(t Tree) uint32 { return 2 * t.MTU }, 2 * header,
		func(v uint32) uint32 { return v/2 - ethernetHeader }}},
	"pfifo": {{"limit", "txqueuelen", func(b []byte) uint32 { return u32(b, 0) },
		func(t Tree) uint32 { return t.TxQueueLen }, func(t Tree) uint32 { return max(t.TxQueueLen, 1) }, 0, nil}},
}

func attr32(typ uint16) func([]byte) uint32 {
	return func(options []byte) uint32 { return u32(find(options, typ), 0) }
}

// filtersAt names the filters at one place.
func (t Tree) filtersAt(place uint32) string {
	var names []string
	for _, f := range t.Filters {
		if f.Parent == place {
			names = append(names, fmt.Sprintf("%s pref %d", f.Kind, f.Priority))
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("filters at %s (%s)", filterPlace(place), strings.Join(names, ", "))
}

// unfilled finds queues of mq whose qdisc was deleted: mq then has noop there, which drops all and is not dumped (mq_graft,
// net/sched/sch_mq.c), and a new mq would have the default.
func (t Tree) unfilled() []string {
	var list []string
	for _, q := range t.Qdiscs {
		if q.Kind != "mq" {
			continue
		}
		queues := map[uint32]bool{}
		last := uint32(1)
		for _, child := range t.Qdiscs {
			if major(child.Parent) == q.Handle && child.Parent != handleRoot && child.Parent != handleIngress {
				queues[child.Parent&0xffff] = true
				last = max(last, child.Parent&0xffff)
			}
		}
		for n := uint32(1); n <= last; n++ {
			if !queues[n] {
				list = append(list, fmt.Sprintf("%s without a qdisc at %s: give it one (tc qdisc replace dev %s parent %[2]s pfifo_fast)", q, classText(q.Handle|n), t.Dev))
			}
		}
	}
	return list
}
