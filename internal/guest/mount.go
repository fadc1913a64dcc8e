package guest

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mounts are made in this order. A kernel without devtmpfs can't be used: it would have no serial port.
var mounts = []struct{ kind, at string }{
	{"sysfs", "/sys"},
	{"devtmpfs", "/dev"},
	{"tmpfs", "/run"},
	{"tmpfs", "/tmp"},
}

func mountProc() error { return mount("proc", "/proc") }

func mountAll() error {
	for _, m := range mounts {
		if err := mount(m.kind, m.at); err != nil {
			return err
		}
	}
	return nil
}

func mount(kind, at string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", kind, err)
	}
	// EBUSY: it is mounted there already (CONFIG_DEVTMPFS_MOUNT).
	if err := unix.Mount(kind, at, kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount %s on %s: %w", kind, at, err)
	}
	return nil
}
