package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bondrepro/internal/gitrepo"
	"bondrepro/internal/osrun"

	"golang.org/x/sys/unix"
)

// checkRoom makes sure that a folder, which need not be there yet, has that many bytes of room.
func checkRoom(folder string, bytes int64) error {
	var st unix.Statfs_t
	where := folder
	for {
		err := unix.Statfs(where, &st)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.ENOENT) || where == filepath.Dir(where) {
			return fmt.Errorf("find out how much room there is at %s: %w", where, err)
		}
		where = filepath.Dir(where)
	}
	if free := int64(st.Bavail) * st.Bsize; free < bytes {
		return wrong("%s has %d MiB of room, and %d MiB are needed: free some, or name another folder", where, free>>20, (bytes+1<<20-1)>>20)
	}
	return nil
}

// checkTree makes sure that the commit is a kernel's, and that it can be built here.
func checkTree(ctx context.Context, repo *gitrepo.Repo, config, commit string) error {
	if has, err := repo.Has(ctx, commit, "Kconfig"); err != nil || !has {
		if err == nil {
			err = wrong("%s is no kernel tree: there is no Kconfig in it at %s", repo.Dir(), commit)
		}
		return err
	}
	if config != "" {
		if _, err := os.Stat(config); err != nil {
			return wrong("--config: %v", err)
		}
	}
	return checkPrograms("make", "gcc", "ld", "flex", "bison", "bc")
}

// configured is the configuration that modules are built with, in a folder of headers.
const configured = "include/config/auto.conf"

// checkHeaders makes sure that a module can be built against a folder: lib/modules/RELEASE/build, a linux-headers folder
// or a built tree, whose configuration kbuild reads (Documentation/kbuild/modules.rst).
func checkHeaders(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, configured))
	if err != nil {
		return wrong("--headers %s: there is no %s in it: give lib/modules/RELEASE/build, a linux-headers folder or a built kernel tree", folder, configured)
	}
	return checkPrograms("make", "ld", compilerOf(string(text)))
}

// compilerOf is the program that a configuration was made for, as kbuild will start it: Debian's headers name gcc-12, others
// are built with what is called gcc.
func compilerOf(conf string) string {
	for line := range strings.Lines(conf) {
		if text, ok := strings.CutPrefix(line, `CONFIG_CC_VERSION_TEXT="`); ok {
			program, _, _ := strings.Cut(text, " ")
			if _, err := osrun.Look(program); err == nil || strings.HasPrefix(program, "clang") {
				return program
			}
		}
	}
	return "gcc"
}

// checkPrograms makes sure that all of these can be started.
func checkPrograms(names ...string) error {
	for _, name := range names {
		if _, err := osrun.Look(name); err != nil {
			return wrong("there is no %s in $PATH, which building takes: install it", name)
		}
	}
	return nil
}
