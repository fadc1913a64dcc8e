// Package workload is the network workloads that two kernels or two settings are compared on: TCP streams, requests
// and responses, the mix of a file server, datagrams; and the external tools that do the like.
//
// Both ends are in one process. Listen makes the server's sockets in the network namespace of the thread that calls
// it, Dial the client's in its caller's: a socket stays in the namespace it was made in. So one clock and one
// process's counts see both ends, and neither needs a connection to tell the other what it counted. Datagrams that no
// receive buffer has room for are lost like any other.
//
// # Threads
//
// Each connection has a thread on either side, which waits in blocking system calls: what netperf does with processes.
// Goroutines on the runtime's poller reach the same rate, but run on any thread, so that neither side could be pinned
// nor told from the other by its CPU time. A thread that comes back from a system call needs a processor of the
// runtime (GOMAXPROCS), so there is one for each meanwhile, and only the kernel's scheduler decides who runs. With as
// many as the machine's two CPUs, 200 threads of 100 connections made 70 000 instead of 100 000 transactions a second,
// and a few connections made nearly all of them: half of the round trips took 14 µs, and the longest 0.9 s.
//
// A process's threads share its memory, so that a switch between two of them is cheaper than between netperf's or
// tbench's processes.
package workload
