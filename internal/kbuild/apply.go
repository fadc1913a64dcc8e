package kbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Apply merges the fragment into tree/.config, into an empty one (allnoconfig) where there is none, and has kconfig complete it.
// A *MissingOptionsError names options that the fragment needs and that did not stick; say is told, in one sentence, of those
// that are only useful. say may be nil. After an error .config is as it was.
func Apply(ctx context.Context, tree string, say func(string)) error {
	tree, err := filepath.Abs(tree)
	if err != nil {
		return err
	}
	if err := isTree(tree); err != nil {
		return err
	}
	if err := look(configPrograms); err != nil {
		return err
	}
	base, err := os.ReadFile(filepath.Join(tree, ".config"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the kernel's config: %w", err)
	}
	b, err := start(say, 0, "", tree, tree)
	if err != nil {
		return err
	}
	lacks, err := b.configure(ctx, tree, tree, string(base))
	if err == nil && len(lacks) > 0 {
		b.progress("this kernel has no " + strings.Join(lacks, ", ") + ": it boots and measures without")
	}
	return err
}
