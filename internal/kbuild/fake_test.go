package kbuild

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes files below a folder; what starts with #! can be executed.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// fakeMake does what make does for kconfig and for a build, in small. It writes its arguments to $FAKE/called, one line a call, and
// a build runs $FAKE/body.
const fakeMake = `#!/bin/sh
echo "$* [$LC_ALL|$MAKEFLAGS|${ARCH-unset}|${LOCALVERSION-unset}|$KBUILD_BUILD_TIMESTAMP]" >>"$FAKE/called"
for a; do
	case $a in
	O=*) O=${a#O=} ;;
	M=*) M=${a#M=} ;;
	esac
done
case "$*" in
*allnoconfig) cp "$KCONFIG_ALLCONFIG" "$KCONFIG_CONFIG"; exec sed -i "$(cat "$FAKE/kconfig")" "$KCONFIG_CONFIG" ;;
*olddefconfig) exec sed -i "$(cat "$FAKE/kconfig")" "$KCONFIG_CONFIG" ;;
esac
. "$FAKE/body"
`

// buildsImage is the body of a make that works.
const buildsImage = `echo "  CC      init/main.o"
mkdir -p "$O/arch/x86/boot" && : >"$O/vmlinux" && echo image >"$O/arch/x86/boot/bzImage"
`

// fake puts programs that do nothing, and a make, before all others in $PATH, and gives their folder.
func fake(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"bin/make": fakeMake, "body": body, "kconfig": ""}
	for _, p := range append(configPrograms, modulePrograms...) {
		if p != "make" {
			files["bin/"+p] = "#!/bin/sh\n"
		}
	}
	write(t, dir, files)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", dir)
	return dir
}

// calls are the lines of $FAKE/called.
func calls(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// source makes a folder that looks like a kernel tree.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"Makefile": "", "Kconfig": ""})
	return dir
}
