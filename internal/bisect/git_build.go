package bisect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bondrepro/internal/kbuild"

	"github.com/google/renameio/v2"
)

// builder builds what a worktree holds.
type builder interface {
	// build leaves all that is booted in the folder into, which is there and empty. A *kbuild.BuildError is the commit's
	// fault.
	build(ctx context.Context, tree, into, log string, progress func(string)) error
	// image names what build left in a folder.
	image(folder string) Image
	// with writes down what build builds with, but for the commit.
	with(w io.Writer) error
}

// BuiltWith is a hash of the config, the command and the headers.
func (s *GitSpace) BuiltWith() (string, error) {
	sum := sha256.New()
	if err := s.builder.with(sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// build builds what the worktree holds and keeps it under a name.
func (s *GitSpace) build(ctx context.Context, name string) (Image, error) {
	log := filepath.Join(s.images.folder, logsName, name+".log")
	folder, err := s.images.keep(name, func(into string) error {
		return s.builder.build(ctx, s.tree.Dir, into, log, s.progress)
	})
	if err == nil {
		return s.builder.image(folder), nil
	}
	return Image{}, asBroken(err, log)
}

// asBroken makes a build's failure the commit's where it is.
func asBroken(err error, log string) error {
	if broken := (*kbuild.BuildError)(nil); errors.As(err, &broken) {
		return &BrokenError{Reason: fmt.Sprintf("%v (%s)", broken, log)}
	}
	return err
}

// moduleBuilder builds one module against fixed headers.
type moduleBuilder struct {
	name    string
	prefix  string // of the module's folder in the worktree
	headers string
	kernel  string
}

func (b moduleBuilder) build(ctx context.Context, tree, into, log string, progress func(string)) error {
	source := filepath.Join(tree, b.prefix)
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		return &kbuild.BuildError{Reason: "there is no folder " + b.prefix}
	}
	file, err := kbuild.Module{Source: source, Headers: b.headers, Name: b.name, Progress: progress, Log: log}.Build(ctx)
	if err != nil {
		return err
	}
	return copyFile(filepath.Join(into, b.file()), file)
}

func (b moduleBuilder) with(w io.Writer) error {
	text, err := os.ReadFile(filepath.Join(b.headers, configured))
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func (b moduleBuilder) file() string { return b.name + ".ko" }

func (b moduleBuilder) image(folder string) Image {
	return Image{Kernel: b.kernel, Modules: map[string]string{b.name: filepath.Join(folder, b.file())}}
}

// treeBuilder builds a kernel.
type treeBuilder struct {
	config, command string
	folder          string // the bisect's
}

func (b treeBuilder) build(ctx context.Context, tree, into, log string, progress func(string)) error {
	built, err := kbuild.Tree{
		Source: tree, Out: filepath.Join(b.folder, outName), Config: b.config, Command: b.command, Progress: progress, Log: log,
	}.Build(ctx)
	if err != nil {
		return err
	}
	return copyBuilt(into, built)
}

func (b treeBuilder) with(w io.Writer) error {
	fmt.Fprintln(w, b.command)
	fmt.Fprintln(w, kbuild.Fragment())
	if b.config == "" {
		return nil
	}
	text, err := os.ReadFile(b.config)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// image is a folder like a built tree, with what is booted only.
func (b treeBuilder) image(folder string) Image { return Image{Kernel: folder} }

// bzImage is where make leaves the image in a tree (arch/x86/Makefile).
const bzImage = "arch/x86/boot/bzImage"

// bootable tells whether a file of a built tree is booted or says what is in the image. vmlinux is not: it is large, and the
// build id can be read from the image.
func bootable(rel string) bool {
	switch rel {
	case bzImage, "modules.builtin":
		return true
	}
	return strings.HasSuffix(rel, ".ko")
}

// copyBuilt copies what is booted of a built tree.
func copyBuilt(into, built string) error {
	return filepath.WalkDir(built, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(built, path)
		if err != nil || !d.Type().IsRegular() || !bootable(filepath.ToSlash(rel)) {
			return err
		}
		return copyFile(filepath.Join(into, rel), path)
	})
}

// copyFile copies a file, and makes the folder it goes to.
func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return renameio.WriteFile(to, data, 0o644)
}
