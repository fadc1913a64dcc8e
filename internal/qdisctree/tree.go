package qdisctree

import (
	"maps"
	"slices"
)

// Tree is all that is queueing on an interface. It is data: it may be written as JSON and read back later.
type Tree struct {
	Dev        string // the interface's name when it was read: for texts only
	Up         bool   // IFF_UP
	MTU        uint32 // bytes
	TxQueueLen uint32 // packets
	// Default is net.core.default_qdisc, "" where it can't be read: in all network namespaces but the first.
	Default string

	Qdiscs  []Qdisc  // in the order of the dump; none while the interface was never up
	Classes []Class  // of the kinds of ClassKinds only: the other kinds make theirs by themselves
	Filters []Filter // each priority of each place
}

// Qdisc is one qdisc.
type Qdisc struct {
	Kind    string
	Handle  uint32   // 0: made by the kernel
	Parent  uint32   // a class, or TC_H_ROOT, or TC_H_CLSACT
	Options []byte   `json:",omitempty"` // TCA_OPTIONS of an RTM_NEWQDISC that makes this qdisc; of an unknown kind as dumped
	Extras  []string `json:",omitempty"` // what else it has that can't be put back: "size table", …
}

// Class is a class that somebody added.
type Class struct {
	Kind    string
	Handle  uint32
	Parent  uint32   // a class, or TC_H_ROOT
	Options []byte   `json:",omitempty"` // as Qdisc.Options, of an RTM_NEWTCLASS
	Extras  []string `json:",omitempty"`
}

// Filter is the filters of one priority at one place.
type Filter struct {
	Kind     string
	Parent   uint32 // a qdisc or a class; 0 is a root without a handle
	Priority uint16
}

// Kinds are the qdiscs that can be put back, in alphabetical order.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// root is the qdisc at the top, nil if there is none.
func (t Tree) root() *Qdisc {
	for i := range t.Qdiscs {
		if t.Qdiscs[i].Parent == handleRoot {
			return &t.Qdiscs[i]
		}
	}
	return nil
}

// qdisc is the one with the handle, nil if there is none.
func (t Tree) qdisc(handle uint32) *Qdisc {
	for i := range t.Qdiscs {
		if handle != 0 && t.Qdiscs[i].Handle == handle {
			return &t.Qdiscs[i]
		}
	}
	return nil
}
