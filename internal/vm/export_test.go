package vm

import "bondrepro/internal/osrun"

// Process gives the tests QEMU.
func (m *Machine) Process() *osrun.Process { return m.process }
