package kernel

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

const (
	maxNotes  = 1 << 20 // bytes of a note segment
	maxKernel = 1 << 30 // bytes of an unpacked kernel
	// ntGNUBuildID is NT_GNU_BUILD_ID of elf(5).
	ntGNUBuildID = 3
)

// findBuildID reads the build id from vmlinux if there is one, else from the image,
// whose unpacking takes up to a second: that result is kept in the cache.
func (o *opener) findBuildID(image, vmlinux string) string {
	if vmlinux != "" {
		if f, err := os.Open(vmlinux); err == nil {
			defer f.Close()
			if id, err := elfBuildID(f); err == nil {
				return id
			}
		}
	}
	sum, err := sha256File(image)
	if err != nil {
		return ""
	}
	kept := filepath.Join(o.CacheDir, buildIDsFolder, sum)
	if id, err := os.ReadFile(kept); err == nil {
		touch(kept)
		return string(id)
	}
	id, err := imageBuildID(image)
	if err != nil {
		return ""
	}
	// The cache only saves time: without it the answer is the same.
	if os.MkdirAll(filepath.Dir(kept), 0o755) == nil {
		_ = renameio.WriteFile(kept, []byte(id), 0o644)
	}
	return id
}

// imageBuildID unpacks the bzImage at path as far as its notes.
func imageBuildID(path string) (string, error) {
	h, err := readHeader(path)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	payload, err := decompress(io.NewSectionReader(f, h.payloadAt, h.payloadLength))
	if err != nil {
		return "", err
	}
	defer payload.Close()
	return elfBuildID(payload)
}

var errNoBuildID = errors.New("it has no GNU build id")

// elfBuildID finds the build id in the PT_NOTE segments of an x86-64 ELF file, read
// from its start and only as far as needed.
func elfBuildID(r io.Reader) (string, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	start, err := buffered.Peek(64)
	if err != nil {
		return "", err
	}
	var h elf.Header64
	if err := binary.Read(bytes.NewReader(start), binary.LittleEndian, &h); err != nil {
		return "", err
	}
	if string(h.Ident[:6]) != "\x7fELF\x02\x01" || h.Phoff != 64 || h.Phentsize != 56 {
		return "", errors.New("it is no x86-64 ELF program")
	}
	table, err := buffered.Peek(64 + min(int(h.Phnum), 64)*56)
	if err != nil {
		return "", err
	}
	programs := make([]elf.Prog64, (len(table)-64)/56)
	if err := binary.Read(bytes.NewReader(table[64:]), binary.LittleEndian, programs); err != nil {
		return "", err
	}
	position := uint64(0)
	for _, p := range programs {
		if elf.ProgType(p.Type) != elf.PT_NOTE || p.Off < position || p.Off > maxKernel || p.Filesz > maxNotes {
			continue
		}
		if _, err := io.CopyN(io.Discard, buffered, int64(p.Off-position)); err != nil {
			return "", err
		}
		notes := make([]byte, p.Filesz)
		if _, err := io.ReadFull(buffered, notes); err != nil {
			return "", err
		}
		if id := noteBuildID(notes); id != "" {
			return id, nil
		}
		position = p.Off + p.Filesz
	}
	return "", errNoBuildID
}

// noteBuildID finds the GNU build id among ELF notes: name size, descriptor size and
// type of 4 bytes each, then name and descriptor, each padded to 4 (elf(5)). It is ""
// when there is none.
func noteBuildID(notes []byte) string {
	for len(notes) >= 12 {
		nameSize := uint64(binary.LittleEndian.Uint32(notes))
		size := uint64(binary.LittleEndian.Uint32(notes[4:]))
		kind := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[12:]
		at := (nameSize + 3) &^ 3
		if at+size > uint64(len(notes)) {
			return ""
		}
		if kind == ntGNUBuildID && string(notes[:nameSize]) == "GNU\x00" {
			return hex.EncodeToString(notes[at : at+size])
		}
		notes = notes[min(at+(size+3)&^3, uint64(len(notes))):]
	}
	return ""
}
