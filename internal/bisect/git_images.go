package bisect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// images are the built points of a bisect, a folder each. The ones that were not used for longest go when there are many.
type images struct {
	folder string // the bisect's
	most   int
}

func (i *images) path(name string) string { return filepath.Join(i.folder, imagesName, name) }

// find gives an image's folder, and notes that it is used.
func (i *images) find(name string) (folder string, ok bool) {
	folder = i.path(name)
	now := time.Now()
	return folder, os.Chtimes(folder, now, now) == nil
}

// unfinished marks a folder that is being filled: it is no image before it is renamed, whatever kills us.
const unfinished = ".new-"

// keep has an image made in a folder of its own; nothing is kept of one that fails.
func (i *images) keep(name string, fill func(into string) error) (folder string, err error) {
	making := i.path(unfinished + name)
	if err := errors.Join(os.RemoveAll(making), os.MkdirAll(making, 0o755)); err != nil {
		return "", fmt.Errorf("make room for an image: %w", err)
	}
	if err := fill(making); err != nil {
		return "", errors.Join(err, os.RemoveAll(making))
	}
	if err := os.Rename(making, i.path(name)); err != nil {
		return "", fmt.Errorf("keep an image: %w", err)
	}
	return i.path(name), i.prune()
}

// prune removes what was not used for longest, and what a killed process left unfinished.
func (i *images) prune() error {
	entries, err := os.ReadDir(filepath.Join(i.folder, imagesName))
	if err != nil {
		return err
	}
	var kept []fs.FileInfo
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			err = errors.Join(err, os.RemoveAll(i.path(e.Name())))
			continue
		}
		if info, gone := e.Info(); gone == nil {
			kept = append(kept, info)
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for n := i.most; n < len(kept); n++ {
		err = errors.Join(err, os.RemoveAll(i.path(kept[n].Name())))
	}
	return err
}

// remove removes the images and what they were built in.
func (i *images) remove() error {
	return errors.Join(os.RemoveAll(filepath.Join(i.folder, imagesName)), os.RemoveAll(filepath.Join(i.folder, outName)))
}
