package result

import (
	"time"

	"bondrepro/scenarios"
)

// Schema is the version of the Result's JSON form; it grows when a field changes its meaning or goes.
const Schema = 1

// Verdict is what a run or a result is judged to be.
type Verdict string

// The verdicts.
const (
	Good         Verdict = "good"
	Bad          Verdict = "bad"
	Inconclusive Verdict = "inconclusive"
)

// Cause is what a BAD verdict blames.
type Cause string

// The causes.
const (
	CauseKernel        Cause = "kernel"
	CauseConfiguration Cause = "configuration"
)

// Result is one file: everything a run recorded and what it was judged to mean. Judging its recordings again
// gives the same Judgement.
type Result struct {
	Schema    int       `json:"schema"`
	Tool      string    `json:"tool"` // bondrepro's version
	Created   time.Time `json:"created"`
	Config    Config    `json:"config"`
	Host      Host      `json:"host"`
	Guest     *Guest    `json:"guest,omitempty"` // nil unless the testbed is vm
	Arms      []Arm     `json:"arms"`
	Judgement Judgement `json:"judgement"`
	Warnings  []Warning `json:"warnings,omitempty"`
}

// Config is the effective configuration.
type Config struct {
	Scenario    scenarios.Scenario `json:"scenario"`
	Set         []string           `json:"set,omitempty"` // --set path=value, in order
	Testbed     string             `json:"testbed"`       // netns, vm, host
	TestbedWhy  string             `json:"testbed_why"`
	Kernel      string             `json:"kernel"`            // what the user asked for
	Modules     map[string]string  `json:"modules,omitempty"` // NAME: FILE of --module
	LineRate    []float64          `json:"line_rate"`         // bits/s, one a slave
	LineRateWhy string             `json:"line_rate_why"`
	// SenderCapacity is what the sender did with the lines wide open, bits/s; 0 when not measured.
	SenderCapacity float64 `json:"sender_capacity,omitempty"`
	NoControl      bool    `json:"no_control,omitempty"`
}

// Host is the machine that ran us.
type Host struct {
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	CPU    string `json:"cpu"`
	QEMU   string `json:"qemu,omitempty"`

	// Ports, Machine and Weaknesses are what was read before a run on real ports; empty for the other testbeds.
	Ports      []Port     `json:"ports,omitempty"`
	Machine    *Machine   `json:"machine,omitempty"`
	Weaknesses []Weakness `json:"weaknesses,omitempty"`
}

// Guest is the machine we booted. BuildID and each module's are read in the guest.
type Guest struct {
	Kernel         string   `json:"kernel"`  // uname -r
	Version        string   `json:"version"` // /proc/version
	BuildID        string   `json:"build_id"`
	Accelerator    string   `json:"accelerator"` // kvm or tcg
	AcceleratorWhy string   `json:"accelerator_why"`
	CPUs           int      `json:"cpus"`
	MemoryMB       int      `json:"memory_mb"`
	Modules        []Module `json:"modules"`
	BootMS         float64  `json:"boot_ms"`
	// Tainted is /proc/sys/kernel/tainted.
	Tainted string `json:"tainted,omitempty"`
}

// Module is one loaded module. Proven tells that the build id the guest read is that of the file we gave it.
type Module struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	BuildID string `json:"build_id"`
	Swapped bool   `json:"swapped,omitempty"` // given by --module
	Proven  bool   `json:"proven"`
}

// The names of arms.
const (
	ArmTest    = "test"
	ArmControl = "control"
)

// Arm is one configuration measured.
type Arm struct {
	Name      string             `json:"name"` // test, control
	Scenario  scenarios.Scenario `json:"scenario"`
	Preflight Preflight          `json:"preflight"`
	Runs      []Run              `json:"runs"`
}

// Run is one recording and its judgement.
type Run struct {
	Recording Recording    `json:"recording"`
	Judgement RunJudgement `json:"judgement"`
}

// Preflight is the sum that tells whether honest back-pressure can hold the senders in the queue: each may have
// sndbuf/truesize + 1 packets in flight, and all that do not fit in txqueuelen and the ring (Room) are dropped.
type Preflight struct {
	Senders    int `json:"senders"`
	SndBuf     int `json:"sndbuf"`
	Truesize   int `json:"truesize"`
	PerSender  int `json:"per_sender"` // packets
	Sum        int `json:"sum"`        // packets
	TxQueueLen int `json:"txqueuelen"`
	Ring       int `json:"ring"`
	// Reserve is how many descriptors of the ring a driver keeps free: it stops its queue when a packet of the most
	// fragments might not fit any more.
	Reserve int `json:"reserve,omitempty"`
	// Exceeds tells that Sum > Room: drops are to be expected from the configuration. Tight, that it fits with the help of
	// the ring only: drops may come from the configuration. A driver that completes a full ring at once gives all its
	// packets back to the sockets before it starts its queue again, and then the queue alone must hold them.
	Exceeds bool `json:"exceeds"`
	Tight   bool `json:"tight,omitempty"`
}

// Room is how many packets fit in a slave's queue and ring.
func (p Preflight) Room() int { return p.TxQueueLen + p.Ring - p.Reserve }

