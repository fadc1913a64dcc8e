package bisect

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bondrepro/internal/kbuild"
	"bondrepro/internal/osrun"
)

// commits is a repository made for a test, with a module's folder in it.
type commits struct {
	t   *testing.T
	dir string
}

func newCommits(t *testing.T) *commits {
	t.Helper()
	c := &commits{t: t, dir: t.TempDir()}
	c.git("init", "--quiet", "-b", "main")
	return c
}

func (c *commits) git(args ...string) string {
	c.t.Helper()
	args = append([]string{"-C", c.dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)
	out, err := osrun.Run(c.t.Context(), osrun.Cmd{Path: "git", Args: args})
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(out.Stdout))
}

// add commits files, NAME TEXT in turn, and gives the commit.
func (c *commits) add(files ...string) string {
	c.t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(c.dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(files[i+1]), 0o644)); err != nil {
			c.t.Fatal(err)
		}
		c.git("add", files[i])
	}
	c.git("commit", "--quiet", "--allow-empty", "-m", "set "+strings.Join(files, " "))
	return c.git("rev-parse", "HEAD")
}

// branch goes to a new branch that begins at a commit.
func (c *commits) branch(name, at string) { c.git("checkout", "--quiet", "-b", name, at) }

// merge merges a branch into main.
func (c *commits) merge(name string) string {
	c.git("checkout", "--quiet", "main")
	c.git("merge", "--quiet", "--no-ff", "-m", "merge "+name, name)
	return c.git("rev-parse", "HEAD")
}

// copier is a builder whose image is the file "value" of the tree; "broken" and "full" say how it fails.
type copier struct{ builds *int }

func (b copier) build(_ context.Context, tree, into, log string, progress func(string)) error {
	*b.builds++
	text, err := os.ReadFile(filepath.Join(tree, "value"))
	switch {
	case err != nil:
		return err
	case string(text) == "broken":
		return &kbuild.BuildError{Reason: "value:1: broken"}
	case string(text) == "full":
		return errors.New("no room")
	}
	progress("copying")
	return errors.Join(os.WriteFile(filepath.Join(into, "value"), text, 0o644), os.WriteFile(log, []byte("done"), 0o644))
}

func (b copier) with(io.Writer) error { return nil }

func (b copier) image(folder string) Image { return Image{Kernel: filepath.Join(folder, "value")} }

