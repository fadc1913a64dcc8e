package kbuild

import (
	"slices"
	"strings"
	"testing"
)

func TestConditions(t *testing.T) {
	const bonding = "obj-$(CONFIG_BONDING) += bonding.o\n\nbonding-objs := bond_main.o\nproc-$(CONFIG_PROC_FS) += bond_procfs.o\n"
	tests := map[string]struct {
		makefile, module string
		want             []string
	}{
		"bonding's own":         {bonding, "bonding", []string{"CONFIG_BONDING"}},
		"one of several":        {"obj-$(CONFIG_A) += a.o\nobj-$(CONFIG_B) += b.o\n", "b", []string{"CONFIG_B"}},
		"dashes":                {"obj-$(CONFIG_A) := my-a.o\n", "my_a", []string{"CONFIG_A"}},
		"braces":                {"\tobj-${CONFIG_A}+=a.o\n", "a", []string{"CONFIG_A"}},
		"a continued line":      {"obj-$(CONFIG_A) += x.o \\\n\ta.o\n", "a", []string{"CONFIG_A"}},
		"a folder may hold it":  {"obj-$(CONFIG_A) += sub/\nobj-$(CONFIG_A) += a.o\n", "a", []string{"CONFIG_A"}},
		"always":                {"obj-m := a.o\n", "a", nil},
		"the start of its name": {"obj-$(CONFIG_A) += ab.o\n", "a", nil},
		"a comment":             {"# obj-$(CONFIG_A) += a.o\n", "a", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := conditions(tt.makefile, tt.module); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestKbuildGoesBeforeMakefile(t *testing.T) {
	dir := t.TempDir()
	if _, err := moduleOptions(dir, "a"); err == nil || !strings.Contains(err.Error(), "no Makefile and no Kbuild") {
		t.Errorf("got %v", err)
	}
	write(t, dir, map[string]string{"Makefile": "obj-$(CONFIG_M) += a.o\n", "Kbuild": "obj-$(CONFIG_K) += a.o\n"})
	if got, err := moduleOptions(dir, "a"); err != nil || !slices.Equal(got, []string{"CONFIG_K"}) {
		t.Errorf("got %v, %v", got, err)
	}
}
