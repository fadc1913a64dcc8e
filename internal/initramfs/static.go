package initramfs

import (
	"debug/elf"
	"fmt"
)

// NotStaticError is a binary that can't be /init of a guest that holds nothing else.
// It is the user's to mend.
type NotStaticError struct {
	Path   string
	Reason string
}

// Error says what is wrong and how to build it.
func (e *NotStaticError) Error() string {
	return fmt.Sprintf("%s can't be the guest's init: %s; build it static, with CGO_ENABLED=0 or make build", e.Path, e.Reason)
}

// CheckStatic checks that path is an x86-64 program without an interpreter (PT_INTERP,
// ld.so(8)) and without libraries. The error is a *NotStaticError, or that of opening it.
func CheckStatic(path string) error {
	f, err := elf.Open(path)
	if format, ok := err.(*elf.FormatError); ok {
		return &NotStaticError{path, "it is no ELF program (" + format.Error() + ")"}
	}
	if err != nil {
		return fmt.Errorf("check that the guest's init is static: %w", err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 || (f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN) {
		return &NotStaticError{path, fmt.Sprintf("it is %v for %v, not a program for x86-64", f.Type, f.Machine)}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return &NotStaticError{path, "it is dynamically linked"}
		}
	}
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		return &NotStaticError{path, "it needs " + libraries[0]}
	}
	return nil
}
