package ifstate

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID names this boot of the machine (random(4)).
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// bootTime is CLOCK_BOOTTIME in seconds.
func bootTime() (float64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, failed("read", "CLOCK_BOOTTIME", err)
	}
	return float64(t.Nano()) / 1e9, nil
}

// OfThisBoot tells whether the state is of the boot that the machine is in. Where that can't be told, it is not.
func (s State) OfThisBoot() bool {
	now, err := bootID()
	return err == nil && now == s.BootID
}
