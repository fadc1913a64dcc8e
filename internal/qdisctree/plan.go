package qdisctree

import "slices"

// temporary takes the place of a default qdisc, which can't be deleted, so that its own deletion leaves what
// the kernel makes now.
var temporary = Qdisc{Kind: "pfifo", Handle: 0x80f00000, Parent: handleRoot, Options: native.AppendUint32(nil, 1000)}

// plan lists the steps from have to want, none if nothing differs. A tree that differs is deleted and built anew: a replace by
// the same kind keeps the old options (tc_modify_qdisc), and some options are taken only at creation.
func plan(want, have Tree) []step {
	var steps []step
	for _, q := range have.Qdiscs {
		if q.Parent == handleIngress {
			steps = append(steps, deleteQdisc(have.Dev, q))
		}
	}
	if len(Differences(want.egress(), have.egress())) == 0 {
		return steps
	}
	return append(steps, atMTU(want, have, rebuild(want, have))...)
}

// atMTU takes steps at the MTU at which the wanted default qdiscs were made: fq_codel and fq take their quantum from it, and
// nothing can set it later.
func atMTU(want, have Tree, steps []step) []step {
	at := want.madeAt()
	if at == 0 {
		return steps
	}
	return append(append([]step{setMTU(have.Dev, at)}, steps...), setMTU(have.Dev, want.MTU))
}

// rebuild are the steps from one egress tree to another.
func rebuild(want, have Tree) (steps []step) {
	old, root := have.root(), want.root()
	explicit := root != nil && root.Handle != 0
	switch {
	case old != nil && old.Handle != 0:
		steps = append(steps, deleteQdisc(have.Dev, *old))
	case old != nil && !explicit:
		steps = append(steps, addQdisc(have.Dev, temporary), deleteQdisc(have.Dev, temporary))
	}
	switch {
	case explicit:
		steps = append(steps, build(have.Dev, want)...)
	case root != nil && !have.Up:
		// Without a root, an interface that is down has noop until it is brought up.
		steps = append(steps, setUp(have.Dev, true), setUp(have.Dev, false))
	}
	return steps
}

// egress is the tree without ingress, clsact and their filters.
func (t Tree) egress() Tree {
	t.Qdiscs = slices.DeleteFunc(slices.Clone(t.Qdiscs), func(q Qdisc) bool { return q.Parent == handleIngress })
	t.Filters = slices.DeleteFunc(slices.Clone(t.Filters), func(f Filter) bool { return major(f.Parent) == ingressMajor })
	return t
}

// build makes everything that has a handle, parents first, in an order whose dump is that of want where this can be told.
func build(dev string, want Tree) []step {
	var steps []step
	done := map[uint32]bool{handleRoot: true} // qdiscs and classes
	classes := slices.Clone(want.Classes)
	qdiscs := slices.DeleteFunc(slices.Clone(want.Qdiscs), func(q Qdisc) bool { return q.Handle == 0 || q.Parent == handleIngress })
	hasParent := func(q Qdisc) bool {
		return done[q.Parent] || done[major(q.Parent)] && !want.added(q.Parent)
	}
	inOrder := func(q Qdisc) bool { return hasParent(q) && q.Handle == lastOfBucket(qdiscs, q).Handle }
	for {
		if c, ok := takeLast(&classes, func(c Class) bool { return done[major(c.Handle)] && done[c.Parent] }); ok {
			steps = append(steps, addClass(dev, c))
			done[c.Handle] = true
			continue
		}
		q, ok := takeLast(&qdiscs, inOrder)
		if !ok {
			q, ok = takeLast(&qdiscs, hasParent)
		}
		if !ok {
			return steps
		}
		steps = append(steps, addQdisc(dev, q))
		done[q.Handle] = true
	}
}

// lastOfBucket is the last of a list that is in the same bucket of the kernel's hash table. The kernel puts what is new in front
// of its bucket and dumps bucket by bucket (qdisc_hash_add, net/sched/sch_api.c); the root is in none.
func lastOfBucket(list []Qdisc, q Qdisc) Qdisc {
	last := q
	for _, other := range list {
		if other.Parent != handleRoot && q.Parent != handleRoot && bucket(other.Handle) == bucket(q.Handle) {
			last = other
		}
	}
	return last
}

// bucket is hash_32(handle, 4) (include/linux/hash.h).
func bucket(handle uint32) uint32 { return handle * 0x61c88647 >> 28 }

// added tells whether a class is of a qdisc whose classes are added by messages of their own.
func (t Tree) added(class uint32) bool {
	q := t.qdisc(major(class))
	if q == nil {
		return false
	}
	_, ok := classKinds[q.Kind]
	return ok
}

// takeLast takes the last that is ready out of a list.
func takeLast[T any](list *[]T, ready func(T) bool) (T, bool) {
	for i, v := range slices.Backward(*list) {
		if ready(v) {
			*list = slices.Delete(*list, i, i+1)
			return v, true
		}
	}
	var none T
	return none, false
}
