package counters

// Leaves returns the qdiscs that count each packet of their device once; see AppendLeaves.
func Leaves(qs []Qdisc) []Qdisc { return AppendLeaves(nil, qs) }

// AppendLeaves appends to dst those of qs to sum over: a classful qdisc and its children count the same
// packets and drops, so of mq its children stand and of tbf its child. A qdisc that is another listed qdisc's
// parent on the same device is no leaf; nor are ingress and clsact, which queue nothing.
func AppendLeaves(dst, qs []Qdisc) []Qdisc {
	for i := range qs {
		if qs[i].Parent != HandleClsact && !hasChild(qs, &qs[i]) {
			dst = append(dst, qs[i])
		}
	}
	return dst
}

// hasChild compares the major number of parents with the handle. The default mq has handle 0, and so have
// its children, which are not their own children: of qdiscs with handle 0 only a root can have any.
func hasChild(qs []Qdisc, q *Qdisc) bool {
	major := q.Handle >> 16
	if major == 0 && !q.Root() {
		return false
	}
	for i := range qs {
		p := qs[i].Parent
		if qs[i].Ifindex == q.Ifindex && p != HandleRoot && p != HandleClsact && p != 0 && p>>16 == major {
			return true
		}
	}
	return false
}
