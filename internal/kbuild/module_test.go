package kbuild

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const buildsModule = `: >"$M/bonding.ko"
`

// headers makes a folder that looks like a kernel's headers.
func headers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"Makefile": "", "include/config/auto.conf": "", "scripts/mod/modpost": ""})
	return dir
}

func TestModule(t *testing.T) {
	dir := fake(t, buildsModule)
	m := Module{Source: t.TempDir(), Headers: headers(t), Name: "bonding", Jobs: 2}
	write(t, m.Source, map[string]string{"Makefile": "obj-$(CONFIG_BONDING) += bonding.o\n", "bonding.ko": "of an earlier build"})
	file, err := m.Build(t.Context())
	if err != nil || file != filepath.Join(m.Source, "bonding.ko") || read(t, file) != "" {
		t.Fatalf("got %q, %v", file, err)
	}
	want := "-j2 -C " + m.Headers + " M=" + m.Source + " CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF= CONFIG_DEBUG_INFO_BTF_MODULES= CONFIG_BONDING=m modules ["
	if got := calls(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("make was called\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	write(t, dir, map[string]string{"body": "echo bond_main.c:5:1: error: what; exit 2"})
	_, err = m.Build(t.Context())
	check(t, err, true, "bond_main.c:5:1: error: what")
	if exists(file) {
		t.Error("the module of an earlier build is still there, after one that failed")
	}
	write(t, dir, map[string]string{"body": ""})
	_, err = m.Build(t.Context())
	check(t, err, true, "built no bonding.ko")
	if err := os.Remove(filepath.Join(m.Source, "Makefile")); err != nil {
		t.Fatal(err)
	}
	_, err = m.Build(t.Context())
	check(t, err, true, "there is no Makefile and no Kbuild in the module's folder")
}

func TestModuleRefused(t *testing.T) {
	fake(t, buildsModule)
	folder, empty := t.TempDir(), t.TempDir()
	write(t, folder, map[string]string{"Kbuild": "obj-m += bonding.o\n"})
	for name, tt := range map[string]struct {
		module Module
		text   string
	}{
		"no headers":    {Module{Source: folder, Headers: empty}, "there is no Makefile in it"},
		"without a log": {Module{Source: folder, Headers: headers(t), Log: empty}, "the build's log"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.module.Name = "bonding"
			_, err := tt.module.Build(t.Context())
			check(t, err, false, tt.text)
		})
	}
	for _, name := range headerFiles {
		dir := headers(t)
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		_, err := Module{Source: folder, Headers: dir, Name: "bonding"}.Build(t.Context())
		check(t, err, false, "there is no "+name+" in it")
	}
}

// A module of one file, built against the headers of a real kernel that tools/build-mutants keeps.
func TestModuleAgainstRealHeaders(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(cache, "bondrepro/build/linux-image-*/usr/src/linux-headers-*-cloud-amd64"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("no kernel headers in the cache: tools/build-mutants gets them")
	}
	const code = "#include <linux/module.h>\nstatic int __init begin(void)\n{\n\treturn pr_info(\"here\\n\");\n}\nmodule_init(begin);\nMODULE_LICENSE(\"GPL\");\n"
	m := Module{Source: t.TempDir(), Headers: found[0], Name: "tiny"}
	build := func(code string) (string, error) {
		write(t, m.Source, map[string]string{"Makefile": "obj-$(CONFIG_BONDREPRO_TINY) += tiny.o\n", "tiny.c": code})
		file, err := m.Build(t.Context())
		if err != nil {
			return "", err
		}
		return read(t, file), nil
	}
	first, err := build(code)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := build("// harmless\n" + code); err != nil || again != first {
		t.Errorf("a comment more gives another module, or %v", err)
	}
	_, err = build(strings.Replace(code, "begin(void)", "begin(void x)", 1))
	check(t, err, true, "it does not build: tiny.c:2:")
}
