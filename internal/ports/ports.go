// Package ports looks at real ports and thinks about them: what `run --testbed host` would refuse to touch, and what
// would make its verdict weak. It only reads.
package ports

import "bondrepro/reproducer/result"

// Facts are what was read of one interface, as they are written into a Result.
type Facts = result.Port

// Machine is what has a say in how all ports send.
type Machine = result.Machine

// Weakness is something that makes a verdict weak.
type Weakness = result.Weakness

// Ask is what a scenario wants of a port, and what its user allows.
type Ask struct {
	LineRate   float64 // bits/s of layer-2 bytes without FCS and gap; 0: the port's own
	FrameBytes int     // layer 2, without FCS; 0: not known, and the 24 bytes of FCS, preamble and gap are left out of account
	MTU        int     // bytes; 0: as it is
	Queues     int     // TX queues that the scenario names; 0 and 1: as many as there are

	TakeAddresses bool // addresses may be taken off and put back
	AllowVirtual  bool
	// Bond tells that the port is an existing bond that is used as it is, or a slave of one.
	Bond bool
}

// Refusal is a reason not to touch a port.
type Refusal struct {
	Interface string `json:"interface"`
	Code      string `json:"code"`
	Text      string `json:"text"`   // one sentence without its full stop
	Remedy    string `json:"remedy"` // what to do about it
}

func (r Refusal) String() string { return r.Text + ": " + r.Remedy }
