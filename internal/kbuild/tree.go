package kbuild

import (
	"context"
	"errors"
)

// Tree is a kernel tree to build. The zero value of every field but Source and Out is usable.
type Tree struct {
	// Source is the folder of the kernel's source. Our own make leaves it as it is.
	Source string
	// Out is the folder that gets what is built (make O=). It is made, and kept: the next build in it is incremental.
	// With a Command it is that command's business: it finds the folder's path in $O, and may build in Source instead.
	Out string
	// Config is a .config to start from instead of tinyconfig. The fragment is merged into either.
	Config string
	// Command is a shell command that builds instead of our make, in Source, by sh -c.
	Command string
	// Jobs is how many compilers run at once, 0 for one a CPU.
	Jobs int
	// Progress is told, in a sentence, of what takes longer than a moment. nil is silent.
	Progress func(string)
	// Log is a file that gets all that the build writes; it is emptied first. Empty means none.
	Log string
}

// Build builds the kernel and gives what `bondrepro run --kernel` takes: a built tree. A *BuildError is the source's
// fault, every other error the machine's or the user's.
func (t Tree) Build(ctx context.Context) (spec string, err error) {
	return "", errors.New("not yet built")
}
