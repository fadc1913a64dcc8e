// Package workload is the network workloads that two kernels or two settings are compared on: TCP streams, requests
// and responses, the mix of a file server, datagrams; and the external tools that do the like.
//
// Both ends are in one process. Listen makes the server's sockets in the network namespace of the thread that calls
// it, Dial the client's in its caller's: a socket stays in the namespace it was made in. So one clock and one
// process's counts see both ends, and no connection is needed to tell one of the other.
//
// # Threads
//
// Each connection has a thread on either side, which waits in blocking system calls. That is what netperf does with a
// process for each connection, and iperf3 before 3.16 with select. Goroutines on the runtime's poller were not chosen:
// each wait there passes through epoll and the runtime's scheduler, on another thread. GOMAXPROCS is raised to the
// number of threads meanwhile, so that a thread that comes back from a system call never waits for a processor of the
// runtime, only for one of the machine, which the kernel's scheduler gives it, as it would to processes.
package workload
