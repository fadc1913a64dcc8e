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
	TimestampsHideOrphan = "timestamping-hides-orphaning" // a warning, not a mechanism
)

// Diagnoses is each mechanism in one sentence for a reader who is new to it.
var Diagnoses = map[string]string{
	BackPressureLost:    "Back-pressure is lost: packets wait on their way to the line without being charged to a socket, so nothing throttles the sender.",
	OrphanedAsAsked:     "Back-pressure is lost because the scenario asks for it: netem on the bond takes packets off their socket's charge.",
	SndbufExceedsQueue:  "The send buffers together are larger than the queue: the sockets may have more packets in flight than the queue and the ring hold.",
	BroadcastClones:     "Broadcast mode sends clones, which no socket is charged for, to all slaves but one: a slower slave overflows.",
	DropsUnpredicted:    "Slaves dropped packets although everything the sockets may have in flight fits the queue.",
	LostUncounted:       "Packets were lost and no counter saw it.",
	DuplicatedUncounted: "Packets were sent twice and no counter saw it.",
	StuckQueue:          "A slave's queue is stuck: packets stay in it while the line is idle.",
	LeakedCharge:        "The charge of packets that are gone stays on the socket.",
	ExpectationFailed:   "The scenario expects what this run did not show.",
	OneSlaveHash:        "The bond's hash puts all flows on one slave.",
	SlaveDown:           "A slave changed its state during the run.",
	RingStops:           "The driver stopped its queue because its ring was full, and handed packets back (requeues).",
	SenderTooSlow:       "The line was not full, so nothing had to be held back: the sender is too slow for it, or was held up elsewhere.",
	FewSamples:          "Too few samples to tell whether packets in flight were charged to a socket.",
	NoneFound:           "The socket throttled the sender.",
}
