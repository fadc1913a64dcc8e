package kbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// makefiles are the files that kbuild reads in a folder: the first that is there (Documentation/kbuild/makefiles.rst).
var makefiles = []string{"Kbuild", "Makefile"}

// conditional is a line that builds something as an option says: "obj-$(CONFIG_BONDING) += bonding.o".
var conditional = regexp.MustCompile(`(?m)^\s*obj-\$[({](CONFIG_\w+)[)}]\s*[:+]?=\s*(.*)$`)

// moduleOptions are the options of the config that a module's Makefile asks before it builds the module, or goes into a folder
// that may hold it. None for a Makefile that always builds it (obj-m).
func moduleOptions(dir, module string) ([]string, error) {
	text, err := readMakefile(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &BuildError{Reason: "there is no Makefile and no Kbuild in the module's folder"}
	}
	if err != nil {
		return nil, fmt.Errorf("read the module's Makefile: %w", err)
	}
	return conditions(text, module), nil
}

func readMakefile(dir string) (string, error) {
	var text []byte
	var err error
	for _, name := range makefiles {
		if text, err = os.ReadFile(filepath.Join(dir, name)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return string(text), err
}

func conditions(makefile, module string) []string {
	var options []string
	for _, m := range conditional.FindAllStringSubmatch(strings.ReplaceAll(makefile, "\\\n", " "), -1) {
		wanted := slices.ContainsFunc(strings.Fields(m[2]), func(object string) bool {
			return strings.HasSuffix(object, "/") || normal(object) == normal(module)+".o"
		})
		if wanted && !slices.Contains(options, m[1]) {
			options = append(options, m[1])
		}
	}
	return options
}
