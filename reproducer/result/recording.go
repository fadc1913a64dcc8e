// Package result holds what a run leaves behind: the Recording (raw facts), the Result (facts and what they
// were judged to mean), the verdicts and the metric table. Data only: it makes no system call.
package result

import (
	"time"

	"bondrepro/qdiscstat/counters"
)

// Recording is the raw facts of one run of one arm. Counters are as the kernel gave them before the first
// packet and after the drain; nothing in it is a judgement. Rates are bits a second of layer-2 bytes
// without FCS and inter-packet gap.
type Recording struct {
	Arm     string    `json:"arm"` // "test" or "control"
	Run     uint32    `json:"run"` // the number every payload of this run carries
	Started time.Time `json:"started"`
	// Failure says why the run did not end, in one sentence; empty when it ended. All else may then be missing.
	Failure string `json:"failure,omitempty"`

	Bond     BondState    `json:"bond"`
	Slaves   []SlaveState `json:"slaves"`
	Truesize int          `json:"truesize"`  // bytes a packet is charged to its socket
	LineRate []float64    `json:"line_rate"` // bits/s, one a slave

	Senders []Sender `json:"senders"`
	Before  Snapshot `json:"before"`
	After   Snapshot `json:"after"`
	Drain   Drain    `json:"drain"`
	Events  []Event  `json:"events,omitempty"`
	// KernelLog are the lines with which the kernel under test reported faults of its own during the run.
	KernelLog []string `json:"kernel_log,omitempty"`
	Series    Series   `json:"series"`

	// NICs are what real ports count themselves, as far as it moved; empty for the other testbeds.
	NICs []PortCounters `json:"nics,omitempty"`

	// Wire is the other end of each slave; nil where the testbed has none.
	Wire *Wire `json:"wire,omitempty"`
	// Receiver is what a receiver on the far side of the network counted (`run --receiver`); nil where none was named.
	Receiver *Reception `json:"receiver,omitempty"`
}

// BondState is the bond as read back from the kernel after it was built.
type BondState struct {
	Name    string            `json:"name"`
	Ifindex int               `json:"ifindex"`
	Options map[string]string `json:"options"` // as iproute2 names them: mode, miimon, …
	MTU     int               `json:"mtu"`
	MAC     string            `json:"mac,omitempty"`
	Address string            `json:"address,omitempty"` // of the senders
}

// SlaveState is a slave as read back after it was enslaved.
type SlaveState struct {
	Name       string `json:"name"`
	Ifindex    int    `json:"ifindex"`
	MAC        string `json:"mac"`
	Driver     string `json:"driver"`
	Ring       int    `json:"ring"` // TX descriptors; 0 when the driver has none
	Queues     int    `json:"queues"`
	TxQueueLen int    `json:"txqueuelen"`
	Qdisc      string `json:"qdisc"`
	// CountsCompletions tells that tx_packets moves when the device is done with a packet (virtio_net),
	// so that it can serve as "completed" in the oracle.
	CountsCompletions bool `json:"counts_completions"`
	// BQL tells that the driver keeps byte queue limits, so that SlaveSeries.Inflight says what its rings hold.
	BQL bool `json:"bql,omitempty"`
	// Lines is how many lines the slave has: where tbf makes them, one a TX queue, each with an equal share of the
	// slave's line rate; 0 stands for 1.
	Lines int `json:"lines,omitempty"`
}

