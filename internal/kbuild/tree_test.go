package kbuild

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ofSource fails unless an error is, or is not, the source's fault, and one line that holds all texts.
func check(t *testing.T, err error, ofSource bool, texts ...string) {
	t.Helper()
	var b *BuildError
	if err == nil || errors.As(err, &b) != ofSource || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v (%T), the source's fault: want %v", err, err, ofSource)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to hold %q", err, text)
		}
	}
}

func TestTree(t *testing.T) {
	dir := fake(t, buildsImage)
	t.Setenv("MAKEFLAGS", "k --jobserver-auth=3,4")
	t.Setenv("ARCH", "arm")
	tree := Tree{Source: source(t), Out: filepath.Join(dir, "out"), Jobs: 3, Log: filepath.Join(dir, "log")}
	spec, err := tree.Build(t.Context())
	if err != nil || spec != tree.Out {
		t.Fatalf("got %q, %v", spec, err)
	}
	env := " [C||unset||Thu Jan  1 00:00:00 UTC 1970]"
	want := []string{
		"-j3 -C " + tree.Source + " O=" + tree.Out + " allnoconfig" + env,
		"-j3 -C " + tree.Source + " O=" + tree.Out + " bzImage" + env,
	}
	if got := calls(t, dir); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("make was called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if read(t, filepath.Join(tree.Out, ".config")) != fragment {
		t.Error("the config is not what kconfig made of the fragment")
	}
	if log := read(t, tree.Log); !strings.Contains(log, "  CC      init/main.o\n") || !strings.Contains(log, "+ make -j3 -C") {
		t.Errorf("the log is %q", log)
	}
	left, err := filepath.Glob(filepath.Join(tree.Out, ".*bondrepro*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestTheSameConfigIsNotWrittenAgain(t *testing.T) {
	dir := fake(t, buildsImage)
	tree := Tree{Source: source(t), Out: filepath.Join(dir, "out")}
	config := filepath.Join(tree.Out, ".config")
	var before time.Time
	for range 2 {
		if _, err := tree.Build(t.Context()); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(config)
		if err != nil {
			t.Fatal(err)
		}
		if !before.IsZero() && !st.ModTime().Equal(before) {
			t.Error("it was written twice")
		}
		before = st.ModTime()
	}
}

func TestTreeFromAConfig(t *testing.T) {
	dir := fake(t, buildsImage)
	write(t, dir, map[string]string{"config": "CONFIG_EXT4_FS=m\nCONFIG_BONDING=m\n", "text": "no config\n"})
	tree := Tree{Source: source(t), Out: filepath.Join(dir, "out"), Config: filepath.Join(dir, "config")}
	if _, err := tree.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := calls(t, dir)
	if !strings.Contains(got[0], " olddefconfig ") || !strings.Contains(got[1], " bzImage modules ") {
		t.Errorf("make was called\n%s", strings.Join(got, "\n"))
	}
	text := read(t, filepath.Join(tree.Out, ".config"))
	if !strings.Contains(text, "CONFIG_EXT4_FS=m\n") || strings.Contains(text, "CONFIG_BONDING=m") {
		t.Errorf("the config is\n%s", text)
	}
	tree.Config = filepath.Join(dir, "text")
	_, err := tree.Build(t.Context())
	check(t, err, false, "is no kernel config")
}

func TestOptionsThatDoNotStick(t *testing.T) {
	dir := fake(t, buildsImage)
	tree := Tree{Source: source(t), Out: filepath.Join(dir, "out")}
	write(t, dir, map[string]string{"kconfig": "/KVM_GUEST/d"})
	if _, err := tree.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"kconfig": "s/CONFIG_BONDING=y/# CONFIG_BONDING is not set/"})
	_, err := tree.Build(t.Context())
	check(t, err, true, "CONFIG_BONDING")
	if !strings.Contains(read(t, filepath.Join(tree.Out, ".config")), "CONFIG_BONDING=y") {
		t.Error("the config that worked was replaced")
	}
	tree.Out = filepath.Join(dir, "another")
	_, err = tree.Build(t.Context())
	check(t, err, true, "CONFIG_BONDING")
	if exists(tree.Out) {
		t.Error("a folder is left in which nothing was built")
	}
}

