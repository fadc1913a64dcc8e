package kernel

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"strings"
)

// maxModule bounds an unpacked module, in bytes. The largest in Debian, amdgpu, has 30 MB.
const maxModule = 256 << 20

// moduleInfo is what we use of a module's ELF file.
type moduleInfo struct {
	name     string // empty before Linux 4.13
	vermagic string
	depends  []string // modules that must be loaded before
	softPre  []string // modules that had better be loaded before
	buildID  string
}

var (
	errNoModule = errors.New("it is no kernel module for x86-64")
	errDamaged  = errors.New("its ELF headers are damaged")
)

// parseModule reads the parts of a module we use from its ELF file.
func parseModule(data []byte) (moduleInfo, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		if bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
			return moduleInfo{}, fmt.Errorf("%w: %v", errDamaged, err)
		}
		return moduleInfo{}, errNoModule
	}
	if f.Type != elf.ET_REL || f.Machine != elf.EM_X86_64 {
		return moduleInfo{}, errNoModule
	}
	modinfo, err := section(f, data, ".modinfo")
	if err != nil {
		return moduleInfo{}, err
	}
	if modinfo == nil {
		return moduleInfo{}, errNoModule
	}
	info := parseModinfo(modinfo)
	notes, err := section(f, data, ".note.gnu.build-id")
	info.buildID = noteBuildID(notes)
	return info, err
}

// section is a section's bytes as they lie in the file, nil when there is none.
func section(f *elf.File, data []byte, name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	if s.Offset > uint64(len(data)) || s.FileSize > uint64(len(data))-s.Offset {
		return nil, errDamaged
	}
	return data[s.Offset : s.Offset+s.FileSize], nil
}

// parseModinfo reads the "key=value" strings, each ended by a zero byte, of a .modinfo
// section (include/linux/module.h, MODULE_INFO).
func parseModinfo(b []byte) moduleInfo {
	var m moduleInfo
	for _, field := range bytes.Split(b, []byte{0}) {
		key, value, _ := strings.Cut(string(field), "=")
		switch key {
		case "name":
			m.name = value
		case "vermagic":
			m.vermagic = strings.TrimSpace(value)
		case "depends":
			m.depends = append(m.depends, strings.FieldsFunc(value, func(r rune) bool { return r == ',' })...)
		case "softdep":
			m.softPre = append(m.softPre, parseSoftdep(value)...)
		}
	}
	return m
}

// parseSoftdep gives the modules of "pre: a b post: c" that come before (modprobe.d(5)).
func parseSoftdep(value string) []string {
	var before []string
	pre := false
	for _, word := range strings.Fields(value) {
		switch word {
		case "pre:":
			pre = true
		case "post:":
			pre = false
		default:
			if pre {
				before = append(before, word)
			}
		}
	}
	return before
}
