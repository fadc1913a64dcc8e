// Package qdisctree writes down the qdiscs of an interface with their classes and options, and puts them back.
//
// It holds what the kernel dumps in RTM_GETQDISC and RTM_GETTCLASS, as bytes that RTM_NEWQDISC and RTM_NEWTCLASS take
// to make the same again: no field that some library does not know is lost. What it can't put back it names.
//
// Qdiscs that the kernel makes by itself have handle 0 (attach_default_qdiscs, net/sched/sch_generic.c). They can be
// neither added nor changed nor deleted by a message: they come when another root is deleted or the interface is brought up.
package qdisctree