// Sender is the account of one sending socket, warm-up included.
// offered = OK + EAGAIN + ENOBUFS + sum of Other, but for Hidden.
// Sequence numbers are used up by OK (one a segment with GSO), ENOBUFS and Hidden, and by nothing else:
// Seqs = OK + ENOBUFS + Hidden without GSO.
type Sender struct {
	Index   int               `json:"index"`
	OK      uint64            `json:"ok"`
	EAGAIN  uint64            `json:"eagain"`  // refused by the send buffer; consumes no sequence number; always 0 for a blocking socket
	ENOBUFS uint64            `json:"enobufs"` // dropped by a qdisc and told so (IP_RECVERR)
	Other   map[string]uint64 `json:"other,omitempty"`
	// Hidden counts batches that ended short without its being known why: the kernel says how many went, not what
	// the next was told (sendmmsg(2)). Each hides one EAGAIN (counted nowhere) or one ENOBUFS (a packet that entered
	// the bond), so OK + ENOBUFS <= into the bond <= OK + ENOBUFS + Hidden. Its sequence number is used up and never
	// sent again: no number can be seen twice, and gaps less counted drops are 0 to Hidden where nothing was lost.
	// A batch that ended short with its send buffer full ended in EAGAIN for certain and is not hidden.
	Hidden    uint64  `json:"hidden,omitempty"`
	Seqs      uint64  `json:"seqs"` // sequence numbers consumed: 0..Seqs-1
	Calls     uint64  `json:"calls"`
	ElapsedMS float64 `json:"elapsed_ms"`
	// BlockedMS is the time in send calls that waited for the send buffer; for a non-blocking socket, from the
	// first EAGAIN to the send that was taken; with zerocopy also the wait for buffers that packets in flight hold.
	BlockedMS  float64  `json:"blocked_ms"`
	Blocked    []Bucket `json:"blocked,omitempty"`
	SndBuf     int      `json:"sndbuf"`         // as SO_SNDBUF reads back
	Port       int      `json:"port,omitempty"` // UDP source port
	MaxOutq    int      `json:"max_outq"`
	Timestamps uint64   `json:"timestamps,omitempty"` // TX timestamps that came back
	ZeroCopied uint64   `json:"zerocopied,omitempty"` // zerocopy completions that were not copies
	Copied     uint64   `json:"copied,omitempty"`     // zerocopy completions that were copies after all
}

// Bucket counts waits of at most UpToUS microseconds and more than the bucket before.
type Bucket struct {
	UpToUS int64  `json:"up_to_us"`
	Count  uint64 `json:"count"`
}

// Snapshot is every counter of the path at one quiet instant.
type Snapshot struct {
	Into         uint64          `json:"into"` // packets the clsact egress counter of the bond saw
	BondTx       uint64          `json:"bond_tx"`
	Orphaner     *counters.Qdisc `json:"orphaner,omitempty"` // netem on the bond
	Slaves       []SlaveCounters `json:"slaves"`
	SndbufErrors uint64          `json:"sndbuf_errors"` // Udp: SndbufErrors of the namespace
}

// SlaveCounters are one slave's. Qdiscs holds the root qdisc, or the children of mq without mq itself.
type SlaveCounters struct {
	Qdiscs         []counters.Qdisc `json:"qdiscs"`
	TxPackets      uint64           `json:"tx_packets"`
	TxBytes        uint64           `json:"tx_bytes"`
	TxDropped      uint64           `json:"tx_dropped"`
	CarrierChanges uint32           `json:"carrier_changes"`
	// Own counts frames the slave sent of itself (LACPDU, ARP monitor) since it was enslaved.
	Own uint64 `json:"own,omitempty"`
}

// Drain is the wait for quiet after the last send.
type Drain struct {
	Quiet   bool    `json:"quiet"` // backlog, outq and ring stayed empty for 100 ms within 5 s
	TookMS  float64 `json:"took_ms"`
	Backlog uint32  `json:"backlog"` // packets left in slaves' qdiscs
	Outq    int     `json:"outq"`    // bytes still charged to sockets
}

// Event kinds.
const (
	EventLinkDown      = "link_down"      // a slave lost carrier or was set down
	EventLinkUp        = "link_up"        // and came back
	EventQdiscReplaced = "qdisc_replaced" // a qdisc of a slave was added, changed or deleted
	EventActiveSlave   = "active_slave"   // the bond's active slave changed
	EventFault         = "fault"          // a fault the scenario asked for was made
)

// Event is something heard from the kernel (rtnetlink notifications) or done by us during a run.
type Event struct {
	AtMS  float64 `json:"at_ms"` // from the first send
	Kind  string  `json:"kind"`
	Slave int     `json:"slave"` // -1: the bond
	Text  string  `json:"text"`
}

