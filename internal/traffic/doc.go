// Package traffic sends UDP multicast as a scenario says and keeps the account of every send.
//
// Each sender has its own socket and its own operating-system thread. A send is first tried without waiting
// (MSG_DONTWAIT, batches through golang.org/x/net/ipv4 or ipv6), so that a full send buffer is seen, timed and counted
// rather than hidden in a poller. Nothing is allocated for a packet or a batch. What differs between IPv4 and IPv6 is
// one table: family. All senders begin together, and so does each burst: asleep until one moment of CLOCK_MONOTONIC.
package traffic
