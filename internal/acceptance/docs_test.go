package acceptance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bondrepro/internal/osrun"
)

// example is a command line of the documentation.
type example struct {
	file string
	line string
}

// commandLine is an indented line of a document that calls one of our commands; a comment may follow.
var commandLine = regexp.MustCompile(`^    ((?:bin/|make )\S.*?)(?:\s{2,}#.*)?$`)

// examples are the command lines of the README and of docs/.
func examples(t *testing.T) (found []example) {
	t.Helper()
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(docs, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if m := commandLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				found = append(found, example{filepath.Base(file), strings.TrimSpace(m[1])})
			}
		}
	}
	return found
}

// elsewhere are the examples that .ci/run itself runs.
var elsewhere = []string{"make run", "make test"}

// TestExamplesOfTheDocumentation runs each command line of the documentation as it stands, in a folder that has the
// files they name. Every kernel and module there is a good one.
func TestExamplesOfTheDocumentation(t *testing.T) {
	need(t)
	folder := exampleFolder(t)
	all := examples(t)
	if len(all) < 10 {
		t.Fatalf("found only %d examples: %v", len(all), all)
	}
	for _, x := range all {
		if slices.Contains(elsewhere, x.line) {
			continue
		}
		t.Run(x.line, func(t *testing.T) {
			out, err := osrun.Run(context.Background(), osrun.Cmd{Path: "bash", Args: []string{"-c", x.line}, Dir: folder, Timeout: patience})
			var failed *osrun.Error
			if err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			want := 0
			if strings.Contains(x.line, "sndbuf_force=64MiB") {
				want = 1 // the README names it as the one that drops for an honest reason
			}
			code := 0
			if failed != nil {
				code = failed.ExitCode
			}
			if code != want {
				t.Errorf("%s: exit code %d, want %d:\n%s%s", x.file, code, want, out.Stdout, out.Stderr)
			}
		})
	}
}

// exampleFolder has what the examples name: bin, a built tree, a bzImage with its modules, a package, a module, and a
// scenario of one's own.
func exampleFolder(t *testing.T) string {
	t.Helper()
	kernel, err := unpack("", "")
	if err != nil {
		t.Fatal(err)
	}
	folder := shortTemp(t)
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "linux/arch/x86/boot"), 0o755); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{
		"bin":                         bin,
		"linux/arch/x86/boot/bzImage": kernel.image,
		"linux/modules.builtin":       kernel.modules + "/modules.builtin",
		"linux/modules.order":         kernel.modules + "/modules.order",
		"bzImage":                     kernel.image,
		"DIR":                         kernel.modules,
		"linux-image-….deb":           kernelDeb,
		"bonding.ko":                  filepath.Join(kernel.modules, bondingFile),
	}
	for _, part := range []string{"drivers", "net", "lib", "crypto"} {
		links["linux/"+part] = filepath.Join(kernel.modules, "kernel", part)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	show, err := osrun.Run(context.Background(), osrun.Cmd{Path: binary, Args: []string{"show", "bond-multicast-tx"}, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "my.yaml"), show.Stdout, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}
