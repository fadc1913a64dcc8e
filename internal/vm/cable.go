package vm

import (
	"encoding/binary"
	"fmt"

	"bondrepro/internal/stamp"
)

// slow tells whether a frame is of the slow protocols. They are never tagged.
func slow(frame []byte) bool {
	const at = 12
	return len(frame) >= at+2 && binary.BigEndian.Uint16(frame[at:]) == stamp.EtherSlow
}

// checkCables refuses a NIC that is not there or is cabled twice.
func checkCables(cables [][2]int, nics int) error {
	cabled := map[int]bool{}
	for _, c := range cables {
		for _, nic := range c {
			switch {
			case nic < 0 || nic >= nics:
				return fmt.Errorf("a cable of NIC %d, there are %d", nic, nics)
			case cabled[nic]:
				return fmt.Errorf("two cables or both ends of one at NIC %d", nic)
			}
			cabled[nic] = true
		}
	}
	return nil
}
