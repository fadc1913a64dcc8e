package result

// Diagnosis codes: the mechanisms a run can show. Code is what scripts and bisect compare.
const (
	BackPressureLost     = "back-pressure-lost"
	OrphanedAsAsked      = "orphaned-as-asked"
	SndbufExceedsQueue   = "sndbuf-exceeds-queue"
	BroadcastClones      = "broadcast-clones"
	DropsUnpredicted     = "drops-unpredicted"
	LostUncounted        = "lost-uncounted"
	DuplicatedUncounted  = "duplicated-uncounted"
	StuckQueue           = "stuck-queue"
	LeakedCharge         = "leaked-charge"
	ExpectationFailed    = "expectation-failed"
	OneSlaveHash         = "one-slave-hash"
	SlaveDown            = "slave-down"
	RingStops            = "ring-stops"
	SenderTooSlow        = "sender-too-slow"
	FewSamples           = "few-samples"
	NoneFound            = "none"
	ExpectationsHold     = "expectations-hold" // GOOD where a scenario is about more than throttling
	QueueMapping         = "queue-mapping"
	OneQueue             = "one-queue"
	OutOfOrder           = "out-of-order"
	NotEvaluated         = "not-evaluated"                // an expectation whose metrics can't be had
	TimestampsHideOrphan = "timestamping-hides-orphaning" // a warning, not a mechanism
)

// Diagnosis is a mechanism in words for a reader who is new to it.
type Diagnosis struct {
	Title string // a clause
	Text  string // one sentence
}

// Diagnoses is the table of mechanisms, by code.
var Diagnoses = map[string]Diagnosis{
	BackPressureLost: {"back-pressure lost",
		"Packets wait on their way to the line without being charged to a socket, so nothing throttles the sender."},
	OrphanedAsAsked: {"back-pressure lost, as the scenario asks",
		"netem on the bond takes packets off their socket's charge before they reach a slave's queue, so nothing throttles the sender."},
	SndbufExceedsQueue: {"the send buffers together are larger than the queue",
		"The sockets may have more packets in flight than a slave's queue and ring hold; each packet was charged, the kernel does what it was told."},
	BroadcastClones: {"broadcast clones overflow the slower slave",
		"Broadcast mode sends clones, which no socket is charged for, to all slaves but one; a slave that is slower than that one drops."},
	DropsUnpredicted: {"slaves drop what their queue should hold",
		"Slaves dropped packets although all that the sockets may have in flight fits a slave's queue."},
	LostUncounted: {"packets lost, counted nowhere",
		"Packets went missing between two counters, and as many sequence numbers are missing at the wire."},
	DuplicatedUncounted: {"packets duplicated, counted nowhere",
		"Packets were sent twice: more came out between two counters than went in, and as many sequence numbers came twice at the wire."},
	StuckQueue: {"stuck queue",
		"Packets stay in a slave's queue or ring while its line is idle."},
	LeakedCharge: {"charge leaked: sockets stay charged for packets that are gone",
		"All queues are empty, but the sockets are still charged; they can send less and less."},
	ExpectationFailed: {"an expectation of the scenario failed",
		"The scenario expects what this run did not show."},
	OneSlaveHash: {"all flows are on one slave",
		"Every flow went out of the same slave; the other lines carried less than 1 % of the frames."},
	SlaveDown: {"a slave changed its state",
		"A slave or the choice of the active slave changed during the run."},
	RingStops: {"the driver stopped its queue",
		"The driver's ring was full and it handed packets back to the qdisc (requeues); that is how a busy line looks."},
	SenderTooSlow: {"the sender is too slow for the line",
		"The line was not full, so nothing had to be held back and nothing can be said."},
	FewSamples: {"too few samples",
		"Too few samples to tell whether packets in flight were charged to a socket."},
	NoneFound: {"the socket throttled the sender",
		"The socket throttled the sender, as it should."},
	ExpectationsHold: {"every expectation holds",
		"The run showed what the scenario expects, and no fault that it does not accept."},
	QueueMapping: {"a packet was mapped to a TX queue that the slave does not have",
		"The kernel reports a packet whose queue number does not fit its device: a queue that was picked for the bond was used on a slave."},
	NotEvaluated: {"an expectation could not be evaluated",
		"The scenario expects something of a figure that this run could not give, so the run cannot be GOOD."},
	OutOfOrder: {"frames came out after a later one of their flow",
		"A flow's packets may take several TX queues (XPS picks one by the CPU that sends) or, in balance-rr, several slaves, and overtake each other."},
	OneQueue: {"all packets of a slave are on one TX queue",
		"A slave has several TX queues, and every packet of several flows went through one of them; the others do nothing."},
}
