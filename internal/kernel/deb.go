package kernel

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds on what a package may hold. Debian's generic kernel has 4000 modules in 400 MB.
const (
	maxDebEntries = 100_000
	maxDebBytes   = 4 << 30
	maxControl    = 1 << 20
)

// extractedLayout is part of the cache's key: raise it when what is extracted changes.
const extractedLayout = "1"

// extract gives the image and the modules of the package at deb, from the cache when
// it was extracted before. Either may be missing (empty). The cache is keyed by the
// package's SHA-256, and a folder in it is complete, because it is renamed into place.
func (o *opener) extract(ctx context.Context, deb string) (found, error) {
	sum, err := sha256File(deb)
	if err != nil {
		return found{}, fmt.Errorf("read package: %w", err)
	}
	dir := o.extractedOf(sum)
	held, err := hold(dir)
	for try := 0; errors.Is(err, fs.ErrNotExist) && try < holdTries; try++ { // a prune may be faster than we are
		o.Progress(fmt.Sprintf("extracting %s (once; kept in %s)", filepath.Base(deb), filepath.Dir(dir)))
		if err := extractInto(ctx, deb, filepath.Dir(dir), dir); err != nil {
			return found{}, err
		}
		held, err = hold(dir)
	}
	if err != nil {
		return found{}, fmt.Errorf("use extracted package: %w", err)
	}
	f := found{held: []*os.File{held}}
	images, err := filepath.Glob(filepath.Join(escapeGlob(dir), "vmlinuz-*"))
	if err != nil {
		return f, err
	}
	if len(images) > 1 {
		return f, usagef("%s holds %d kernels; give one of its images", deb, len(images))
	}
	if len(images) == 1 {
		f.image = images[0]
	}
	if modules := filepath.Join(dir, "modules"); exists(modules) {
		f.modulesDir = modules
	}
	return f, nil
}

// extractedOf is where the files of the package with that SHA-256 are kept.
func (o *opener) extractedOf(sum string) string {
	return filepath.Join(o.CacheDir, extractedFolder, extractedLayout+"-"+sum)
}

// extractInto extracts to a scratch folder in root and renames it to dir.
func extractInto(ctx context.Context, deb, root, dir string) error {
	tmp, done, err := scratch(root)
	if err != nil {
		return err
	}
	defer done()
	f, err := os.Open(deb)
	if err != nil {
		return fmt.Errorf("read package: %w", err)
	}
	defer f.Close()
	folder, err := os.OpenRoot(tmp)
	if err != nil {
		return fmt.Errorf("extract %s: %w", deb, err)
	}
	defer folder.Close()
	if err := extractData(ctx, f, folder); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var write *os.PathError
		if errors.As(err, &write) {
			return fmt.Errorf("extract %s: %w", deb, err)
		}
		return usagef("%s is no readable Debian package: %v", deb, err)
	}
	if err := syncFolder(tmp); err != nil {
		return fmt.Errorf("extract %s: %w", deb, err)
	}
	err = os.Rename(tmp, dir)
	if err != nil && !exists(dir) { // another command may have been faster
		return fmt.Errorf("extract %s: %w", deb, err)
	}
	return nil
}

// syncFolder puts everything written so far on disk, so that a rename never shows
// files without their content after a power cut.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// extractData writes the kernel image and the modules of the package deb into folder.
func extractData(ctx context.Context, deb *os.File, folder *os.Root) error {
	st, err := deb.Stat()
	if err != nil {
		return err
	}
	return walkMember(ctx, deb, st.Size(), "data.tar", func(h *tar.Header, content io.Reader) error {
		name := wanted(h.Name)
		if name == "" {
			return nil
		}
		if err := folder.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		out, err := folder.Create(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		return errors.Join(err, out.Close())
	})
}

// walkMember calls visit for each regular file of a tar member of a package.
func walkMember(ctx context.Context, deb io.ReaderAt, size int64, member string, visit func(*tar.Header, io.Reader) error) error {
	packed, err := arMember(deb, size, member)
	if err != nil {
		return err
	}
	var plain io.Reader = bufio.NewReader(packed)
	if unpacked, err := decompress(packed); err == nil {
		defer unpacked.Close()
		plain = unpacked
	} else if !errors.Is(err, errNotCompressed) {
		return fmt.Errorf("%s: %w", member, err)
	} else if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	archive := tar.NewReader(&bounded{ctx: ctx, r: plain, left: maxDebBytes})
	total := int64(0)
	for range maxDebEntries {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", member, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		// Few bytes of the archive may stand for a large sparse file.
		if total += h.Size; total > maxDebBytes {
			return fmt.Errorf("%s: %w", member, errDebTooLarge)
		}
		if err := visit(h, archive); err != nil {
			return fmt.Errorf("%s: %s: %w", member, h.Name, err)
		}
	}
	return fmt.Errorf("%s: there are more than %d files in it", member, maxDebEntries)
}

var errDebTooLarge = fmt.Errorf("it holds more than %d MiB", maxDebBytes>>20)

// bounded ends with an error after left bytes and when ctx ends.
type bounded struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.left <= 0 {
		return 0, errDebTooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// wanted maps a path in a package to one in the cache; "" for what is not needed.
// With a merged /usr modules are below usr/lib.
func wanted(name string) string {
	name = path.Clean("/" + name)[1:]
	if image, ok := strings.CutPrefix(name, "boot/"); ok && strings.HasPrefix(image, "vmlinuz-") && path.Base(image) == image {
		return image
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "usr/"), "lib/modules/")
	if !ok {
		return ""
	}
	_, file, ok := strings.Cut(rest, "/") // after the release
	if !ok || (file != builtinFile && moduleName(file) == "") {
		return ""
	}
	return "modules/" + file
}

// debRecord reads the control fields of the package at file.
func debRecord(ctx context.Context, file string) (r record, err error) {
	f, err := os.Open(file)
	if err != nil {
		return r, fmt.Errorf("read package: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return r, fmt.Errorf("read package: %w", err)
	}
	err = walkMember(ctx, f, st.Size(), "control.tar", func(h *tar.Header, content io.Reader) error {
		if path.Base(h.Name) != "control" {
			return nil
		}
		text, err := readLimited(content, maxControl)
		r = parseRecord(string(text))
		return err
	})
	switch {
	case err != nil:
		return r, usagef("%s is no readable Debian package: %v", file, err)
	case r.name == "":
		return r, usagef("%s is no readable Debian package: its control file names no package", file)
	}
	r.size = st.Size()
	return r, nil
}
