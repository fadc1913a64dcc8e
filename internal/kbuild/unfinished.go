package kbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// forget removes what kbuild knows of files that are not older than the mark: by which command FILE was built is in .FILE.cmd, and
// FILE is built again without it (if_changed, scripts/Kbuild.include). Nothing else is touched; nothing at all without a mark.
func forget(dir, mark string) error {
	began, err := os.Stat(mark)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, ok := strings.CutSuffix(d.Name(), ".cmd")
		if name, hidden := strings.CutPrefix(name, "."); ok && hidden {
			file, err := os.Stat(filepath.Join(filepath.Dir(path), name))
			if err == nil && !file.ModTime().Before(began.ModTime()) {
				return os.Remove(path)
			}
		}
		return nil
	})
}
