package kernel

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// holdTries is how often something that goes out of the cache just before it is used is made anew.
const holdTries = 3

// hold locks a file or folder of the cache, shared with others that use it, so that it stays until the lock is closed,
// and notes that it was used. The error is fs.ErrNotExist when it is gone.
func hold(path string) (*os.File, error) {
	f, err := lock(path, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	if !sameFile(f, path) { // it was removed while we waited
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	touch(path)
	return f, nil
}

// sameFile tells whether path still leads to the open file.
func sameFile(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && os.SameFile(opened, st)
}

// touch notes that something in the cache was used. A cache that can't be written can't be pruned either.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}