func TestApply(t *testing.T) {
	dir := fake(t, "exit 1")
	tree := source(t)
	if err := Apply(t.Context(), tree, nil); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(tree, ".config")
	if read(t, config) != fragment {
		t.Error("the config is not the fragment")
	}
	write(t, tree, map[string]string{".config": "CONFIG_MINE=y\n# CONFIG_NET is not set\n"})
	if err := Apply(t.Context(), tree, nil); err != nil {
		t.Fatal(err)
	}
	if text := read(t, config); !strings.Contains(text, "CONFIG_MINE=y\n") || strings.Contains(text, "# CONFIG_NET is") {
		t.Errorf("the config is\n%s", text)
	}
	if read(t, config+".old") != "CONFIG_MINE=y\n# CONFIG_NET is not set\n" {
		t.Error("the old config was not kept")
	}
	write(t, tree, map[string]string{".config": "CONFIG_MINE=y\n"})
	write(t, dir, map[string]string{"kconfig": "/CONFIG_KVM_GUEST/d"})
	said := ""
	if err := Apply(t.Context(), tree, func(s string) { said += s }); err != nil || said != "this kernel has no CONFIG_KVM_GUEST: it boots and measures without" {
		t.Errorf("said %q, %v", said, err)
	}
	write(t, tree, map[string]string{".config": "CONFIG_MINE=y\n"})
	write(t, dir, map[string]string{"kconfig": "/CONFIG_VIRTIO_NET/d;/CONFIG_SMP/d"})
	err := Apply(t.Context(), tree, nil)
	check(t, err, false, "CONFIG_SMP, CONFIG_VIRTIO_NET")
	if read(t, config) != "CONFIG_MINE=y\n" {
		t.Error("the config was changed, though the fragment does not fit")
	}
	check(t, Apply(t.Context(), t.TempDir(), nil), false, "is no kernel tree: there is no Makefile")
}

func TestTreeRefused(t *testing.T) {
	src := source(t)
	for name, tt := range map[string]struct {
		tree Tree
		text string
	}{
		"no tree":          {Tree{Source: t.TempDir(), Out: filepath.Join(t.TempDir(), "out")}, "is no kernel tree"},
		"in its own":       {Tree{Source: src, Out: src}, "name another one"},
		"no config":        {Tree{Source: src, Out: filepath.Join(t.TempDir(), "out"), Config: "no-such-file"}, "no-such-file"},
		"no image":         {Tree{Source: src, Out: filepath.Join(t.TempDir(), "out"), Command: "true"}, "there is no arch/x86/boot/bzImage"},
		"no such command":  {Tree{Source: src, Out: filepath.Join(t.TempDir(), "out"), Command: "no-such-make"}, "this machine has no program no-such-make"},
		"no permission":    {Tree{Source: src, Out: filepath.Join(t.TempDir(), "out"), Command: "./Makefile"}, "can't be executed (exit code 126)"},
		"a killed command": {Tree{Source: src, Out: filepath.Join(t.TempDir(), "out"), Command: "kill -9 $$"}, "ended by signal 9"},
		"a killed child":   {Tree{Source: src, Out: filepath.Join(t.TempDir(), "out"), Command: "sh -c 'kill -9 $$'; exit $?"}, "was killed (exit code 137)"},
	} {
		t.Run(name, func(t *testing.T) {
			fake(t, "exit 1")
			_, err := tt.tree.Build(t.Context())
			check(t, err, false, tt.text)
			if _, err := os.Stat(tt.tree.Out); tt.tree.Command == "" && tt.tree.Out != src && err == nil {
				t.Error("it left a folder behind")
			}
		})
	}
}

func TestMissingProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	tree := Tree{Source: source(t), Out: filepath.Join(t.TempDir(), "out")}
	for program, name := range map[string]string{"make": "make", "gcc": "gcc", "ld": "binutils", "flex": "flex", "bison": "bison"} {
		for _, p := range configPrograms {
			if err := os.Remove(filepath.Join(dir, p)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if p != program {
				write(t, dir, map[string]string{p: "#!/bin/sh\n"})
			}
		}
		_, err := tree.Build(t.Context())
		check(t, err, false, "this machine has no "+program+": apt-get install "+name)
	}
}