// Series are the polls of a run, one column a quantity, all of one length. Counters start at 0 with the run.
type Series struct {
	AtMS   []float64     `json:"at_ms"` // from the first send; all before the senders' end
	Outq   []int64       `json:"outq"`  // bytes, sum over sockets
	Into   []uint64      `json:"into"`  // packets the bond's clsact qdisc counted
	Slaves []SlaveSeries `json:"slaves"`
	// NetemDropped and NetemBacklog are the orphaner's, empty without one.
	NetemDropped []uint64 `json:"netem_dropped,omitempty"`
	NetemBacklog []uint32 `json:"netem_backlog,omitempty"`
	Missed       int      `json:"missed"` // polls that came too late or were interrupted
}

// SlaveSeries are one slave's columns, summed over its queues.
type SlaveSeries struct {
	Sent      []uint64 `json:"sent"` // packets its qdisc handed to the driver
	Dropped   []uint64 `json:"dropped"`
	Qlen      []uint32 `json:"qlen"`
	Backlog   []uint32 `json:"backlog"` // bytes
	Requeues  []uint64 `json:"requeues"`
	Completed []uint64 `json:"completed"` // tx_packets + tx_dropped: what the driver is done with
	// Inflight are bytes that the driver has taken and not completed (byte queue limits); only of drivers whose
	// tx_packets does not tell.
	Inflight []int64 `json:"inflight,omitempty"`
}

// Wire is what arrived at the other end of the slaves.
type Wire struct {
	Slaves  []WireSlave  `json:"slaves"`
	Senders []WireSender `json:"senders"`
	// Gap is the longest time without a frame of ours on any line, between the first and the last of them.
	GapMS   float64 `json:"gap_ms,omitempty"`
	GapAtMS float64 `json:"gap_at_ms,omitempty"` // when it began, from the first frame
	// Silences are the longest 32 such times, in order of time. Older recordings have only the longest one, in GapMS.
	Silences []Silence `json:"silences,omitempty"`
}

// Silence is a time without a frame of ours on any line.
type Silence struct {
	AtMS float64 `json:"at_ms"` // when it began, from the run's first frame
	MS   float64 `json:"ms"`
}

// WireSlave is one line.
type WireSlave struct {
	Frames  uint64            `json:"frames"` // all
	Bytes   uint64            `json:"bytes"`
	Ours    uint64            `json:"ours"`              // of this run
	Stale   uint64            `json:"stale,omitempty"`   // of an earlier run
	Foreign map[string]uint64 `json:"foreign,omitempty"` // by kind: arp, lacp, igmp, ipv6, …
	// Overflow are datagrams that came out of the line and that the receiving socket had no room for (SO_RXQ_OVFL);
	// they are not in Ours. 0 where frames are taken from the line itself.
	Overflow uint64 `json:"overflow,omitempty"`
	// Sightings are the first 64 foreign frames of each kind.
	Sightings []Sighting `json:"sightings,omitempty"`
	Flows     []Flow     `json:"flows,omitempty"` // those seen on this line, by sender and then group
	// AtMS, CumFrames and CumBytes are taken every 10 ms (of a ReceivedRun: every second) from the first frame of this run
	// on, ours only.
	AtMS      []float64 `json:"at_ms,omitempty"`
	CumFrames []uint64  `json:"cum_frames,omitempty"`
	CumBytes  []uint64  `json:"cum_bytes,omitempty"`
}

// Sighting is a foreign frame at the wire.
type Sighting struct {
	AtMS float64 `json:"at_ms"` // from the run's first frame of ours; negative before it
	Kind string  `json:"kind"`
}

// Flow counts one sender's frames to one group.
type Flow struct {
	Sender int    `json:"sender"`
	Group  int    `json:"group"` // index in traffic.groups
	Frames uint64 `json:"frames"`
}

// WireSender is one sender's sequence numbers, over all lines together.
type WireSender struct {
	Index      int    `json:"index"`
	Unique     uint64 `json:"unique"`     // sequence numbers seen at least once
	Duplicates uint64 `json:"duplicates"` // frames whose number was seen before on the same line
	Reordered  uint64 `json:"reordered"`  // frames with a number below the greatest seen on the same line
	Beyond     uint64 `json:"beyond"`     // greatest number seen + 1; 0 when none
	// Crossed are frames with a number below the greatest seen of the same flow, on whatever line.
	Crossed uint64 `json:"crossed,omitempty"`
	// Copies are numbers seen on more lines than one, counted once a further line (broadcast mode).
	Copies uint64 `json:"copies"`
}