// RunJudgement is what one recording means.
type RunJudgement struct {
	Valid     bool      `json:"valid"` // every guard held
	Verdict   Verdict   `json:"verdict"`
	Cause     Cause     `json:"cause,omitempty"`
	Diagnosis []Finding `json:"diagnosis"` // first the one that decides
	Guards    []Guard   `json:"guards"`
	Ledger    Ledger    `json:"ledger"`
	Oracle    Oracle    `json:"oracle"`
	// Metrics are the values of the metric table; a metric that can't be had here is absent.
	Metrics map[string]float64 `json:"metrics"`
	Expect  []Expectation      `json:"expect,omitempty"`
	Spread  *Spread            `json:"spread,omitempty"` // nil where there is nothing to compare, see Spread
}

// Spread is how the traffic lay over the slaves, beside what the hash policy predicts. There is none with one slave,
// where nothing arrived, in broadcast mode (every slave has everything), and in active-backup mode unless a slave
// changed (one has everything).
type Spread struct {
	Slaves    []SlaveShare `json:"slaves"`
	Predicted bool         `json:"predicted"`
	Why       string       `json:"why,omitempty"` // why not
	// Formula names the kernels whose hash fitted the flows best, the newest of those that fit as well; "" when not
	// predicted. Older tells that it is not the newest there is.
	Formula string       `json:"formula,omitempty"`
	Older   bool         `json:"older,omitempty"`
	Flows   []FlowSpread `json:"flows,omitempty"`
}

// SlaveShare is one slave's part of the frames.
type SlaveShare struct {
	Name   string  `json:"name"`
	Frames uint64  `json:"frames"`
	Share  float64 `json:"share"` // 0 to 1
}

// FlowSpread is one flow: where the hash puts it, and where it went.
type FlowSpread struct {
	Sender    int      `json:"sender"`
	Group     string   `json:"group"`
	Predicted int      `json:"predicted"` // slave, from 0; -1 where not predicted
	Seen      []uint64 `json:"seen"`      // frames, one a slave
}

// Strayed tells whether any frame of the flow came out of another slave than that one.
func (f FlowSpread) Strayed(slave int) bool {
	for i, n := range f.Seen {
		if n > 0 && i != slave {
			return true
		}
	}
	return false
}

// Finding is one mechanism with its evidence.
type Finding struct {
	Code     string `json:"code"` // see Diagnoses
	Text     string `json:"text"` // one sentence
	Evidence string `json:"evidence"`
}

// Guard is one condition for a run to count.
type Guard struct {
	Name     string `json:"name"` // line_full, into_bond, slave_stable, qdisc_stable
	OK       bool   `json:"ok"`
	Off      bool   `json:"off,omitempty"` // the scenario turned it off
	Evidence string `json:"evidence"`
}

// Ledger accounts for every packet, hop by hop.
type Ledger struct {
	Available bool   `json:"available"`
	Why       string `json:"why,omitempty"` // why not
	Hops      []Hop  `json:"hops,omitempty"`
}

// Hop is one equation: Left = Right. Remainder is Left - Right less what the tolerance explains; 0 is balance.
type Hop struct {
	Name      string `json:"name"`
	Left      string `json:"left"` // in words, with figures
	Right     string `json:"right"`
	LeftSum   int64  `json:"left_sum"`
	RightSum  int64  `json:"right_sum"`
	Remainder int64  `json:"remainder"`
	Note      string `json:"note,omitempty"`
}

// Oracle tells whether packets in flight were charged to a socket.
type Oracle struct {
	Available bool    `json:"available"`
	Why       string  `json:"why,omitempty"` // why not
	Samples   int     `json:"samples"`
	Median    float64 `json:"median"` // uncharged packets
	Max       float64 `json:"max"`
	InFlight  float64 `json:"in_flight"` // median
	Threshold float64 `json:"threshold"` // max(8, 10 % of in flight)
	// Vanished are packets lost uncounted, which look as if they were in flight: they are added to the threshold.
	Vanished float64 `json:"vanished,omitempty"`
	Orphaned bool    `json:"orphaned"` // only when Available
}

// Expectation is one of the scenario's expect lines.
type Expectation struct {
	Expr      string `json:"expr"`
	Evaluated bool   `json:"evaluated"`
	OK        bool   `json:"ok"`
	Note      string `json:"note,omitempty"` // why it was not evaluated, or the value found
}

// Judgement is what all arms together mean.
type Judgement struct {
	Verdict   Verdict   `json:"verdict"`
	Cause     Cause     `json:"cause,omitempty"`
	Diagnosis []Finding `json:"diagnosis"`
	Reason    string    `json:"reason"` // one sentence: why this verdict
	// CleanRuns of NeededRuns valid good runs of the test arm; ValidRuns counts those whose guards held.
	CleanRuns  int              `json:"clean_runs"`
	NeededRuns int              `json:"needed_runs"`
	ValidRuns  int              `json:"valid_runs"`
	Control    ControlJudgement `json:"control"`
}

// ControlJudgement is how far the positive control bears the verdict.
type ControlJudgement struct {
	Measured bool   `json:"measured"`
	Invalid  bool   `json:"invalid,omitempty"` // measured, and no run of it counts: a guard failed
	Bad      bool   `json:"bad"`               // as it must be
	Kind     string `json:"kind,omitempty"`    // netem, or weaker: txqueuelen; other: whatever the scenario sets
	Note     string `json:"note"`
}

// Warning is attached to the result, not logged.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
