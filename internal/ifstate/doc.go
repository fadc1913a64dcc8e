// Package ifstate writes down everything of some interfaces that building a bond of them changes, compares it with
// what is there later, and puts it back. All of it is about the calling thread's network namespace; the files below
// /sys and /proc/sys that it reads must show the same one.
//
// Restore works from differences: it reads what is, and changes only what differs. So it may be interrupted after any
// single change, and be run again from there.
package ifstate
