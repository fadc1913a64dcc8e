package kbuild

import (
	"fmt"
	"regexp"
)

// fault is a message of a build that is nobody's but the machine's, or the user's, and what to say of it. $1 and so on are
// the expression's groups. Where find is set, it makes the sentence of the first group.
type fault struct {
	message *regexp.Regexp
	say     string
	find    func(what string) string
}

// machineFaults are the messages of make, dash, bash, gcc, binutils, kconfig and kbuild, with LC_ALL=C. They are
// anchored at what the tool writes before or after the errno: a commit's own text may hold the same words.
var machineFaults = []fault{
	{message: regexp.MustCompile(`: '?No space left on device'?$`), say: "no space is left on the disk that is built on, or on that of $TMPDIR"},
	{message: regexp.MustCompile(`: Disk quota exceeded$`), say: "this user's disk quota is exceeded"},
	{message: regexp.MustCompile(`: (Read-only file system|Input/output error|Stale file handle|Too many open files|Too many open files in system)$`), say: "what is built can't be written: $1"},
	{message: regexp.MustCompile(`(?i)can(?:'t|not) (?:create|open|touch|remove|make)\b.*: Permission denied$`), say: "what is built can't be written: Permission denied"},

	{message: regexp.MustCompile(`fatal error: (Killed|Terminated|Hangup|Interrupt) signal terminated program (\S+)$`), say: "$2 was killed ($1): is there enough memory? Fewer jobs need less"},
	{message: regexp.MustCompile(`internal compiler error: (Killed|Terminated) \((?:program )?(\S+)\)$`), say: "$2 was killed ($1): is there enough memory? Fewer jobs need less"},
	{message: regexp.MustCompile(`(\S+) terminated with signal \d+ \[(Killed|Terminated)\]`), say: "$1 was killed ($2): is there enough memory? Fewer jobs need less"},
	{message: regexp.MustCompile(`^make(?:\[\d+\])?: \*\*\* \[.*\] (Killed|Terminated|Hangup|Interrupt|Error 137|Error 143)$`), say: "a part of the build was killed ($1): is there enough memory? Fewer jobs need less"},
	{message: regexp.MustCompile(`: Cannot allocate memory$|virtual memory exhausted|out of memory allocating |^make(?:\[\d+\])?: (?:v?fork|posix_spawn): Resource temporarily unavailable|: Cannot fork$`), say: "this machine has no memory, or no process, left for the build"},
	{message: regexp.MustCompile(`The bug is not reproducible, so it is likely a hardware or OS problem`), say: "the compiler fails at one time and not at another: it says that this machine is at fault"},

	{message: regexp.MustCompile(`^(?:\S*/)?(?:ba|da|k)?sh: (?:line )?(?:\d+: )?(?:exec: )?([^\s/:]+): (?:command )?not found$`), find: lacks},
	{message: regexp.MustCompile(`^make(?:\[\d+\])?: ([a-z][^\s/:*.]*): (?:No such file or directory|Permission denied|Command not found)$`), find: lacks},
	{message: regexp.MustCompile(`^(?:/usr/bin/)?env: ['‘]?([^\s/:'’]+)['’]?: No such file or directory$`), find: lacks},
	{message: regexp.MustCompile(`: C compiler '(\S+)' not found$|: assembler '(\S+)' not found$|: linker '(\S+)' not found$`), find: lacks},
	{message: regexp.MustCompile(`(?:fatal error|error): (?:cannot execute|error trying to exec) ['‘]?(cc1|as|ld|collect2)['’]?: `), say: "the C compiler is not whole ($1 is missing): apt-get install --reinstall gcc binutils"},
	{message: regexp.MustCompile(`^collect2: fatal error: cannot find ['‘](\S+)['’]$`), find: lacks},
	{message: regexp.MustCompile(`pahole \(\S+\) is not available`), find: func(string) string { return lacks("pahole") }},
	{message: regexp.MustCompile(`^\S+: line \d+: \S*pahole: `), find: func(string) string { return lacks("pahole") }},
	{message: regexp.MustCompile(`^\*\*\* (Compiler|Linker|Assembler) is too old\.$`), say: "this machine's programs are too old for this kernel ($1)"},
	{message: regexp.MustCompile(`: (?:Sorry, )?this (compiler|assembler|linker|version of GCC)\b.*\b(?:is not supported|too old)`), say: "this kernel does not take this machine's $1"},

	{message: regexp.MustCompile(`^(?:\S*/)?(?:scripts|tools|certs|usr|arch/x86/boot)/\S+:\d+:\d+: fatal error: (\S+\.h): No such file or directory$`), find: lacksHeader},
	{message: regexp.MustCompile(`\bld: cannot find -l(\S+?)(?:: No such file or directory)?$`), find: lacksLibrary},
	{message: regexp.MustCompile(`please install (libelf-dev|libssl-dev|dwarves)\b`), say: "something that this build needs is missing: apt-get install $1"},
	{message: regexp.MustCompile(`error while loading shared libraries: (\S+?): cannot open`), say: "a program of the build needs $1, which is missing: install the package that has it (libelf1 has libelf.so.1)"},
	{message: regexp.MustCompile(`: version ['‘` + "`" + `](GLIBC_\S+?)['’] not found`), say: "a program of the build needs a newer C library ($1) than this machine's"},
	{message: regexp.MustCompile(`: (?:Exec format error|cannot execute binary file: Exec format error)$`), say: "a program of the build is for another kind of machine"},

	{message: regexp.MustCompile(`please run ['‘]make (?:ARCH=\S+ )?mrproper['’]`), say: "the source tree was built in, and so can't be built in another folder: run make mrproper in it (it removes .config, too), or give a build command"},
	{message: regexp.MustCompile(`No rule to make target ['‘]([^'’]*\.(?:pem|x509|key))['’]`), say: "the config names a certificate that is not there ($1): empty CONFIG_SYSTEM_TRUSTED_KEYS, CONFIG_SYSTEM_REVOCATION_KEYS or CONFIG_MODULE_SIG_KEY in it"},
	{message: regexp.MustCompile(`^make: \*\*\* (\S+): No such file or directory\.\s+Stop\.$`), say: "there is no folder $1, which make is sent to (-C): are the kernel's headers installed?"},
	{message: regexp.MustCompile(`^make(?:\[\d+\])?: \*\*\* No targets specified and no makefile found\.`), say: "there is no Makefile in the folder that make runs in"},
	{message: regexp.MustCompile(`^(?:\*\*\* )?The present kernel configuration has modules disabled\.$`), say: "the kernel of these headers was built without CONFIG_MODULES: it takes no modules"},
	{message: regexp.MustCompile(`^\s*ERROR: Kernel configuration is invalid\.$`), say: "the kernel's headers are not whole: include/generated/autoconf.h or include/config/auto.conf is missing"},
}

