package counters

import "fmt"

// Special handles (include/uapi/linux/pkt_sched.h).
const (
	HandleRoot   = 0xffffffff // TC_H_ROOT
	HandleClsact = 0xfffffff1 // TC_H_CLSACT, the same number as TC_H_INGRESS

	// ClsactIngress and ClsactEgress are the parents of the filters of a clsact qdisc:
	// TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS) and TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS).
	ClsactIngress = 0xfffffff2
	ClsactEgress  = 0xfffffff3
)

// Root tells whether the qdisc is its device's root.
func (q *Qdisc) Root() bool { return q.Parent == HandleRoot }

// classID writes a handle as print_tc_classid of iproute2 does: "1:2", "1:", ":2", "root", "none".
func classID(h uint32) string {
	major, minor := h>>16, h&0xffff
	switch {
	case h == HandleRoot:
		return "root"
	case h == 0:
		return "none"
	case major == 0:
		return fmt.Sprintf(":%x", minor)
	case minor == 0:
		return fmt.Sprintf("%x:", major)
	}
	return fmt.Sprintf("%x:%x", major, minor)
}
