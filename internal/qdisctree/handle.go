package qdisctree

import "fmt"

// Parents that are no class (include/uapi/linux/pkt_sched.h).
const (
	handleRoot    = 0xffffffff // TC_H_ROOT
	handleIngress = 0xfffffff1 // TC_H_INGRESS, TC_H_CLSACT
)

// The places of clsact's filters: handle ffff: and TC_H_MIN_INGRESS or TC_H_MIN_EGRESS.
const (
	ingressMajor  = 0xffff0000
	clsactIngress = 0xfffffff2
	clsactEgress  = 0xfffffff3
)

func major(handle uint32) uint32 { return handle & 0xffff0000 }

// handleText writes a handle of a qdisc as tc does: "1:".
func handleText(h uint32) string { return fmt.Sprintf("%x:", h>>16) }

// classText writes a handle of a class as tc does: "1:10", ":1" of a mq without a handle.
func classText(h uint32) string {
	if h>>16 == 0 {
		return fmt.Sprintf(":%x", h)
	}
	return fmt.Sprintf("%x:%x", h>>16, h&0xffff)
}

// placeText writes where a qdisc is, as tc's arguments.
func placeText(parent uint32) string {
	switch parent {
	case handleRoot:
		return "root"
	case handleIngress:
		return "ingress"
	}
	return "parent " + classText(parent)
}

func (q Qdisc) String() string {
	return fmt.Sprintf("qdisc %s (%s %s)", q.Kind, handleText(q.Handle), placeText(q.Parent))
}

func (c Class) String() string {
	return fmt.Sprintf("class %s %s (%s)", c.Kind, classText(c.Handle), placeText(c.Parent))
}