// machineFault is the sentence for a line, empty when the line does not show a fault of the machine.
func machineFault(line string) string {
	for _, f := range machineFaults {
		at := f.message.FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		say := f.say
		if f.find == nil {
			return string(f.message.ExpandString(nil, say, line, at))
		}
		if say = f.find(firstGroup(f.message.FindStringSubmatch(line))); say != "" {
			return say
		}
	}
	return ""
}

// firstGroup is the first group that matched.
func firstGroup(groups []string) string {
	for _, g := range groups[1:] {
		if g != "" {
			return g
		}
	}
	return ""
}

// packages are Debian's packages of the programs a kernel's build runs.
var packages = map[string]string{
	"make": "make", "gcc": "gcc", "cc": "gcc", "g++": "g++", "ld": "binutils", "as": "binutils", "ar": "binutils", "nm": "binutils", "objcopy": "binutils", "objdump": "binutils",
	"readelf": "binutils", "strip": "binutils", "flex": "flex", "bison": "bison", "bc": "bc", "perl": "perl", "python3": "python3", "python": "python3",
	"pahole": "dwarves", "openssl": "openssl", "cpio": "cpio", "rsync": "rsync", "kmod": "kmod", "depmod": "kmod",
	"gzip": "gzip", "bzip2": "bzip2", "xz": "xz-utils", "lzma": "xz-utils", "lzop": "lzop", "lz4": "lz4", "lz4c": "lz4", "zstd": "zstd", "m4": "m4",
	"awk": "mawk", "gawk": "gawk", "diff": "diffutils", "cmp": "diffutils", "find": "findutils", "xargs": "findutils", "sed": "sed", "tar": "tar", "git": "git",
}

var versionedCompiler = regexp.MustCompile(`^(?:\S+-)?(gcc|clang)-\d+$`)

// missing is lacks as an error.
func missing(program string) error { return fmt.Errorf("%s", lacks(program)) }

// lacks is the sentence for a program that is not there.
func lacks(program string) string {
	name := packages[program]
	if versionedCompiler.MatchString(program) {
		name = program
	}
	if name == "" {
		return fmt.Sprintf("this machine has no program %s, which the build runs", program)
	}
	return fmt.Sprintf("this machine has no %s: apt-get install %s", program, name)
}

// headerPackages are Debian's packages of what kernels' own programs (in the folders of machineFaults) include. What is in none
// of them is the kernel's own header, and its commit's fault.
var headerPackages = []struct {
	header *regexp.Regexp
	name   string
}{
	{regexp.MustCompile(`^openssl/`), "libssl-dev"},
	{regexp.MustCompile(`^(gelf|libelf)\.h$`), "libelf-dev"},
	{regexp.MustCompile(`^(dwarf\.h|elfutils/.*)$`), "libdw-dev"},
	{regexp.MustCompile(`^zlib\.h$`), "zlib1g-dev"},
	{regexp.MustCompile(`^zstd\.h$`), "libzstd-dev"},
	{regexp.MustCompile(`^(sys/\w+|assert|ctype|errno|fcntl|getopt|inttypes|limits|locale|math|signal|stdio|stdlib|string|strings|time|unistd)\.h$`), "libc6-dev"},
}

func lacksHeader(header string) string {
	for _, p := range headerPackages {
		if p.header.MatchString(header) {
			return fmt.Sprintf("the header %s is missing: apt-get install %s", header, p.name)
		}
	}
	return ""
}

// libraryPackages are Debian's packages of the libraries kernels' own programs are linked with.
var libraryPackages = map[string]string{"elf": "libelf-dev", "crypto": "libssl-dev", "ssl": "libssl-dev", "z": "zlib1g-dev", "zstd": "libzstd-dev", "dw": "libdw-dev", "c": "libc6-dev"}

func lacksLibrary(name string) string {
	if p := libraryPackages[name]; p != "" {
		return fmt.Sprintf("the library lib%s is missing: apt-get install %s", name, p)
	}
	return ""
}
