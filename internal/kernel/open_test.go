package kernel

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func names(modules []Module) []string {
	var out []string
	for _, m := range modules {
		out = append(out, m.Name)
	}
	return out
}

// whole checks everything a kernel with testModules must give.
func whole(t *testing.T, k *Kernel) {
	t.Helper()
	if k.Version != version || k.Release != release || !filepath.IsAbs(k.Image) {
		t.Errorf("version %q, release %q, image %q", k.Version, k.Release, k.Image)
	}
	modules, err := k.Resolve([]string{"virtio-net", "bonding", "loop", "tcp_cubic"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"virtio_net", "crc_x", "tls", "bonding"}; !slices.Equal(names(modules), want) {
		t.Errorf("order %v, want %v", names(modules), want)
	}
	for _, m := range modules {
		i := slices.IndexFunc(testModules, func(tm module) bool { return tm.name == m.Name })
		if string(m.Data) != string(buildModule(testModules[i])) {
			t.Errorf("%s: the data differs", m.Name)
		}
		if m.BuildID != testModules[i].id() || m.Vermagic != strings.TrimSpace(vermagic) || m.Swapped {
			t.Errorf("%s: build id %q, vermagic %q, swapped %v", m.Name, m.BuildID, m.Vermagic, m.Swapped)
		}
	}
	for name, want := range map[string]bool{"loop": true, "tcp_cubic": true, "bonding": false} {
		if got, known := k.BuiltIn(name); got != want || !known {
			t.Errorf("BuiltIn(%s) = %v, %v", name, got, known)
		}
	}
	for name, want := range map[string]bool{"loop": true, "crc-x": true, "gone": false} {
		if k.Has(name) != want {
			t.Errorf("Has(%s) is %v", name, !want)
		}
	}
}

func TestDeb(t *testing.T) {
	for _, tt := range []struct{ data, modules, payload, prefix string }{
		{"", "", ".gz", "./lib/modules/"},
		{".gz", ".gz", ".xz", "./lib/modules/"},
		{".xz", ".xz", ".zst", "./lib/modules/"},
		{".zst", ".zst", ".lz4", "./usr/lib/modules/"},
	} {
		t.Run("data.tar"+tt.data+" with .ko"+tt.modules, func(t *testing.T) {
			content := moduleFiles(t, tt.prefix+release+"/", tt.modules).
				with("./boot/vmlinuz-"+release, buildImage(version, pack(t, tt.payload, buildVmlinux(t)))).
				with("./usr/share/doc/x", []byte("y"))
			dir := files{"k.deb": buildDeb(t, tt.data, "", content)}.write(t, t.TempDir())
			told := 0
			opt := Options{CacheDir: filepath.Join(dir, "cache"), Progress: func(string) { told++ }}
			for range 2 {
				k := must[*Kernel](t)(Open(t.Context(), filepath.Join(dir, "k.deb"), opt))
				whole(t, k)
				if k.BuildID() != kernelID {
					t.Errorf("build id %q from a payload packed as %s", k.BuildID(), tt.payload)
				}
			}
			if told != 1 {
				t.Errorf("extracted %d times, want once", told)
			}
			if left := must[[]string](t)(filepath.Glob(opt.CacheDir + "/*/" + scratchPattern + "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// testdata/vmlinux-x86.xz is buildVmlinux packed as scripts/xz_wrap.sh packs a kernel: xz --check=crc32 --x86 --lzma2.
func TestBuildIDBehindTheX86Filter(t *testing.T) {
	payload := must[[]byte](t)(os.ReadFile("testdata/vmlinux-x86.xz"))
	dir := files{"bzImage": buildImage(version, payload)}.write(t, t.TempDir())
	if id, err := imageBuildID(filepath.Join(dir, "bzImage")); id != kernelID {
		t.Errorf("got %q, %v", id, err)
	}
}

func TestImageWithModules(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "bzImage")
	files{"bzImage": buildImage(version, []byte("packed in no known way"))}.write(t, dir)
	moduleFiles(t, "root/lib/modules/"+release+"/", "").write(t, dir)
	moduleFiles(t, "flat/", ".gz").write(t, dir)
	deb := buildDeb(t, ".xz", "", moduleFiles(t, "./lib/modules/"+release+"/", ""))
	files{"modules.deb": deb}.write(t, dir)
	for _, given := range []string{"root", "root/lib/modules", "root/lib/modules/" + release, "flat", "modules.deb"} {
		t.Run(given, func(t *testing.T) {
			k := must[*Kernel](t)(Open(t.Context(), image, Options{CacheDir: filepath.Join(dir, "cache"), ModulesDir: filepath.Join(dir, given)}))
			whole(t, k)
			if k.BuildID() != "" {
				t.Errorf("a build id from nowhere: %q", k.BuildID())
			}
		})
	}
}

func TestImageAlone(t *testing.T) {
	dir := files{"bzImage": buildImage(version, nil)}.write(t, t.TempDir())
	k := must[*Kernel](t)(Open(t.Context(), filepath.Join(dir, "bzImage"), Options{CacheDir: dir}))
	if builtIn, known := k.BuiltIn("bonding"); builtIn || known {
		t.Errorf("BuiltIn = %v, %v", builtIn, known)
	}
	if modules, err := k.Resolve([]string{"bonding"}, nil); err != nil || len(modules) != 0 {
		t.Errorf("got %v, %v", modules, err)
	}
}

func TestTree(t *testing.T) {
	for name, line := range map[string]string{
		"6.4": "drivers/net/NAME.o\n", "5.3": "drivers/net/NAME.ko\n", "5.2": "kernel/drivers/net/NAME.ko\n",
	} {
		t.Run(name, func(t *testing.T) {
			tree := files{
				"arch/x86/boot/bzImage":      buildImage(version, nil),
				"vmlinux":                    buildVmlinux(t),
				builtinFile:                  []byte(testBuiltin),
				"drivers/net/stale.ko":       buildModule(module{name: "stale"}),
				"kernel/trace/preemptirq.ko": buildModule(module{name: "preemptirq"}),
			}
			order := "kernel/trace/preemptirq.ko\n" + strings.ReplaceAll(line, "NAME", "not-built")
			for _, m := range testModules {
				tree["drivers/net/"+m.name+".ko"] = buildModule(m)
				order += strings.ReplaceAll(line, "NAME", m.name)
			}
			dir := tree.with("modules.order", []byte(order)).write(t, t.TempDir())
			k := must[*Kernel](t)(Open(t.Context(), dir, Options{CacheDir: dir}))
			whole(t, k)
			if k.BuildID() != kernelID {
				t.Errorf("build id %q", k.BuildID())
			}
			for name, want := range map[string]bool{"stale": false, "not_built": false, "preemptirq": true} {
				if k.Has(name) != want {
					t.Errorf("Has(%s) is %v", name, !want)
				}
			}
		})
	}
}

func TestHost(t *testing.T) {
	image := buildImage(version, nil)
	for name, path := range map[string]string{"Debian": "boot/vmlinuz-" + release, "Fedora": "lib/modules/" + release + "/vmlinuz"} {
		t.Run(name, func(t *testing.T) {
			root := moduleFiles(t, "lib/modules/"+release+"/", ".zst").with(path, image).write(t, t.TempDir())
			f := must[found](t)(findHost(root, release))
			if f.image != filepath.Join(root, path) || f.modulesDir != filepath.Join(root, "lib/modules", release) {
				t.Errorf("got %+v", f)
			}
		})
	}
	_, err := findHost(t.TempDir(), release)
	wantUsage(t, err, "kernel host: there is no ", "vmlinuz-"+release)
}

// wantUsage checks that err is a *UsageError of one sentence with all the texts.
func wantUsage(t *testing.T, err error, texts ...string) {
	t.Helper()
	var usage *UsageError
	if !errors.As(err, &usage) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v (%T), want a usage error of one line", err, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to contain %q", err, text)
		}
	}
}

func TestRefused(t *testing.T) {
	image := buildImage(version, nil)
	changed := func(at int, value uint16) []byte {
		b := slices.Clone(image)
		binary.LittleEndian.PutUint16(b[at:], value)
		return b
	}
	deb := func(content files) []byte { return buildDeb(t, ".gz", "", content) }
	good := deb(files{"./boot/vmlinuz-1": image})
	dir := files{
		"text":           []byte("hello"),
		"empty":          nil,
		"vmlinux":        buildVmlinux(t),
		"32bit":          changed(xloadflagsAt, 0),
		"old":            changed(protocolAt, 0x20b),
		"no-version":     changed(kernelVersionAt, 0),
		"far-version":    changed(kernelVersionAt, 0xffff),
		"cut-deb":        good[:len(good)-20],
		"no-data":        good[:72+60],
		"no-modules.deb": good,
		"no-image.deb":   deb(files{"./usr/bin/x": nil}),
		"two.deb":        deb(files{"./boot/vmlinuz-1": image, "./boot/vmlinuz-2": image}),
		"bzImage":        image,
		"bare/x":         nil,
	}.write(t, t.TempDir())
	for _, tt := range []struct{ spec, modules, text string }{
		{"none", "", "there is no such file; give a .deb"},
		{"text", "", "neither a bzImage nor a Debian package"},
		{"empty", "", "neither a bzImage nor a Debian package"},
		{"vmlinux", "", "it is an ELF file, not a bzImage"},
		{"32bit", "", "no x86-64 kernel"},
		{"old", "", "no x86-64 kernel"},
		{"no-version", "", "names no version"},
		{"far-version", "", "names no version"},
		{"cut-deb", "", `is no readable Debian package: member "data.tar.gz" is cut short`},
		{"no-data", "", "is no readable Debian package: "},
		{"no-image.deb", "", "holds no kernel image (boot/vmlinuz-*)"},
		{"two.deb", "", "holds 2 kernels"},
		{"no-modules.deb", "", "holds a kernel but no modules; give the package"},
		{".", "", "there is no arch/x86/boot/bzImage in it"},
		{"bzImage", "none", "no such file"},
		{"bzImage", "bare", "neither a .ko file nor a modules.builtin"},
		{"bzImage", "no-image.deb", "holds no kernel modules"},
	} {
		t.Run(tt.spec+" "+tt.modules, func(t *testing.T) {
			opt := Options{CacheDir: filepath.Join(dir, "cache")}
			if tt.modules != "" {
				opt.ModulesDir = filepath.Join(dir, tt.modules)
			}
			_, err := Open(t.Context(), filepath.Join(dir, tt.spec), opt)
			wantUsage(t, err, tt.text)
		})
	}
}

// A package can't write outside the cache, and its other files are left alone.
func TestWanted(t *testing.T) {
	for name, want := range map[string]string{
		"./boot/vmlinuz-6.1":                          "vmlinuz-6.1",
		"./boot/vmlinuz-6.1/x":                        "",
		"./boot/config-6.1":                           "",
		"./lib/modules/6.1/kernel/net/a.ko":           "modules/kernel/net/a.ko",
		"./usr/lib/modules/6.1/kernel/net/a.ko.zst":   "modules/kernel/net/a.ko.zst",
		"./lib/modules/6.1/modules.builtin":           "modules/modules.builtin",
		"./lib/modules/6.1/modules.order":             "",
		"./lib/modules/a.ko":                          "",
		"./lib/modules/6.1/../../../../etc/passwd.ko": "",
		"../lib/modules/6.1/../../modules/x/y.ko":     "modules/y.ko",
	} {
		if got := wanted(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	if err := w.WriteHeader(&tar.Header{Name: "boot/vmlinuz-1", Size: maxDebBytes + 1, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	deb := fmt.Appendf([]byte(arMagic), "%-48s%-10d`\n%s", "data.tar", data.Len(), data.Bytes())
	dir := files{"k.deb": deb}.write(t, t.TempDir())
	_, err := Open(t.Context(), filepath.Join(dir, "k.deb"), Options{CacheDir: dir})
	wantUsage(t, err, "it holds more than 4096 MiB")

	endless := &bounded{ctx: t.Context(), r: rand.Reader, left: 100}
	if n, err := io.Copy(io.Discard, endless); n != 100 || !errors.Is(err, errDebTooLarge) {
		t.Errorf("read %d bytes, then %v", n, err)
	}
	if b, err := readLimited(rand.Reader, 100); err == nil {
		t.Errorf("read %d bytes of at most 100", len(b))
	}
}

func TestCancelledExtraction(t *testing.T) {
	dir := files{"k.deb": buildDeb(t, ".xz", "", files{"./boot/vmlinuz-1": buildImage(version, nil)})}.write(t, t.TempDir())
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	opt := Options{CacheDir: filepath.Join(dir, "cache"), Progress: func(string) { cancel(stop) }}
	if _, err := Open(ctx, filepath.Join(dir, "k.deb"), opt); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(filepath.Join(opt.CacheDir, "extracted"))); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