// space opens the history of a tree, with a builder that copies.
func (c *commits) space(o TreeOptions) (*GitSpace, Ends, *int) {
	c.t.Helper()
	o.Repo, o.Build = c.dir, "true"
	if o.Folder == "" {
		o.Folder = filepath.Join(c.t.TempDir(), "bisect")
	}
	s, ends, err := OpenTree(c.t.Context(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	builds := new(int)
	s.builder = copier{builds}
	return s, ends, builds
}

// booted is what the image of a commit is.
func booted(t *testing.T, image Image) string {
	t.Helper()
	text, err := os.ReadFile(image.Kernel)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGitSpaceMake(t *testing.T) {
	c := newCommits(t)
	one := c.add("value", "1")
	broken := c.add("value", "broken")
	full := c.add("value", "full")
	four := c.add("value", "4")
	s, ends, builds := c.space(TreeOptions{Good: one, Bad: "main"})
	if ends != (Ends{Old: one, New: four}) {
		t.Errorf("the ends are %v", ends)
	}
	images := map[string]Image{}
	for range 2 { // the second time nothing is built
		for id, want := range map[string]string{one: "1", four: "4"} {
			image, err := s.Make(t.Context(), id)
			if err != nil || booted(t, image) != want {
				t.Fatalf("%s: %v, %v; want %s", id, image, err, want)
			}
			images[id] = image
		}
	}
	if *builds != 2 {
		t.Errorf("built %d times, want 2", *builds)
	}
	var fault *BrokenError
	if _, err := s.Make(t.Context(), broken); !errors.As(err, &fault) || !strings.Contains(fault.Reason, "value:1: broken") {
		t.Errorf("a commit that does not build gives %v", err)
	}
	if _, err := s.Make(t.Context(), full); err == nil || errors.As(err, &fault) || !strings.Contains(err.Error(), "no room") {
		t.Errorf("a machine that can't build gives %v", err)
	}
	if booted(t, images[one]) != "1" || booted(t, images[four]) != "4" { // still, after others
		t.Error("the images changed")
	}
	if name, err := s.Describe(t.Context(), four); err != nil || name != four[:12]+" set value 4" {
		t.Errorf("described as %q, %v", name, err)
	}

	folder := s.images.folder
	// Killed while it was built: a bisect that goes on builds it again.
	if err := errors.Join(os.RemoveAll(s.images.path(one)), os.MkdirAll(s.images.path(unfinished+one), 0o755)); err != nil {
		t.Fatal(err)
	}
	s, _, builds = c.space(TreeOptions{Good: one, Bad: "main", Folder: folder})
	if image, err := s.Make(t.Context(), one); err != nil || booted(t, image) != "1" || *builds != 1 {
		t.Errorf("after it was killed: %v, %v, built %d times", image, err, *builds)
	}
	if exists(s.images.path(unfinished + one)) {
		t.Error("the unfinished image is still there")
	}

	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(folder)
	if len(left) != 1 || left[0].Name() != logsName {
		t.Errorf("after the end there are %v", left)
	}
	if list := c.git("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("git still knows %s", list)
	}
}

// TestGitSpaceBuildsByCommand: a command of the user's may build in $O or in the tree itself; either image stays as it is
// when the next commit is built.
func TestGitSpaceBuildsByCommand(t *testing.T) {
	c := newCommits(t)
	one := c.add("value", "1")
	two := c.add("value", "2")
	broken := c.add("value", "false")
	c.add("value", "4")
	for _, place := range []string{"$O", "."} {
		s, _, err := OpenTree(t.Context(), TreeOptions{
			Repo: c.dir, Good: one, Bad: "main", Folder: filepath.Join(t.TempDir(), "bisect"),
			Build: "! grep false value && mkdir -p " + place + "/arch/x86/boot && cp value " + place + "/" + bzImage,
		})
		if err != nil {
			t.Fatal(err)
		}
		images := map[string]Image{}
		for id, want := range map[string]string{one: "1", two: "2"} {
			if images[id], err = s.Make(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if got := booted(t, Image{Kernel: filepath.Join(images[id].Kernel, bzImage)}); got != want {
				t.Errorf("in %s: %s is %s, want %s", place, id, got, want)
			}
		}
		if got := booted(t, Image{Kernel: filepath.Join(images[one].Kernel, bzImage)}); got != "1" {
			t.Errorf("in %s: the first image became %s", place, got)
		}
		var fault *BrokenError
		if _, err := s.Make(t.Context(), broken); !errors.As(err, &fault) || !strings.Contains(fault.Reason, broken+".log") {
			t.Errorf("in %s: a commit that does not build gives %v", place, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestGitSpaceImagesAreBounded: those that were not used for longest go first.
func TestGitSpaceImagesAreBounded(t *testing.T) {
	c := newCommits(t)
	var ids []string
	for _, v := range []string{"1", "2", "3", "4"} {
		ids = append(ids, c.add("value", v))
	}
	s, _, builds := c.space(TreeOptions{Good: ids[0], Bad: ids[3]})
	s.images.most = 2
	for _, i := range []int{0, 1, 0, 2} {
		if _, err := s.Make(t.Context(), ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if exists(s.images.path(ids[1])) || !exists(s.images.path(ids[0])) || !exists(s.images.path(ids[2])) || *builds != 3 {
		t.Errorf("kept the wrong ones, after %d builds", *builds)
	}
}

func TestGitSpaceLeft(t *testing.T) {
	c := newCommits(t)
	var m []string
	for _, v := range []string{"0", "1", "2", "3"} {
		m = append(m, c.add("value", v))
	}
	c.branch("side", m[1])
	side := c.add("other/a", "side")
	merge := c.merge("side")
	last := c.add("value", "5")
	unrelated := c.add("third", "x")

	for _, x := range []struct {
		name      string
		paths     []string
		findFix   bool
		good, bad string
		new       string   // the new end
		old       []string // known to be old, besides the old end
		left      []string
	}{
		{name: "all", good: m[0], bad: last, new: last, left: []string{m[1], m[2], m[3], side, merge}},
		{name: "one side known", good: m[0], bad: last, new: last, old: []string{side}, left: []string{m[2], m[3], merge}},
		{name: "both sides known", good: m[0], bad: last, new: last, old: []string{side, m[3]}, left: []string{merge}},
		{name: "a path", paths: []string{"other"}, good: m[0], bad: unrelated, new: side},
		{name: "another path", paths: []string{"value"}, good: m[0], bad: unrelated, new: last, left: []string{m[1], m[2], m[3]}},
		{name: "two paths", paths: []string{"value", "other/"}, good: m[0], bad: unrelated, new: last, left: []string{m[1], m[2], m[3], side, merge}},
		{name: "find the fix", findFix: true, good: last, bad: m[0], new: last, left: []string{m[1], m[2], m[3], side, merge}},
	} {
		s, ends, _ := c.space(TreeOptions{Good: x.good, Bad: x.bad, Paths: x.paths, FindFix: x.findFix})
		if ends != (Ends{Old: m[0], New: x.new}) {
			t.Errorf("%s: the ends are %v, want %s, %s", x.name, ends, m[0], x.new)
		}
		marks := Marks{Old: append([]string{ends.Old}, x.old...), New: ends.New}
		left, err := s.Left(t.Context(), marks)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Left(t.Context(), marks)
		if err != nil || !slices.Equal(again, left) {
			t.Errorf("%s: asked again, left are %v, %v", x.name, again, err)
		}
		clear(again) // an answer is the caller's
		if again, err = s.Left(t.Context(), marks); err != nil || !slices.Equal(again, left) {
			t.Errorf("%s: asked a third time, left are %v, %v", x.name, again, err)
		}
		slices.Sort(left)
		slices.Sort(x.left)
		if !slices.Equal(left, x.left) {
			t.Errorf("%s: left are %v, want %v", x.name, left, x.left)
		}
	}
	s, ends, _ := c.space(TreeOptions{Good: m[0], Bad: last})
	for _, x := range []struct {
		marks Marks
		want  []string
	}{ // of one space: other marks are another question
		{Marks{Old: []string{ends.Old}, New: last}, []string{m[1], m[2], m[3], side, merge}},
		{Marks{Old: []string{ends.Old, m[3]}, New: last}, []string{side, merge}},
		{Marks{Old: []string{ends.Old, m[3]}, New: merge}, []string{side}},
	} {
		left, err := s.Left(t.Context(), x.marks)
		slices.Sort(left)
		slices.Sort(x.want)
		if err != nil || !slices.Equal(left, x.want) {
			t.Errorf("%v: left are %v, %v; want %v", x.marks, left, err, x.want)
		}
	}
	s, _, _ = c.space(TreeOptions{Good: m[0], Bad: unrelated, Paths: []string{"value"}})
	if before, err := s.Before(t.Context(), last); err != nil || !slices.Equal(before, []string{merge}) {
		t.Errorf("before the last change of a path is %v, %v; want its own parent", before, err)
	}
	if before, err := s.Before(t.Context(), merge); err != nil || !slices.Equal(before, []string{m[3], side}) {
		t.Errorf("before a merge is %v, %v; want both parents", before, err)
	}
	if before, err := s.Before(t.Context(), m[0]); err != nil || len(before) != 0 {
		t.Errorf("before the root is %v, %v", before, err)
	}
}

func TestGitSpaceMakeReverted(t *testing.T) {
	c := newCommits(t)
	root := c.add("value", "1", "extra", "x")
	free := c.add("value", "2")
	c.add("extra", "y")
	clash := c.add("extra", "z")
	c.add("extra", "last")
	s, _, builds := c.space(TreeOptions{Good: root, Bad: "main"})
	for range 2 {
		image, clean, err := s.MakeReverted(t.Context(), free)
		if err != nil || !clean || booted(t, image) != "1" {
			t.Fatalf("without %s: %v, clean %v, %v", free, image, clean, err)
		}
	}
	if *builds != 1 {
		t.Errorf("built %d times, want once", *builds)
	}
	if _, clean, err := s.MakeReverted(t.Context(), clash); clean || err != nil {
		t.Errorf("with a conflict: clean %v, %v", clean, err)
	}
	if image, err := s.Make(t.Context(), "main"); err != nil || booted(t, image) != "2" {
		t.Errorf("the tip itself, after that: %v, %v", image, err)
	}
}

// headers is a folder that looks like a kernel's headers.
func headers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "include/config/auto.conf")
	if err := errors.Join(os.MkdirAll(filepath.Dir(conf), 0o755), os.WriteFile(conf, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenModule(t *testing.T) {
	c := newCommits(t)
	first := c.add("drivers/a/Makefile", "obj-m += a.o", "top", "1")
	second := c.add("drivers/a/a.c", "1")
	c.add("top", "2")
	third := c.add("drivers/a/a.c", "2")
	c.add("top", "3")
	o := ModuleOptions{
		Name: "a", Source: filepath.Join(c.dir, "drivers/a"), Headers: headers(t), Kernel: "deb:k", Good: first, Bad: "main",
		Folder: filepath.Join(t.TempDir(), "bisect"),
	}
	s, ends, err := OpenModule(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if ends != (Ends{Old: first, New: third}) {
		t.Errorf("the ends are %v, want %s, %s", ends, first, third)
	}
	left, err := s.Left(t.Context(), Marks{Old: []string{ends.Old}, New: ends.New})
	if err != nil || !slices.Equal(left, []string{second}) {
		t.Errorf("left are %v, %v; want %s", left, err, second)
	}
	image := s.builder.image("/images/x")
	if image.Kernel != "deb:k" || image.Modules["a"] != "/images/x/a.ko" {
		t.Errorf("the image is %+v", image)
	}
	// A commit from before the folder is no fault of the machine's.
	var broken *kbuild.BuildError
	if err := s.builder.build(t.Context(), t.TempDir(), t.TempDir(), "", nil); !errors.As(err, &broken) {
		t.Errorf("without the folder: %v", err)
	}
}

func TestGitSpaceRefuses(t *testing.T) {
	c := newCommits(t)
	one := c.add("value", "1", "Kconfig", "", "drivers/a/Makefile", "")
	two := c.add("value", "2")
	c.branch("side", one)
	side := c.add("other", "1")
	c.git("checkout", "--quiet", "--orphan", "alone")
	alone := c.add("value", "x")
	c.git("checkout", "--quiet", "main")
	shallow := filepath.Join(t.TempDir(), "shallow")
	c.git("clone", "--quiet", "--depth", "1", "file://"+c.dir, shallow)
	dirty := filepath.Join(t.TempDir(), "dirty")
	c.git("clone", "--quiet", "file://"+c.dir, dirty)
	if err := os.WriteFile(filepath.Join(dirty, "value"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	outside, other := t.TempDir(), newCommits(t)
	other.add("value", "1")
	other.add("value", "2")
	module := func(change func(*ModuleOptions)) *ModuleOptions {
		o := &ModuleOptions{Name: "a", Source: filepath.Join(c.dir, "drivers/a"), Headers: headers(t), Good: one, Bad: two}
		change(o)
		return o
	}

	for _, x := range []struct {
		name   string
		tree   TreeOptions
		module *ModuleOptions
		says   []string
	}{
		{name: "no repository", tree: TreeOptions{Repo: outside, Good: one, Bad: two}, says: []string{outside, "no git repository"}},
		{name: "no folder", tree: TreeOptions{Repo: outside + "/x", Good: one, Bad: two}, says: []string{"no such folder"}},
		{name: "unknown good", tree: TreeOptions{Good: "v9", Bad: two}, says: []string{"--good: v9 is no revision of " + c.dir}},
		{name: "unknown bad", tree: TreeOptions{Good: one, Bad: "v9"}, says: []string{"--bad: v9 is no revision of " + c.dir}},
		{name: "shallow", tree: TreeOptions{Repo: shallow, Good: one, Bad: two}, says: []string{shallow, "git fetch --unshallow"}},
		{name: "dirty", tree: TreeOptions{Repo: dirty, Good: one, Bad: two}, says: []string{dirty, "value: commit or stash"}},
		{name: "one commit", tree: TreeOptions{Good: "main", Bad: two}, says: []string{"--good main and --bad " + two + " are the same commit"}},
		{name: "turned", tree: TreeOptions{Good: two, Bad: one}, says: []string{"--good " + two + " is younger than --bad " + one, "with --find-fix"}},
		{name: "turned, find the fix", tree: TreeOptions{Good: one, Bad: two, FindFix: true}, says: []string{"--bad " + two + " is younger than --good " + one, "without --find-fix"}},
		{name: "side by side", tree: TreeOptions{Good: "side", Bad: two}, says: []string{"--good side is no ancestor of --bad " + two, "part at " + one, "as --good"}},
		{name: "side by side, find the fix", tree: TreeOptions{Good: side, Bad: two, FindFix: true}, says: []string{"--bad " + two + " is no ancestor of --good " + side, "as --bad"}},
		{name: "two histories", tree: TreeOptions{Good: alone, Bad: two}, says: []string{"no history in common"}},
		{name: "nothing touches the path", tree: TreeOptions{Good: one, Bad: two, Paths: []string{"Kconfig"}}, says: []string{"no commit between", "touches Kconfig"}},
		{name: "no compiler for a kernel", tree: TreeOptions{Good: one, Bad: two}, says: []string{"no make in $PATH"}},
		{name: "no kernel", tree: TreeOptions{Repo: other.dir, Good: "main~1", Bad: "main"}, says: []string{"is no kernel tree", other.dir}},
		{name: "no config", tree: TreeOptions{Good: one, Bad: two, Config: outside + "/x"}, says: []string{"--config"}},

		{name: "no headers", module: module(func(o *ModuleOptions) { o.Headers = outside }), says: []string{"--headers " + outside, "auto.conf"}},
		{name: "no compiler", module: module(func(o *ModuleOptions) {}), says: []string{"no make in $PATH"}},
		{name: "no source", module: module(func(o *ModuleOptions) { o.Source = outside }), says: []string{"--source", "no git repository"}},
		{name: "no Makefile", module: module(func(o *ModuleOptions) { o.Source = c.dir }), says: []string{"neither a Kbuild nor a Makefile"}},
		{name: "empty module range", module: module(func(o *ModuleOptions) {}), says: []string{"no commit between", "touches drivers/a"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if slices.Contains(x.says, "no make in $PATH") {
				git, err := osrun.Look("git")
				if err != nil {
					t.Fatal(err)
				}
				bin := t.TempDir()
				if err := os.Symlink(git, filepath.Join(bin, "git")); err != nil {
					t.Fatal(err)
				}
				t.Setenv("PATH", bin)
			}
			folder := filepath.Join(t.TempDir(), "bisect")
			var err error
			if x.module != nil {
				x.module.Folder = folder
				_, _, err = OpenModule(t.Context(), *x.module)
			} else {
				x.tree.Folder = folder
				if x.tree.Repo == "" {
					x.tree.Repo = c.dir
				}
				_, _, err = OpenTree(t.Context(), x.tree)
			}
			wantUsage(t, err, x.says...)
			if exists(folder) {
				t.Error("the folder was made")
			}
		})
	}
	if list := c.git("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("a worktree is left: %s", list)
	}
}

// wantUsage wants one sentence that says all of it.
func wantUsage(t *testing.T, err error, says ...string) {
	t.Helper()
	var usage *UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("got %v, want a UsageError", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q has more than a line", err)
	}
}

func TestCheckRoom(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "yet", "there")
	if err := checkRoom(folder, 1); err != nil {
		t.Error(err)
	}
	wantUsage(t, checkRoom(folder, 1<<60), "MiB of room", "name another folder")
}

// TestCopyBuilt: of a built tree what is booted is kept, and no more.
func TestCopyBuilt(t *testing.T) {
	built, into := t.TempDir(), t.TempDir()
	for _, name := range []string{bzImage, "vmlinux", "modules.builtin", "drivers/net/bonding/bonding.ko", "drivers/net/bonding/bonding.o", "arch/x86/boot/setup.bin"} {
		if err := copyInto(built, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyBuilt(into, built); err != nil {
		t.Fatal(err)
	}
	var got []string
	filepath.WalkDir(into, func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, into+"/"))
		}
		return err
	})
	if want := []string{bzImage, "drivers/net/bonding/bonding.ko", "modules.builtin"}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

func copyInto(dir, name string) error {
	file := filepath.Join(dir, name)
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(name), 0o644))
}

// A history that is resumed is opened though the user's checkout was changed meanwhile: it knows its commits.
func TestGitSpaceResumedInADirtyCheckout(t *testing.T) {
	c := newCommits(t)
	old := c.add("value", "one")
	c.add("value", "two")
	if err := os.WriteFile(filepath.Join(c.dir, "value"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	o := TreeOptions{Repo: c.dir, Good: old, Bad: "HEAD", Build: "true", Folder: folder}
	_, _, err := OpenTree(t.Context(), o)
	wantUsage(t, err, "value")
	if err := os.WriteFile(filepath.Join(folder, journalName), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _, err := OpenTree(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// What modules and trees are built with has a hash: of the headers' configuration, of the config and the command.
func TestBuiltWith(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, configured)
	config := filepath.Join(dir, "config")
	put := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	for _, step := range []string{"first", "second"} {
		put(conf, step)
		put(config, step)
		for name, b := range map[string]builder{
			"module": moduleBuilder{headers: dir}, "config": treeBuilder{config: config}, "command": treeBuilder{command: step},
		} {
			sum, err := (&GitSpace{builder: b}).BuiltWith()
			if err != nil || sum == seen[name] {
				t.Errorf("%s, %s: %q, %v", step, name, sum, err)
			}
			seen[name] = sum
		}
	}
}
