package matrix

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxName bounds a name, so that the three of a cell fit in the name of a file (255 bytes).
const maxName = 70

var (
	goodName = regexp.MustCompile(`^[A-Za-z0-9_+][A-Za-z0-9._+-]*$`)
	notName  = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)
)

func (f *file) name(n ast.Node, path string) (string, error) {
	name, err := f.word(n, path)
	if err != nil {
		return "", err
	}
	return name, f.checkName(n, path, name)
}

// checkName refuses what can't be part of a cell's name, which is part of a file's.
func (f *file) checkName(n ast.Node, path, name string) error {
	switch {
	case !goodName.MatchString(name):
		return f.errorf(n, path, "%q can't be a name: letters, digits and . _ + - are allowed, and it begins with none of . and -", name)
	case len(name) > maxName:
		return f.errorf(n, path, "the name %s is longer than %d characters; give a shorter one", name, maxName)
	}
	return nil
}

// kernelName is what a kernel is called that has no name of its own.
func kernelName(spec string) string {
	spec = strings.TrimPrefix(spec, debPrefix)
	if abs, err := filepath.Abs(spec); err == nil && strings.Trim(spec, "./") == "" {
		spec = abs // "." and ".." have no name
	}
	return slug(strings.TrimSuffix(filepath.Base(spec), ".deb"))
}

// slug makes a name of any text.
func slug(s string) string {
	return strings.TrimLeft(notName.ReplaceAllString(s, "-"), ".-")
}
