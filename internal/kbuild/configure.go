package kbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of what configure writes beside .config, and removes.
const (
	configInput  = ".config.bondrepro.in"
	configOutput = ".config.bondrepro"
)

// configure makes dir/.config: base and the fragment, completed by the kconfig of the tree that args (of make) name. Without a
// base all else is off (allnoconfig). It is left alone when it is right already, and when it can't be made. The options that
// are only useful and did not stick are given.
func (b *build) configure(ctx context.Context, source, dir, base string, args ...string) (lacks []string, err error) {
	in, out := filepath.Join(dir, configInput), filepath.Join(dir, configOutput)
	defer func() {
		for _, name := range []string{in, out, out + ".old"} {
			if e := os.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	// Text beside the tree's own .config: until all is known to be right, that is not touched (KCONFIG_CONFIG).
	env := []string{"KCONFIG_CONFIG=" + out}
	target := "olddefconfig"
	if base == "" {
		target = "allnoconfig"
		env = append(env, "KCONFIG_ALLCONFIG="+in)
		err = os.WriteFile(in, []byte(fragment), 0o644)
	} else {
		err = os.WriteFile(out, []byte(merge(base)), 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("configure the kernel: %w", err)
	}
	if err := b.make(ctx, source, env, append(args, target)...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("configure the kernel: %w", err)
	}
	needed, useful := lost(string(text))
	if len(needed) > 0 {
		return nil, &MissingOptionsError{Options: needed}
	}
	return useful, install(filepath.Join(dir, ".config"), out, string(text))
}

// install puts a finished config in the place of .config, whose former text is kept as .config.old, as kconfig does. The same text
// is not written again: make would take it for new.
func install(config, finished, text string) error {
	before, err := os.ReadFile(config)
	switch {
	case err == nil && string(before) == text:
		return nil
	case err == nil:
		err = os.WriteFile(config+".old", before, 0o644)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		err = os.Rename(finished, config)
	}
	if err != nil {
		return fmt.Errorf("configure the kernel: %w", err)
	}
	return nil
}

// isTree is an error for a folder that is no kernel tree.
func isTree(dir string) error {
	for _, name := range []string{"Makefile", "Kconfig"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s is no kernel tree: there is no %s in it", dir, name)
		}
	}
	return nil
}
