package bisect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"bondrepro/internal/gitrepo"
	"bondrepro/internal/kbuild"
)

// stepFolder is where a step keeps what it builds, in the git folder of its working tree: there it is in nobody's way, goes
// with the tree, and the next step builds only what changed.
const stepFolder = "bondrepro"

// image builds where that is asked for, and names what is booted. A *BrokenError is the commit's fault.
func (u tools) image(ctx context.Context, repo *gitrepo.Repo, o StepOptions) (Image, error) {
	named := Image{Kernel: o.Run.Kernel}
	switch {
	case !o.Build && named.Kernel != "":
		return named, nil
	case !o.Build:
		return builtTree(repo.Top)
	case named.Kernel != "" && o.Command == "":
		return named, wrong("--build builds the kernel of this tree, and --kernel names another: leave one out, or give a command that builds a module, as --build='make …'")
	case repo == nil || repo.Top == "":
		return named, wrong("--build builds what git has checked out, and this is no working tree of a git repository")
	}
	folder := filepath.Join(repo.GitDir, stepFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return named, fmt.Errorf("make a folder to build in: %w", err)
	}
	log := filepath.Join(folder, "build.log")
	if named.Kernel != "" {
		return named, asBroken(u.command(ctx, repo.Top, o.Command, log, o.Run.Progress), log)
	}
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
