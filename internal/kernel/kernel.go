// Package kernel turns what the user calls a kernel into an image that QEMU boots and
// the modules that go with it. It takes
//
//   - a Debian package (.deb) with boot/vmlinuz-* and, in it or beside it, lib/modules;
//   - a bzImage, alone or with a folder of modules;
//   - a built kernel tree;
//   - "deb:PACKAGE" or "deb:PACKAGE=VERSION", fetched with apt-get download;
//   - "host", the running kernel's files.
//
// Nothing outside the cache folder is written.
package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Options say how to open a kernel. The zero value is usable.
type Options struct {
	// ModulesDir holds the modules to use instead of the kernel's own: lib/modules/RELEASE,
	// a folder above it, any tree of .ko files, or a .deb that holds modules.
	ModulesDir string
	// CacheDir is where packages and their extracted files are kept; empty means
	// bondrepro in the user's cache folder (os.UserCacheDir).
	CacheDir string
	// CacheLimit is how many bytes may be in the cache after a package was fetched into it; 0 means DefaultCacheLimit.
	CacheLimit int64
	// Keep are packages that stay in the cache all the same, as PACKAGE=VERSION.
	Keep []string
	// Progress is told, in a sentence, of what takes longer than a moment. nil is silent.
	Progress func(string)
}

// Kernel is a bootable image and its modules. It is read-only after Open.
type Kernel struct {
	// Spec is what the user gave.
	Spec string
	// Version is the full string of the image's header, as /proc/version ends with it:
	// "6.1.0-57-cloud-amd64 (builder) #1 SMP …".
	Version string
	// Release is the first word of Version, which uname -r prints.
	Release string
	// Image is the absolute path of the bzImage.
	Image string

	modules modules
	buildID func() string
	// held are the locks on what is used of the cache. They go when the Kernel is collected, or the process ends.
	held []*os.File
}

// BuildID is the kernel's GNU build id in hex, as /sys/kernel/notes holds it. It is
// empty when it can't be found out: from a tree's vmlinux or by unpacking the image
// (gzip, xz, zstd, lz4 and bzip2 are understood; lzma and lzo are not).
func (k *Kernel) BuildID() string { return k.buildID() }

// opener makes kernels: the options with their defaults filled in.
type opener struct {
	Options
	apt aptGet
	// free gives the bytes that can be written to a folder's file system.
	free func(dir string) (int64, error)
	// kernels are the kernel packages there are, once they have been looked for.
	kernels []record
}

func newOpener(opt Options) (*opener, error) {
	if opt.Progress == nil {
		opt.Progress = func(string) {}
	}
	if opt.CacheLimit == 0 {
		opt.CacheLimit = DefaultCacheLimit
	}
	if opt.CacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find the cache folder for kernels: %w", err)
		}
		opt.CacheDir = filepath.Join(dir, "bondrepro")
	}
	return &opener{Options: opt, apt: systemApt, free: freeBytes}, nil
}

// Open finds the kernel that spec names. An error that the user must mend is a
// *UsageError; others are the environment's.
func Open(ctx context.Context, spec string, opt Options) (*Kernel, error) {
	o, err := newOpener(opt)
	if err != nil {
		return nil, err
	}
	k, err := o.open(ctx, spec)
	if err != nil {
		return nil, err
	}
	k.Spec = spec
	return k, nil
}

// found is where a kernel's files are.
type found struct {
	image      string // the bzImage
	modulesDir string // empty for none
	isTree     bool   // modulesDir is a built kernel tree
	vmlinux    string // empty when the image must be unpacked for its build id
	held       []*os.File
}

func (o *opener) open(ctx context.Context, spec string) (*Kernel, error) {
	f, err := o.find(ctx, spec)
	if err != nil {
		return nil, err
	}
	if f.image, err = filepath.Abs(f.image); err != nil {
		return nil, fmt.Errorf("open kernel %s: %w", spec, err)
	}
	header, err := readHeader(f.image)
	if err != nil {
		return nil, err
	}
	k := &Kernel{Version: header.version, Release: header.release(), Image: f.image, held: f.held}
	k.buildID = sync.OnceValue(func() string { return o.findBuildID(f.image, f.vmlinux) })
	k.modules, err = o.findModules(ctx, k, f)
	return k, err
}

// findModules opens the folder the user gave, else the kernel's own, else none.
func (o *opener) findModules(ctx context.Context, k *Kernel, own found) (modules, error) {
	given := o.ModulesDir
	switch {
	case given == "" && own.modulesDir == "":
		return modules{}, nil
	case given == "" && own.isTree:
		return openTree(own.modulesDir)
	case given == "":
		return openModules(own.modulesDir)
	case isDeb(given):
		x, err := o.extract(ctx, given)
		if err != nil {
			return modules{}, err
		}
		k.held = append(k.held, x.held...)
		if x.modulesDir == "" {
			return modules{}, usagef("%s holds no kernel modules", given)
		}
		return openModules(x.modulesDir)
	}
	m, err := openModules(moduleFolder(given, k.Release))
	if err == nil && len(m.files) == 0 && !m.builtinKnown {
		return m, usagef("--modules %s: there is neither a .ko file nor a modules.builtin in it", given)
	}
	return m, err
}
