// Package bondctl builds a bond, its slaves and their qdiscs over netlink, reads back what it built, and
// takes it down again. It is the only package that writes to an interface.
//
// Everything happens in the network namespace of the calling thread: lock the thread before you call.
package bondctl
