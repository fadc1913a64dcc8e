// Package initramfs writes the file that a guest boots from: a newc cpio archive
// (Documentation/driver-api/early-userspace/buffer-format.rst) with /init and what it needs.
// The same entries give the same bytes: no times, owners or inode numbers go in.
package initramfs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"
)

// Entry is one file of the archive. Make one with Dir, Bytes, Copy, Symlink or Device.
type Entry struct {
	// Path is where the guest sees it: absolute and clean.
	Path string
	// Mode is the type and the permission bits: a regular file, fs.ModeDir,
	// fs.ModeSymlink, or fs.ModeDevice|fs.ModeCharDevice.
	Mode fs.FileMode
	// Data is the content of a regular file when Source is empty.
	Data []byte
	// Source is the file on disk whose content is copied.
	Source string
	// Target is what a symbolic link points to.
	Target string
	// Major and Minor number a character device.
	Major, Minor uint32
}

// Dir is a directory with mode 0755.
func Dir(path string) Entry { return Entry{Path: path, Mode: fs.ModeDir | 0o755} }

// Bytes is a regular file with the given content.
func Bytes(path string, perm fs.FileMode, data []byte) Entry {
	return Entry{Path: path, Mode: perm.Perm(), Data: data}
}

// Copy is a regular file with the content of source, a path on this machine.
func Copy(path string, perm fs.FileMode, source string) Entry {
	return Entry{Path: path, Mode: perm.Perm(), Source: source}
}

// Symlink is a symbolic link to target.
func Symlink(path, target string) Entry {
	return Entry{Path: path, Mode: fs.ModeSymlink | 0o777, Target: target}
}

// Device is a character device.
func Device(path string, perm fs.FileMode, major, minor uint32) Entry {
	return Entry{Path: path, Mode: fs.ModeDevice | fs.ModeCharDevice | perm.Perm(), Major: major, Minor: minor}
}

// Base is what every guest has: mount points, /dev/console, which the kernel opens for
// /init before anything is mounted, /dev/null, and init, a static binary on this machine, as /init.
func Base(init string) []Entry {
	return []Entry{
		Dir("/dev"), Dir("/proc"), Dir("/sys"), Dir("/run"), Dir("/tmp"),
		Device("/dev/console", 0o600, 5, 1),
		Device("/dev/null", 0o666, 1, 3),
		Copy("/init", 0o755, init),
	}
}

// Write writes the archive. Entries come in the order given; a directory that is
// missing is put in before its first entry, because the kernel makes none. An entry
// given twice, a path that is not absolute and clean, and a file of 4 GiB or more are
// errors. Files on disk are streamed.
func Write(w io.Writer, entries []Entry) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	a := &archive{cpio: cpio.Newc.Writer(buffered), seen: map[string]bool{"/": true}}
	for _, e := range entries {
		if err := a.add(e); err != nil {
			return fmt.Errorf("initramfs: %s: %w", e.Path, err)
		}
	}
	if err := cpio.WriteTrailer(a.cpio); err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	return nil
}

// WriteFile writes the archive to a new file with mode 0600. Nothing is left when it fails.
func WriteFile(path string, entries []Entry) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	err = Write(f, entries)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("initramfs: %w", closed)
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

type archive struct {
	cpio cpio.RecordWriter
	seen map[string]bool
}

// add writes e and the directories above it that are not there yet.
func (a *archive) add(e Entry) error {
	if !strings.HasPrefix(e.Path, "/") || path.Clean(e.Path) != e.Path || strings.ContainsRune(e.Path, 0) {
		return fmt.Errorf("the path must be absolute and clean")
	}
	if a.seen[e.Path] {
		return fmt.Errorf("it is given twice, or after a file below it")
	}
	if parent := path.Dir(e.Path); !a.seen[parent] {
		if err := a.add(Dir(parent)); err != nil {
			return err
		}
	}
	a.seen[e.Path] = true
	return a.write(e)
}

// write writes one record. u-root's writer numbers nothing and adds no times.
func (a *archive) write(e Entry) error {
	name, perm := e.Path[1:], uint64(e.Mode.Perm())
	switch e.Mode.Type() {
	case fs.ModeDir:
		return a.cpio.WriteRecord(cpio.Directory(name, perm))
	case fs.ModeSymlink:
		return a.cpio.WriteRecord(cpio.Symlink(name, e.Target))
	case fs.ModeDevice | fs.ModeCharDevice:
		return a.cpio.WriteRecord(cpio.CharDev(name, perm, uint64(e.Major), uint64(e.Minor)))
	case 0:
		return a.writeFile(e, cpio.Info{Name: name, Mode: cpio.S_IFREG | perm})
	}
	return fmt.Errorf("a file of type %v can't be put in", e.Mode.Type())
}

func (a *archive) writeFile(e Entry, info cpio.Info) error {
	if e.Source == "" {
		info.FileSize = uint64(len(e.Data))
		return a.cpio.WriteRecord(cpio.Record{ReaderAt: bytes.NewReader(e.Data), Info: info})
	}
	f, err := os.Open(e.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", e.Source)
	}
	if st.Size() > math.MaxUint32 {
		return fmt.Errorf("%s has %d bytes, newc holds less than 4 GiB", e.Source, st.Size())
	}
	info.FileSize = uint64(st.Size())
	// The section hides f's Close from the cpio writer, and holds the size still.
	return a.cpio.WriteRecord(cpio.Record{ReaderAt: io.NewSectionReader(f, 0, st.Size()), Info: info})
}
