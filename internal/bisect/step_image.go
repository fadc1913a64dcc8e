package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bondrepro/internal/gitrepo"
	"bondrepro/internal/kbuild"
	"bondrepro/internal/osrun"
)

// stepFolder is where a step keeps what it builds, in the git folder of its working tree: there it is in nobody's way, goes
// with the tree, and the next step builds only what changed.
const stepFolder = "bondrepro"

// image builds where that is asked for, and names what is booted. A *BrokenError is the commit's fault.
func (u tools) image(ctx context.Context, repo *gitrepo.Repo, o StepOptions) (Image, error) {
	switch {
	case !o.Build && o.Run.Kernel != "":
		return Image{Kernel: o.Run.Kernel}, nil
	case !o.Build:
		return builtTree(repo.Top)
	case o.Run.Kernel != "" && o.Command == "":
		return Image{}, wrong("--build builds the kernel of this tree, and --kernel names another: leave one out, or give a command that builds a module, as --build='make …'")
	case o.Run.Kernel != "":
		err := u.command(ctx, buildDir(repo, o.Dir), o.Command, o.Run.Progress)
		return Image{Kernel: o.Run.Kernel}, asBroken(err, o.Command)
	}
	folder := filepath.Join(repo.GitDir, stepFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Image{}, fmt.Errorf("make a folder to build in: %w", err)
	}
	log := filepath.Join(folder, "build.log")
	built, err := u.tree(ctx, kbuild.Tree{
		Source: repo.Top, Out: filepath.Join(folder, outName), Command: o.Command, Progress: o.Run.Progress, Log: log,
	})
	return Image{Kernel: built}, asBroken(err, log)
}

// builtTree is a tree that somebody else built.
func builtTree(top string) (Image, error) {
	if _, err := os.Stat(filepath.Join(top, bzImage)); err != nil {
		return Image{}, wrong("there is no %s in %s: build it, or add --build", bzImage, top)
	}
	return Image{Kernel: top}, nil
}

func buildDir(repo *gitrepo.Repo, dir string) string {
	if repo != nil {
		return cmp.Or(repo.Top, repo.GitDir)
	}
	return dir
}

// runCommand runs a build command. A shell that does not find or may not start something ends in 127 or 126 (POSIX sh); that
// is no fault of the commit's.
func runCommand(ctx context.Context, dir, command string, progress func(string)) error {
	progress("building: " + command)
	_, err := osrun.Run(ctx, osrun.Cmd{Path: "sh", Args: []string{"-c", command}, Dir: dir})
	var ended *osrun.Error
	if errors.As(err, &ended) && ended.Err == nil && ended.Signal == 0 && ended.ExitCode < 126 {
		return &kbuild.BuildError{Reason: ended.Error()}
	}
	return err
}
