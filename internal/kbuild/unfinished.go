package kbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unfinished is a file that is in the folder of a build while make runs, and stays when make was killed.
const unfinished = ".bondrepro-building"

// resumable runs make, by which a folder gets what is built. A make that is killed leaves half-written files, which the next one
// takes for finished: they would be linked, or the source would be blamed for them. So the next one is made to build them again.
func resumable(dir string, run func() error) error {
	mark := filepath.Join(dir, unfinished)
	if err := forget(dir, mark); err != nil {
		return fmt.Errorf("take up a build that was killed: %w", err)
	}
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return fmt.Errorf("start a build: %w", err)
	}
	err := run()
	var source *BuildError
	if err == nil || errors.As(err, &source) {
		return errors.Join(err, os.Remove(mark))
	}
	return err
}

// settled is how long before the last sign of life of a killed make a file must have been written to be whole: that of the slowest
// linker, and of a disk that was written late when the power went.
const settled = 2 * time.Minute

// forget removes what kbuild knows of the files that the make of the mark wrote last: by which command FILE was built is in
// .FILE.cmd, and FILE is built again without it (if_changed, scripts/Kbuild.include). Nothing else is touched; nothing at all
// without a mark.
func forget(dir, mark string) error {
	began, err := os.Stat(mark)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	written, err := builtSince(dir, began.ModTime())
	if err != nil {
		return err
	}
	last := began.ModTime()
	for _, at := range written {
		if at.After(last) {
			last = at
		}
	}
	for command, at := range written {
		if !at.Before(last.Add(-settled)) {
			if err := os.Remove(command); err != nil {
				return err
			}
		}
	}
	return nil
}

// builtSince gives the .FILE.cmd of each FILE that was written at a time or later, with the time it was written.
func builtSince(dir string, since time.Time) (map[string]time.Time, error) {
	written := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, ok := strings.CutSuffix(d.Name(), ".cmd")
		if name, hidden := strings.CutPrefix(name, "."); ok && hidden {
			file, err := os.Stat(filepath.Join(filepath.Dir(path), name))
			if err == nil && !file.ModTime().Before(since) {
				written[path] = file.ModTime()
			}
		}
		return nil
	})
	return written, err
}
