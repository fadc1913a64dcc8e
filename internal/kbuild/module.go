package kbuild

import (
	"context"
	"errors"
)

// Module is one module to build outside its kernel's tree, against the kernel's headers.
type Module struct {
	// Source is the folder with the module's Makefile or Kbuild. It gets what is built, too: kbuild knows no other place.
	Source string
	// Headers is lib/modules/RELEASE/build, a linux-headers folder, or a built kernel tree.
	Headers string
	// Name is the module's, as in bonding.
	Name string
	// Jobs is how many compilers run at once, 0 for one a CPU.
	Jobs int
	// Progress is told, in a sentence, of what takes longer than a moment. nil is silent.
	Progress func(string)
	// Log is a file that gets all that the build writes; it is emptied first. Empty means none.
	Log string
}

// Build builds the module and gives its file, Source/NAME.ko. Errors are as Tree.Build's.
func (m Module) Build(ctx context.Context) (file string, err error) {
	return "", errors.New("not yet built")
}
