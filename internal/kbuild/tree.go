package kbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bondrepro/internal/osrun"
)

// Tree is a kernel tree to build. The zero value of every field but Source and Out is usable.
type Tree struct {
	// Source is the folder of the kernel's source. Our own make leaves it as it is.
	Source string
	// Out is the folder that gets what is built (make O=). It is made, and kept: the next build in it is incremental. A
	// Command finds its path in $O and may use it; or it builds in Source.
	Out string
	// Config is a file as .config to start from. The fragment is merged into it. Empty starts from nothing (allnoconfig).
	Config string
	// Command is a shell command that builds instead of our make, in Source, by sh -c. It makes its own config.
	Command string
	// Jobs is how many compilers run at once, 0 for one a CPU.
	Jobs int
	// Progress is told, in a sentence, of what takes longer than a moment. nil is silent.
	Progress func(string)
	// Log is a file that gets all that the build writes; it is emptied first. Empty means none.
	Log string
}

// imagePath is where make leaves the image (arch/x86/Makefile).
const imagePath = "arch/x86/boot/bzImage"

// Build builds the kernel and gives what `bondrepro run --kernel` takes: a built tree. The same code gives the same image. A
// *BuildError is the source's fault, every other error the machine's or the user's. After an error Out is what an interrupted
// make leaves: good for the next build.
func (t Tree) Build(ctx context.Context) (spec string, err error) {
	if t.Source, err = filepath.Abs(t.Source); err != nil {
		return "", err
	}
	if t.Out, err = filepath.Abs(t.Out); err != nil {
		return "", err
	}
	if t.Command == "" && t.Out == t.Source {
		return "", fmt.Errorf("the folder to build in is the source's own, %s: name another one", t.Source)
	}
	base, err := t.base()
	if err != nil {
		return "", err
	}
	if !exists(t.Out) {
		if err := os.MkdirAll(t.Out, 0o755); err != nil {
			return "", fmt.Errorf("the folder to build in: %w", err)
		}
		defer func() {
			if err != nil {
				_ = os.Remove(t.Out) // when nothing was built in it; else it stays
			}
		}()
	}
	locked, err := lock(t.Out)
	if err != nil {
		return "", err
	}
	defer locked.Close()
	if err := spaceLeft(t.Out, t.needs()); err != nil {
		return "", err
	}
	b, err := start(t.Progress, t.Jobs, t.Log, t.Out, t.Source)
	if err != nil {
		return "", err
	}
	if t.Command != "" {
		spec, err = t.command(ctx, b)
	} else {
		spec, err = t.Out, t.make(ctx, b, base)
	}
	if err = b.close(err); err != nil {
		return "", err
	}
	return spec, nil
}

// base is the config to start from, checked with all else that can be checked before anything is written.
func (t Tree) base() (string, error) {
	if t.Command != "" {
		return "", nil
	}
	if err := isTree(t.Source); err != nil {
		return "", err
	}
	if err := look(configPrograms); err != nil {
		return "", err
	}
	if t.Config == "" {
		return "", nil
	}
	text, err := os.ReadFile(t.Config)
	if err != nil {
		return "", fmt.Errorf("read the kernel's config: %w", err)
	}
	if len(parseConfig(string(text))) == 0 {
		return "", fmt.Errorf("%s is no kernel config: there is no CONFIG_NAME= in it", t.Config)
	}
	return string(text), nil
}

// needs is how many bytes a build takes.
func (t Tree) needs() uint64 {
	switch {
	case exists(filepath.Join(t.Out, "vmlinux")):
		return againBytes
	case t.Config != "":
		return wholeConfigBytes
	}
	return fragmentBytes
}

// make builds with our config.
func (t Tree) make(ctx context.Context, b *build, base string) error {
	out := "O=" + t.Out
	b.progress("configuring " + t.Source)
	_, err := b.configure(ctx, t.Source, t.Out, base, out) // what is only useful is missing at many commits
	var options *MissingOptionsError
	if errors.As(err, &options) {
		return &BuildError{Reason: options.Error()}
	}
	if err != nil {
		return err
	}
	targets := []string{out, "bzImage"}
	if modular, err := hasModules(filepath.Join(t.Out, ".config")); err != nil {
		return err
	} else if modular {
		targets = append(targets, "modules")
	}
	b.progress(fmt.Sprintf("building %s with %d jobs", t.Source, b.jobs))
	if err := resumable(t.Out, func() error { return b.make(ctx, t.Source, nil, targets...) }); err != nil {
		return err
	}
	if !exists(filepath.Join(t.Out, imagePath)) {
		return &BuildError{Reason: "make ended well and left no " + imagePath}
	}
	return nil
}

// hasModules tells whether a config has any module.
func hasModules(config string) (bool, error) {
	text, err := os.ReadFile(config)
	if err != nil {
		return false, fmt.Errorf("read the kernel's config: %w", err)
	}
	for _, o := range parseConfig(string(text)) {
		if o.value == "m" {
			return true, nil
		}
	}
	return false, nil
}

// command runs the user's command, which may build in Source or in Out.
func (t Tree) command(ctx context.Context, b *build) (string, error) {
	b.progress(fmt.Sprintf("building %s: %s", t.Source, t.Command))
	env := append(environment(), "O="+t.Out)
	before := modified(filepath.Join(t.Out, imagePath))
	if err := b.run(ctx, osrun.Cmd{Path: "sh", Args: []string{"-c", t.Command}, Dir: t.Source, Env: env}); err != nil {
		return "", err
	}
	places := []string{t.Out, t.Source}
	if modified(filepath.Join(t.Out, imagePath)).Equal(before) { // it may be of an earlier build by our make
		slices.Reverse(places)
	}
	for _, dir := range places {
		if exists(filepath.Join(dir, imagePath)) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the build command ended well, and there is no %s in %s or in its $O: %s", imagePath, t.Source, t.Command)
}

// modified is when a file was written; the zero time where there is none.
func modified(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
