package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// find tells the kinds of kernel apart.
func (o *opener) find(ctx context.Context, spec string) (found, error) {
	if name, ok := strings.CutPrefix(spec, "deb:"); ok {
		return o.fetch(ctx, name)
	}
	if spec == "host" {
		var uts unix.Utsname
		if err := unix.Uname(&uts); err != nil {
			return found{}, fmt.Errorf("uname: %w", err)
		}
		return findHost("/", unix.ByteSliceToString(uts.Release[:]))
	}
	st, err := os.Stat(spec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found{}, usagef("kernel %s: there is no such file; give a .deb, a bzImage, a built kernel tree, deb:PACKAGE or host", spec)
	case err != nil:
		return found{}, fmt.Errorf("open kernel: %w", err)
	case st.IsDir():
		return findTree(spec)
	case !st.Mode().IsRegular():
		return found{}, usagef("kernel %s: it is no regular file", spec)
	case isDeb(spec):
		return o.findDeb(ctx, spec)
	}
	return found{image: spec}, nil
}

// findDeb wants a package with a kernel and, unless modules are given, with its modules.
func (o *opener) findDeb(ctx context.Context, deb string) (found, error) {
	f, err := o.extract(ctx, deb)
	switch {
	case err != nil:
		return f, err
	case f.image == "":
		return f, usagef("%s holds no kernel image (boot/vmlinuz-*)", deb)
	case f.modulesDir == "" && o.ModulesDir == "":
		return f, usagef("%s holds a kernel but no modules; give the package or the folder that holds them with --modules, or give the kernel as deb:PACKAGE", deb)
	}
	return f, nil
}

// isDeb looks for the mark of ar(5), the outer layer of deb(5).
func isDeb(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, len(arMagic))
	_, err = io.ReadFull(f, magic)
	return err == nil && bytes.Equal(magic, []byte(arMagic))
}

// findTree finds what make leaves in a kernel tree (Documentation/kbuild).
func findTree(dir string) (found, error) {
	image := filepath.Join(dir, "arch/x86/boot/bzImage")
	if _, err := os.Stat(image); err != nil {
		return found{}, usagef("kernel tree %s: there is no arch/x86/boot/bzImage in it; build it with make bzImage modules", dir)
	}
	f := found{image: image, modulesDir: dir, isTree: true}
	if vmlinux := filepath.Join(dir, "vmlinux"); exists(vmlinux) {
		f.vmlinux = vmlinux
	}
	return f, nil
}

// findHost finds the running kernel's files, where Debian and where Fedora put them.
func findHost(root, release string) (found, error) {
	modules := filepath.Join(root, "lib/modules", release)
	images := []string{filepath.Join(root, "boot/vmlinuz-"+release), filepath.Join(modules, "vmlinuz")}
	for _, image := range images {
		f, err := os.Open(image)
		if errors.Is(err, fs.ErrPermission) {
			return found{}, usagef("kernel host: %s is not readable for this user; run as root, copy the file, or use deb:PACKAGE", image)
		}
		if err != nil {
			continue
		}
		f.Close()
		host := found{image: image}
		if exists(modules) {
			host.modulesDir = modules
		}
		return host, nil
	}
	return found{}, usagef("kernel host: there is no %s; give --kernel another kernel, for example deb:linux-image-cloud-amd64", images[0])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
