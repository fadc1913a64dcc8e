package guest

import (
	"os"

	"bondrepro/internal/guestproto"
)

// Booted tells whether this program is the init of a machine of ours. It is PID 1 in containers, too.
func Booted() bool {
	if os.Getpid() != 1 {
		return false
	}
	_, err := os.Stat(guestproto.ManifestPath)
	return err == nil
}
