package kernel

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testKernel has testModules and testBuiltin.
func testKernel(t *testing.T) *Kernel {
	t.Helper()
	dir := moduleFiles(t, "m/", "").with("bzImage", buildImage(version, nil)).write(t, t.TempDir())
	return must[*Kernel](t)(Open(t.Context(), filepath.Join(dir, "bzImage"), Options{CacheDir: dir, ModulesDir: filepath.Join(dir, "m")}))
}

func TestMissing(t *testing.T) {
	_, err := testKernel(t).Resolve([]string{"netem", "bonding", "broken", "dummy"}, nil)
	var missing *MissingModulesError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(&MissingModulesError{release, []string{"dummy", "gone", "netem"}}, missing); diff != "" {
		t.Error(diff)
	}
}

func TestSwap(t *testing.T) {
	k := testKernel(t)
	mine := buildModule(module{name: "bonding", depends: "virtio-net"})
	dir := files{
		"mine.ko.zst": pack(t, ".zst", mine),
		"new.ko":      buildModule(module{name: "new_one"}),
	}.write(t, t.TempDir())
	swap := map[string]string{"bonding": filepath.Join(dir, "mine.ko.zst"), "new-one": filepath.Join(dir, "new.ko")}
	modules := must[[]Module](t)(k.Resolve([]string{"tls"}, swap))
	if want := []string{"crc_x", "tls", "virtio_net", "bonding", "new_one"}; !slices.Equal(names(modules), want) {
		t.Fatalf("order %v, want %v", names(modules), want)
	}
	for _, m := range modules {
		if want := m.Name == "bonding" || m.Name == "new_one"; m.Swapped != want {
			t.Errorf("%s: swapped is %v", m.Name, m.Swapped)
		}
	}
	if string(modules[3].Data) != string(mine) || modules[3].File != swap["bonding"] {
		t.Errorf("the kernel's own module is given, from %s", modules[3].File)
	}
}

func TestSwapRefused(t *testing.T) {
	k := testKernel(t)
	dir := files{
		"text.ko":     []byte("hello"),
		"program.ko":  buildVmlinux(t),
		"cut.ko":      buildModule(module{name: "bonding"})[:200],
		"other.ko":    buildModule(module{name: "team"}),
		"bonding.ko":  buildModule(module{name: "bonding"}),
		"magic.ko":    buildModule(module{name: "bonding", vermagic: release + " SMP mod_unload "}),
		"new-5.10.ko": buildModule(module{name: "fresh", vermagic: "5.10 SMP "}),
		"loop.ko":     buildModule(module{name: "loop"}),
	}.write(t, t.TempDir())
	for _, tt := range []struct {
		name, file string
		texts      []string
	}{
		{"bonding", "none.ko", []string{"there is no such file"}},
		{"bonding", "text.ko", []string{"it is no kernel module for x86-64"}},
		{"bonding", "program.ko", []string{"it is no kernel module for x86-64"}},
		{"bonding", "cut.ko", []string{"its ELF headers are damaged"}},
		{"bonding", "other.ko", []string{"is the module team, not bonding"}},
		{"loop", "loop.ko", []string{"loop is built into this kernel: --module loop=", "can't replace it"}},
		{"tcp-cubic", "loop.ko", []string{"is built into this kernel"}},
		{"bonding", "magic.ko", []string{`"6.1.0-test SMP mod_unload"`, `"6.1.0-test SMP preempt mod_unload modversions"`}},
		{"fresh", "new-5.10.ko", []string{"built for kernel 5.10, but this kernel is 6.1.0-test"}},
	} {
		t.Run(tt.name+"="+tt.file, func(t *testing.T) {
			_, err := k.Resolve(nil, map[string]string{tt.name: filepath.Join(dir, tt.file)})
			wantUsage(t, err, tt.texts...)
		})
	}
}

func TestModulesOfAnotherKernel(t *testing.T) {
	dir := moduleFiles(t, "m/", "").with("bzImage", buildImage("5.10.0 (x) #1", nil)).write(t, t.TempDir())
	k := must[*Kernel](t)(Open(t.Context(), filepath.Join(dir, "bzImage"), Options{CacheDir: dir, ModulesDir: filepath.Join(dir, "m")}))
	_, err := k.Resolve([]string{"bonding"}, nil)
	wantUsage(t, err, "built for kernel 6.1.0-test, but this kernel is 5.10.0")
}

func TestUpdatesWin(t *testing.T) {
	dir := files{
		"a/x.ko": nil, "updates/x.ko": nil, "z/x.ko": nil,
		"b/y.ko": nil, "c/y.ko.xz": nil,
	}.write(t, t.TempDir())
	m := must[modules](t)(openModules(dir))
	want := map[string]string{"x": filepath.Join(dir, "updates/x.ko"), "y": filepath.Join(dir, "b/y.ko")}
	if diff := cmp.Diff(want, m.files); diff != "" {
		t.Error(diff)
	}
}