func TestTreeByACommand(t *testing.T) {
	t.Setenv("ARCH", "x86")
	for name, where := range map[string]string{"in its source": ".", "in $O": "$O"} {
		t.Run(name, func(t *testing.T) {
			tree := Tree{Source: source(t), Out: filepath.Join(t.TempDir(), "out")}
			tree.Command = `[ $ARCH = x86 ] && mkdir -p ` + where + `/arch/x86/boot && : >` + where + `/arch/x86/boot/bzImage`
			want := map[string]string{".": tree.Source, "$O": tree.Out}[where]
			if spec, err := tree.Build(t.Context()); err != nil || spec != want {
				t.Errorf("got %q, %v; want %q", spec, err, want)
			}
		})
	}
	t.Run("in its source, after our make", func(t *testing.T) {
		fake(t, buildsImage)
		tree := Tree{Source: source(t), Out: filepath.Join(t.TempDir(), "out")}
		if _, err := tree.Build(t.Context()); err != nil {
			t.Fatal(err)
		}
		tree.Command = "mkdir -p arch/x86/boot && echo newer >arch/x86/boot/bzImage"
		if spec, err := tree.Build(t.Context()); err != nil || spec != tree.Source {
			t.Errorf("got %q, %v; want %q", spec, err, tree.Source)
		}
	})
	tree := Tree{Source: source(t), Out: t.TempDir(), Command: "echo 'net/core/dev.c:5:1: error: what'; exit 2"}
	_, err := tree.Build(t.Context())
	check(t, err, true, "net/core/dev.c:5:1: error: what")
}

func TestInterrupted(t *testing.T) {
	dir := fake(t, `: >"$FAKE/started"; sleep 60`)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	go func() {
		for i := 0; i < 3000; i++ {
			if exists(filepath.Join(dir, "started")) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(stop)
	}()
	tree := Tree{Source: source(t), Out: filepath.Join(dir, "out")}
	if _, err := tree.Build(ctx); err != stop {
		t.Errorf("got %v", err)
	}
	if !exists(filepath.Join(tree.Out, unfinished)) {
		t.Error("nothing tells the next build that this one was killed")
	}
}

// What a killed make wrote last is built again; what it, and one before it, had finished is not.
func TestResumable(t *testing.T) {
	dir := t.TempDir()
	began := time.Now().Add(-time.Hour)
	write(t, dir, map[string]string{unfinished: "", "new.c": ""})
	files := map[string]struct {
		written time.Duration // after make began
		kept    bool
	}{
		"before.o": {-time.Minute, true}, "first.o": {time.Minute, true}, "almost.o": {20 * time.Minute, false}, "last.o": {21 * time.Minute, false},
	}
	at := func(name string, t0 time.Time) {
		if err := os.Chtimes(filepath.Join(dir, name), t0, t0); err != nil {
			t.Fatal(err)
		}
	}
	at(unfinished, began)
	for name, f := range files {
		write(t, dir, map[string]string{name: "", "." + name + ".cmd": ""})
		at(name, began.Add(f.written))
	}
	err := resumable(dir, func() error {
		for name, f := range files {
			if exists(filepath.Join(dir, "."+name+".cmd")) != f.kept || !exists(filepath.Join(dir, name)) {
				t.Errorf("%s will be built again: %v", name, f.kept)
			}
		}
		if !exists(filepath.Join(dir, unfinished)) || !exists(filepath.Join(dir, "new.c")) {
			t.Error("the mark, or source, is gone while make runs")
		}
		return &BuildError{Reason: "x"}
	})
	check(t, err, true)
	if exists(filepath.Join(dir, unfinished)) {
		t.Error("a make that ended by itself reads as killed")
	}
}

func TestOneBuildAtATime(t *testing.T) {
	dir := fake(t, buildsImage+buildsModule)
	tree := Tree{Source: source(t), Out: filepath.Join(dir, "out")}
	module := Module{Source: tree.Out, Headers: headers(t), Name: "bonding"}
	write(t, tree.Out, map[string]string{"Makefile": "obj-m := bonding.o\n"})
	locked, err := lock(tree.Out)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tree.Build(t.Context())
	check(t, err, false, "another build runs in "+tree.Out)
	_, err = module.Build(t.Context())
	check(t, err, false, "another build runs in "+tree.Out)
	locked.Close()
	if _, err := tree.Build(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSpaceThatATreeNeeds(t *testing.T) {
	tree := Tree{Out: t.TempDir()}
	small := tree.needs()
	tree.Config = "config"
	whole := tree.needs()
	write(t, tree.Out, map[string]string{"vmlinux": ""})
	if again := tree.needs(); again >= small || small >= whole {
		t.Errorf("again %d, the fragment %d, a whole config %d bytes", again, small, whole)
	}
}

func TestSpace(t *testing.T) {
	dir := t.TempDir()
	if err := spaceLeft(dir, fewBytes); err != nil {
		t.Fatal(err)
	}
	check(t, spaceLeft(dir, 1<<60), false, "there is not enough space in "+dir, "it needs about 1099511627776 MB")
}
