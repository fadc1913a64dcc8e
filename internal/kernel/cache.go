package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// scratchPattern names unfinished work in a cache folder.
const scratchPattern = ".unfinished-"

// scratch makes a folder in dir for work that a rename will finish, and removes
// those that killed commands left. done removes what is still there. A folder in work
// is marked by a lock, which the kernel drops when its process dies.
func scratch(dir string) (path string, done func(), err error) {
	fail := func(err error) (string, func(), error) {
		return "", nil, fmt.Errorf("prepare cache folder %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	// The lock of dir makes creating and locking one step for others' sweeping.
	parent, err := lock(dir, unix.LOCK_EX)
	if err != nil {
		return fail(err)
	}
	defer parent.Close()
	left, err := filepath.Glob(filepath.Join(dir, scratchPattern+"*"))
	if err != nil {
		return fail(err)
	}
	for _, old := range left {
		if f, err := lock(old, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			_ = os.RemoveAll(old)
			f.Close()
		}
	}
	path, err = os.MkdirTemp(dir, scratchPattern)
	if err != nil {
		return fail(err)
	}
	held, err := lock(path, unix.LOCK_EX)
	if err != nil {
		return fail(err)
	}
	return path, func() { _ = os.RemoveAll(path); held.Close() }, nil
}

// lock opens and locks a folder (flock(2)); closing it unlocks.
func lock(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// sha256File is the hex sum of the file at path.
func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
