package kbuild

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/internal/osrun"
)

// heard is a diagnosis of what was written to standard error.
func heard(text string) *diagnosis {
	s := &stream{diagnosis: &diagnosis{}}
	for len(text) > 0 { // as it may come out of a pipe
		n, _ := s.Write([]byte(text[:min(7, len(text))]))
		text = text[n:]
	}
	s.end()
	return s.diagnosis
}

// failed is a make that ended as make does when anything failed.
func failed() error { return &osrun.Error{Command: "make -j2", ExitCode: 2} }

// The recordings are of GNU make 4.3, gcc 12, Linux 6.1 and Debian's headers, on a machine that lacked something, or with a
// fault in the source (names of folders changed).
func TestRecordedFailures(t *testing.T) {
	tests := map[string]struct {
		ofSource bool
		text     string
	}{
		"bad-asm":      {true, "lib/ctype.c:1: Error: no such instruction: `nosuchinsn'"},
		"bad-header":   {true, "lib/ctype.c:1:10: fatal error: linux/no_such.h: No such file or directory"},
		"bad-kconfig":  {true, "net/Kconfig:6: syntax error"},
		"bad-makefile": {true, "lib/Makefile:5: *** missing separator.  Stop."},
		"bad-source":   {true, "lib/ctype.c:38:9: error: ‘no_such_thing’ undeclared here (not in a function)"},
		"bad-symbol":   {true, `ERROR: modpost: "no_such_symbol" [/module/x.ko] undefined!`},
		"no-source":    {true, "make[3]: *** No rule to make target 'lib/ctype.o', needed by 'lib/lib.a'.  Stop."},
		"killed-cc1":   {false, "cc1 was killed (Killed): is there enough memory?"},
		"killed-gcc":   {false, "a part of the build was killed (Error 137)"},
		"no-bc":        {false, "this machine has no bc: apt-get install bc"},
		"no-bison":     {false, "this machine has no bison: apt-get install bison"},
		"no-flex":      {false, "this machine has no flex: apt-get install flex"},
		"no-gcc":       {false, "this machine has no gcc: apt-get install gcc"},
		"no-gcc-12":    {false, "this machine has no gcc-12: apt-get install gcc-12"},
		"no-ld":        {false, "this machine has no ld: apt-get install binutils"},
		"no-libc":      {false, "the header sys/types.h is missing: apt-get install libc6-dev"},
		"no-libelf":    {false, "the header gelf.h is missing: apt-get install libelf-dev"},
		"no-openssl":   {false, "the header openssl/opensslv.h is missing: apt-get install libssl-dev"},
		"no-modules":   {false, "built without CONFIG_MODULES"},
		"no-space":     {false, "no space is left on the disk"},
		"not-clean":    {false, "run make mrproper in it"},
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d recordings, %d tests, %v", len(files), len(tests), err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			err = heard(string(text)).explain("make", failed(), t.TempDir(), "/src")
			check(t, err, tt.ofSource, tt.text)
			if tt.ofSource && err.Error() != "it does not build: "+tt.text {
				t.Errorf("got %q", err)
			}
		})
	}
}

