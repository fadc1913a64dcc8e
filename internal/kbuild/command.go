package kbuild

import (
	"context"
	"path/filepath"

	"bondrepro/internal/osrun"
)

// Command runs a user's shell command that builds something else than a kernel, by sh -c in a folder. log is as Tree.Log,
// progress may be nil. Errors are as Tree.Build's.
func Command(ctx context.Context, dir, command, log string, progress func(string)) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	b, err := start(progress, 0, log, dir, dir)
	if err != nil {
		return err
	}
	b.progress("building in " + dir + ": " + command)
	return b.close(b.run(ctx, osrun.Cmd{Path: "sh", Args: []string{"-c", command}, Dir: dir, Env: environment()}))
}
