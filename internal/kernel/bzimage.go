package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Offsets in the x86 boot protocol's header, Documentation/arch/x86/boot.rst.
const (
	setupSectsAt     = 0x1f1
	bootFlagAt       = 0x1fe
	headerMagicAt    = 0x202
	protocolAt       = 0x206
	kernelVersionAt  = 0x20e
	xloadflagsAt     = 0x236
	payloadOffsetAt  = 0x248
	payloadLengthAt  = 0x24c
	headerEnd        = 0x250
	sector           = 512
	xlf64            = 1 << 0
	protocolXLoad    = 0x20c // the first with xloadflags
	maxSetupSects    = 64
	maxVersionLength = 1024
)

// header is what we use of a bzImage's header.
type header struct {
	version string
	// The compressed kernel, in bytes from the start of the file.
	payloadAt, payloadLength int64
}

// release is the first word of the version, as uname -r prints it.
func (h header) release() string {
	release, _, _ := strings.Cut(h.version, " ")
	return release
}

// readHeader reads the header of the bzImage at path.
func readHeader(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, fmt.Errorf("open kernel image: %w", err)
	}
	defer f.Close()
	setup, err := io.ReadAll(io.LimitReader(f, (maxSetupSects+1)*sector))
	if err != nil {
		return header{}, fmt.Errorf("read kernel image %s: %w", path, err)
	}
	h, err := parseHeader(setup)
	if err != nil {
		return h, usagef("%s can't be booted: %v", path, err)
	}
	return h, nil
}

var (
	errNoKernel = errors.New("it is neither a bzImage nor a Debian package")
	errVmlinux  = errors.New("it is an ELF file, not a bzImage; a kernel tree's is arch/x86/boot/bzImage")
	errNot64    = errors.New("it is no x86-64 kernel")
	errVersion  = errors.New("its header names no version")
)

// parseHeader parses the real-mode part of a bzImage.
func parseHeader(b []byte) (header, error) {
	if bytes.HasPrefix(b, []byte("\x7fELF")) {
		return header{}, errVmlinux
	}
	if len(b) < headerEnd || binary.LittleEndian.Uint16(b[bootFlagAt:]) != 0xaa55 || string(b[headerMagicAt:headerMagicAt+4]) != "HdrS" {
		return header{}, errNoKernel
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	u32 := func(at int) int64 { return int64(binary.LittleEndian.Uint32(b[at:])) }
	if u16(protocolAt) < protocolXLoad || u16(xloadflagsAt)&xlf64 == 0 {
		return header{}, errNot64
	}
	setupSects := int64(b[setupSectsAt])
	if setupSects == 0 {
		setupSects = 4 // "for backwards compatibility"
	}
	at := u16(kernelVersionAt) + sector
	if at == sector || at >= len(b) {
		return header{}, errVersion
	}
	text := b[at:min(len(b), at+maxVersionLength)]
	text, _, ended := bytes.Cut(text, []byte{0})
	version := strings.TrimSpace(strings.ToValidUTF8(string(text), "?"))
	if !ended || version == "" {
		return header{}, errVersion
	}
	return header{
		version:       version,
		payloadAt:     (setupSects+1)*sector + u32(payloadOffsetAt),
		payloadLength: u32(payloadLengthAt),
	}, nil
}
