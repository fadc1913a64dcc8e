package kbuild

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps a folder for one build of ours at a time; a second one is an error. Closing the file, or our death, ends it (flock(2)).
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder to build in: %w", err)
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("another build runs in %s: wait for its end, or name another folder", dir)
	}
	return nil, fmt.Errorf("lock the folder to build in, %s: %w", dir, err)
}