// Messages of other versions, as their source has them.
func TestFailingLines(t *testing.T) {
	tests := []struct {
		line string
		want string // part of the machine's fault; empty for none of the machine's
	}{
		{"make[1]: gcc: No such file or directory", "no gcc: apt-get install gcc"},
		{"make[1]: gcc: Command not found", "no gcc: apt-get install gcc"},
		{"bash: line 1: flex: command not found", "no flex"},
		{"/bin/bash: flex: command not found", "no flex"},
		{"scripts/Kconfig.include:39: C compiler 'gcc' not found", "no gcc"},
		{"scripts/Kconfig.include:42: linker 'ld' not found", "no ld: apt-get install binutils"},
		{"/usr/bin/env: ‘python3’: No such file or directory", "no python3"},
		{"gcc: fatal error: cannot execute ‘cc1’: execvp: No such file or directory", "cc1 is missing"},
		{"gcc: internal compiler error: Killed (program cc1)", "cc1 was killed"},
		{"collect2: fatal error: ld terminated with signal 9 [Killed]", "ld was killed"},
		{"make[2]: *** [scripts/Makefile.build:250: net/core/dev.o] Killed", "was killed (Killed)"},
		{"cc1: out of memory allocating 65536 bytes after a total of 8110080 bytes", "no memory"},
		{"make: fork: Resource temporarily unavailable", "no process"},
		{"/bin/sh: 1: Cannot fork", "no process"},
		{"Makefile:966: *** \"Cannot generate ORC metadata for CONFIG_UNWINDER_ORC=y, please install libelf-dev, libelf-devel or elfutils-libelf-devel\".  Stop.", "apt-get install libelf-dev"},
		{"/usr/bin/ld: cannot find -lelf: No such file or directory", "lib" + "elf is missing: apt-get install libelf-dev"},
		{"/usr/bin/ld: cannot find -lcrypto", "apt-get install libssl-dev"},
		{"BTF: .tmp_vmlinux.btf: pahole (pahole) is not available", "apt-get install dwarves"},
		{"*** Compiler is too old.", "too old for this kernel (Compiler)"},
		{"scripts/mod/modpost: error while loading shared libraries: libelf.so.1: cannot open shared object file: No such file or directory", "libelf.so.1"},
		{"scripts/mod/modpost: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by scripts/mod/modpost)", "GLIBC_2.38"},
		{"/bin/sh: 1: scripts/basic/fixdep: Exec format error", "another kind of machine"},
		{"  /home/u/linux is not clean, please run 'make mrproper'", "make mrproper"},
		{"*** The source tree is not clean, please run 'make ARCH=x86_64 mrproper'", "make mrproper"},
		{"make[2]: *** No rule to make target 'debian/certs/debian-uefi-certs.pem', needed by 'certs/x509_certificate_list'.  Stop.", "CONFIG_SYSTEM_TRUSTED_KEYS"},
		{"/bin/sh: 1: cannot create .config: Permission denied", "can't be written: Permission denied"},
		{"mkdir: cannot create directory ‘arch’: Read-only file system", "can't be written: Read-only file system"},
		{"cat: write error: No space left on device", "no space is left"},
		{"The bug is not reproducible, so it is likely a hardware or OS problem.", "this machine is at fault"},
		{"  ERROR: Kernel configuration is invalid.", "are not whole"},
		{"make: *** /lib/modules/6.1.0-57-cloud-amd64/build: No such file or directory.  Stop.", "are the kernel's headers installed?"},

		// What a commit may do.
		{"/bin/sh: 1: ./scripts/new-thing.sh: not found", ""},
		{"/bin/sh: 1: ./scripts/new-thing.sh: Permission denied", ""},
		{"make[2]: Makefile: No such file or directory", ""},
		{"make[1]: *** drivers/net/gone: No such file or directory.  Stop.", ""},
		{"drivers/net/foo.c:3:10: fatal error: zlib.h: No such file or directory", ""},
		{"drivers/net/foo.c:3:10: fatal error: string.h: No such file or directory", ""},
		{"net/core/dev.c:9:2: error: #error No space left on device, said nobody", ""},
		{"   12 |  pr_err(\"x: No space left on device", ""},
		{"net/core/dev.c:9:2: warning: ‘killed’ is not used", ""},
		{"make[2]: *** [scripts/Makefile.build:250: net/core/dev.o] Error 1", ""},
		{"drivers/net/foo.c:9:2: internal compiler error: Segmentation fault", ""},
		{"ld: net/core/dev.o: in function `f': dev.c:(.text+0x1): undefined reference to `g'", ""},
	}
	for _, tt := range tests {
		err := heard(tt.line+"\n").explain("make", failed(), t.TempDir(), "/src")
		var b *BuildError
		if errors.As(err, &b) != (tt.want == "") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n\tgives %v (%T), want %q", tt.line, err, err, tt.want)
		}
	}
}

// A compiler that can't write its output complains of the source, too: the machine's fault decides.
func TestTheMachineOutweighsTheSource(t *testing.T) {
	for text, machine := range map[string]string{
		"a.c:1:2: error: what\n/bin/sh: 1: cannot create a.d: No space left on device\nb.c:1:2: error: what\n": "no space is left",
		"a.c:1:2: error: what\n/bin/sh: 1: gcc: not found":                                                     "this machine has no gcc", // without a newline
	} {
		check(t, heard(text).explain("make", failed(), t.TempDir(), "/src"), false, machine)
	}
	err := heard("make[1]: *** [Makefile:3: x] Error 1\nlast\n").explain("make", failed(), t.TempDir(), "/src")
	check(t, err, true, "make[1]: *** [Makefile:3: x] Error 1")
	check(t, (&diagnosis{}).explain("make", failed(), t.TempDir(), "/src"), true, "exit code 2 and said nothing")
}

// A line of standard error is whole, though it comes in the middle of one of standard output.
func TestLinesOfBothStreams(t *testing.T) {
	d := &diagnosis{}
	stdout, stderr := &stream{diagnosis: d}, &stream{diagnosis: d}
	fmt.Fprint(stdout, "  CC      net/co")
	fmt.Fprint(stderr, "/bin/sh: 1: gcc: not found\n")
	fmt.Fprint(stdout, "re/dev.o\n")
	check(t, d.explain("make", failed(), t.TempDir(), "/src"), false, "this machine has no gcc")
}

func TestEndsThatAreTheMachines(t *testing.T) {
	for text, err := range map[string]error{
		"this machine has no make: apt-get install make": &osrun.Error{ExitCode: -1, Err: osrun.ErrNotFound},
		"ended by signal 9 (killed)":                     &osrun.Error{ExitCode: -1, Signal: 9},
		"was ended after 12h0m0s":                        &osrun.Error{ExitCode: -1, Signal: 9, Timeout: patience, Err: os.ErrDeadlineExceeded},
		"can't be run: permission denied":                &osrun.Error{ExitCode: -1, Err: os.ErrPermission},
	} {
		check(t, heard("a.c:1:2: error: what\n").explain("make", err, t.TempDir(), "/src"), false, text)
	}
}
