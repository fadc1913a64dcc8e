package vm

import (
	"bondrepro/internal/osrun"
	"bondrepro/scenarios"
)

// Process gives the tests QEMU.
func (m *Machine) Process() *osrun.Process { return m.process }

// Traffic is what so many senders send to the group of the tests' datagrams.
func Traffic(senders scenarios.Senders) scenarios.Traffic {
	return scenarios.Traffic{Senders: senders, Groups: scenarios.Groups{"239.66.1.1"}}
}
