// Package netns makes the place of a measurement on the running kernel: veth slaves in a private network namespace,
// and the receivers at their other ends in a second one (the far side). Root is needed only where user namespaces
// are forbidden.
//
// Everything happens in a child process of the same program, whose threads are all born in the private namespace.
// So no thread can be in a wrong one, and nothing can be left behind: sockets, interfaces and namespaces end with
// the child, and the child ends with its parent.
package netns
