package kbuild

import (
	"context"
	"errors"
)

// Apply merges the fragment into tree/.config, tinyconfig where there is none, and has kconfig complete it. It is an
// error, which names them, when options the fragment needs did not stick; say is told, in one sentence, of those that
// are only useful and that this kernel does not have. say may be nil.
func Apply(ctx context.Context, tree string, say func(string)) error {
	return errors.New("not yet built")
}
