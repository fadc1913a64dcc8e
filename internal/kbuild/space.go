package kbuild

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// What a build needs on disk, in bytes. The fragment's kernel took 161 MB (Linux 6.1); a distribution's config without debug
// info some 2 GB.
const (
	fewBytes         = 16 << 20 // less is no space
	fragmentBytes    = 256 << 20
	wholeConfigBytes = 2 << 30
	againBytes       = 64 << 20 // what is built is replaced
)

// spaceLeft is an error when fewer bytes are free, for this user, on the disk of a folder.
func spaceLeft(dir string, need uint64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("find out how much space is left in %s: %w", dir, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < need {
		return fmt.Errorf("there is not enough space in %s: it needs about %d MB, %d MB are free", dir, need>>20, free>>20)
	}
	return nil
}
