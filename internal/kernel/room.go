package kernel

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// hasRoom checks, before anything is fetched, that a candidate and its files find room in the cache's file system.
func (o *opener) hasRoom(c Candidate) error {
	dir := o.packages()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("prepare cache folder %s: %w", dir, err)
	}
	free, err := o.free(dir)
	if err != nil {
		return fmt.Errorf("find the free space in %s: %w", dir, err)
	}
	if need := c.Size + c.Unpacked; free < need {
		return usagef("fetch package %s: it needs %d MiB in %s, and %d MiB are free; 'bondrepro kernels prune --limit 0' empties that folder, $XDG_CACHE_HOME names another",
			c.ID(), (need+1<<20-1)>>20, dir, free>>20)
	}
	return nil
}

// freeBytes is what anyone may still write to dir's file system.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// ignore gives nil for errors that are one of these.
func ignore(err error, these ...error) error {
	for _, one := range these {
		if errors.Is(err, one) {
			return nil
		}
	}
	return err
}
