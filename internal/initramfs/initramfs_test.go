package initramfs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/u-root/u-root/pkg/cpio"
)

// flat is what the tests compare of a record.
type flat struct {
	Name         string
	Mode         uint64
	Content      string
	Major, Minor uint64
	Times        uint64 // everything that must be 0
}

func read(t *testing.T, archive []byte) []flat {
	t.Helper()
	records, err := cpio.ReadAllRecords(cpio.Newc.Reader(bytes.NewReader(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var out []flat
	for _, r := range records {
		content, err := io.ReadAll(io.NewSectionReader(r, 0, int64(r.FileSize)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, flat{r.Name, r.Mode, string(content), r.Rmajor, r.Rminor, r.MTime + r.UID + r.GID + r.Ino})
	}
	return out
}

func write(t *testing.T, entries []Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, entries); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	init := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(init, []byte("the program"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries := append(Base(init),
		Bytes("/lib/modules/bonding.ko", 0o644, []byte("module")),
		Bytes("/lib/modules/empty", 0o400, nil),
		Symlink("/bin", "/lib"))
	first := write(t, entries)
	want := []flat{
		{Name: "dev", Mode: 0o40755}, {Name: "proc", Mode: 0o40755}, {Name: "sys", Mode: 0o40755},
		{Name: "run", Mode: 0o40755}, {Name: "tmp", Mode: 0o40755},
		{Name: "dev/console", Mode: 0o20600, Major: 5, Minor: 1},
		{Name: "dev/null", Mode: 0o20666, Major: 1, Minor: 3},
		{Name: "init", Mode: 0o100755, Content: "the program"},
		{Name: "lib", Mode: 0o40755}, {Name: "lib/modules", Mode: 0o40755},
		{Name: "lib/modules/bonding.ko", Mode: 0o100644, Content: "module"},
		{Name: "lib/modules/empty", Mode: 0o100400},
		{Name: "bin", Mode: 0o120777, Content: "/lib"},
	}
	if diff := cmp.Diff(want, read(t, first)); diff != "" {
		t.Error(diff)
	}

	later := time.Now().Add(48 * time.Hour)
	if err := os.Chtimes(init, later, later); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, write(t, entries)) {
		t.Error("the same entries gave other bytes")
	}
}

// The kernel's unpacker is strict about padding; cpio(1) stands in for it.
func TestForeignReader(t *testing.T) {
	program, err := exec.LookPath("cpio")
	if err != nil {
		t.Skip("cpio(1) is not installed")
	}
	cmd := exec.Command(program, "-t", "--quiet")
	cmd.Stdin = bytes.NewReader(write(t, []Entry{Dir("/a"), Bytes("/a/b", 0o644, []byte("12345"))}))
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "a\na/b\n" {
		t.Errorf("got %v and %q", err, out)
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name    string
		entries []Entry
		text    string
	}{
		{"relative", []Entry{Dir("dev")}, "absolute and clean"},
		{"dots", []Entry{Dir("/dev/../x")}, "absolute and clean"},
		{"twice", []Entry{Dir("/dev"), Dir("/dev")}, "/dev: it is given twice"},
		{"directory after its file", []Entry{Bytes("/a/b", 0o644, nil), Dir("/a")}, "/a: it is given twice"},
		{"no such source", []Entry{Copy("/init", 0o755, "/no/such/file")}, "open /no/such/file: no such file"},
		{"source is a directory", []Entry{Copy("/init", 0o755, "/")}, "/ is not a regular file"},
		{"type", []Entry{{Path: "/pipe", Mode: os.ModeNamedPipe}}, "type p--------- can't be put in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out")
			err := WriteFile(path, tt.entries)
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want it to contain %q", err, tt.text)
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("the file is left: %v", err)
			}
		})
	}
}

func TestCheckStatic(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	static := filepath.Join(dir, "static")
	build := exec.Command("go", "build", "-o", static, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := CheckStatic(static); err != nil {
		t.Error(err)
	}
	for path, text := range map[string]string{
		"/bin/sh": "it is dynamically linked; build it static, with CGO_ENABLED=0",
		source:    "it is no ELF program",
	} {
		var not *NotStaticError
		if err := CheckStatic(path); !errors.As(err, &not) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want %q", path, err, text)
		}
	}
	if err := CheckStatic(filepath.Join(dir, "none")); !os.IsNotExist(errors.Unwrap(err)) {
		t.Errorf("got %v", err)
	}
}
