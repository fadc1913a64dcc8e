package kernel

// What the tests read is built here: modules, images, packages, compressed in every way.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

const (
	release  = "6.1.0-test"
	version  = release + " (builder@test) #1 SMP PREEMPT_DYNAMIC"
	vermagic = release + " SMP preempt mod_unload modversions "
	kernelID = "00112233445566778899aabbccddeeff00112233"
)

// packers are the formats the tests can write. "" leaves bytes as they are.
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	"":    func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil },
	".gz": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	".xz": func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	".zst": func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w)
	},
	".lz4": func(w io.Writer) (io.WriteCloser, error) {
		z := lz4.NewWriter(w)
		return z, z.Apply(lz4.LegacyOption(true)) // as scripts/Makefile.lib makes it, lz4 -l
	},
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// must ends the test on an error; tb is a test or a fuzz target.
func must[T any](tb testing.TB) func(T, error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func pack(tb testing.TB, how string, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := must[io.WriteCloser](tb)(packers[how](&b))
	must[int](tb)(w.Write(data))
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// note is one ELF note.
func note(name string, kind uint32, desc []byte) []byte {
	var b bytes.Buffer
	for _, v := range []uint32{uint32(len(name) + 1), uint32(len(desc)), kind} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString(name + "\x00")
	b.Write(make([]byte, -b.Len()&3))
	b.Write(desc)
	b.Write(make([]byte, -b.Len()&3))
	return b.Bytes()
}

// module is what buildModule makes an ELF file of.
type module struct {
	name, depends, softdep, vermagic string
}

// id is the build id buildModule gives the module.
func (m module) id() string { return hex.EncodeToString([]byte("id-" + m.name)) }

// buildModule makes a relocatable x86-64 ELF file with .modinfo and a build id.
func buildModule(m module) []byte {
	if m.vermagic == "" {
		m.vermagic = vermagic
	}
	info := "license=GPL\x00\x00depends=" + m.depends + "\x00name=" + m.name + "\x00vermagic=" + m.vermagic + "\x00"
	if m.softdep != "" {
		info += "softdep=" + m.softdep + "\x00"
	}
	names := "\x00.modinfo\x00.note.gnu.build-id\x00.shstrtab\x00"
	bodies := [][]byte{nil, []byte(info), note("GNU", ntGNUBuildID, []byte("id-"+m.name)), []byte(names)}
	kinds := []elf.SectionType{elf.SHT_NULL, elf.SHT_PROGBITS, elf.SHT_NOTE, elf.SHT_STRTAB}
	sections := make([]elf.Section64, len(bodies))
	var body bytes.Buffer
	for i, b := range bodies {
		sections[i] = elf.Section64{Type: uint32(kinds[i]), Off: uint64(64 + body.Len()), Size: uint64(len(b)), Addralign: 1}
		body.Write(b)
	}
	sections[1].Name, sections[2].Name, sections[3].Name = 1, 10, 29
	h := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: uint64(64 + body.Len()),
		Ehsize: 64, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 3,
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, h)
	b.Write(body.Bytes())
	binary.Write(&b, binary.LittleEndian, sections)
	return b.Bytes()
}

// buildVmlinux makes an ELF program with two segments of notes, the second with kernelID.
func buildVmlinux(tb testing.TB) []byte {
	tb.Helper()
	id := must[[]byte](tb)(hex.DecodeString(kernelID))
	first := note("Xen", 6, []byte("linux"))
	second := append(note("Xen", 6, []byte("linux")), note("GNU", ntGNUBuildID, id)...)
	const at, gap = 3000, 100
	programs := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Off: 1000, Filesz: 2500},
		{Type: uint32(elf.PT_NOTE), Off: at, Filesz: uint64(len(first))},
		{Type: uint32(elf.PT_NOTE), Off: at + gap, Filesz: uint64(len(second))},
	}
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64,
		Ehsize: 64, Phentsize: 56, Phnum: uint16(len(programs)),
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, h)
	binary.Write(&b, binary.LittleEndian, programs)
	b.Write(bytes.Repeat([]byte("\xe8\x10\x00\x00\x00code"), (at-b.Len())/9+1)[:at-b.Len()])
	b.Write(append(first, make([]byte, gap-len(first))...))
	b.Write(second)
	b.Write(make([]byte, 5000))
	return b.Bytes()
}

// buildImage makes a bzImage with payload, followed by its unpacked size as in a real one.
func buildImage(version string, payload []byte) []byte {
	const setupSects = 2
	b := make([]byte, (setupSects+1)*sector)
	b[setupSectsAt] = setupSects
	le := binary.LittleEndian
	le.PutUint16(b[bootFlagAt:], 0xaa55)
	copy(b[headerMagicAt:], "HdrS")
	le.PutUint16(b[protocolAt:], 0x20f)
	le.PutUint16(b[xloadflagsAt:], xlf64)
	const versionAt = 0x300
	le.PutUint16(b[kernelVersionAt:], versionAt-sector)
	copy(b[versionAt:], version+"\x00")
	le.PutUint32(b[payloadOffsetAt:], 16)
	le.PutUint32(b[payloadLengthAt:], uint32(len(payload)+4))
	b = append(b, make([]byte, 16)...)
	b = append(b, payload...)
	return append(b, "size"...)
}

// files is a folder's or an archive's content by path.
type files map[string][]byte

// buildDeb makes a .deb of the package x; compress is the suffix of its data.tar.
func buildDeb(tb testing.TB, compress, depends string, content files) []byte {
	tb.Helper()
	return buildDebOf(tb, compress, "Package: x\nDepends: kmod,\n "+depends+"\nDescription: y\n Depends: no\n", content)
}

// buildDebOf makes a .deb with these control fields.
func buildDebOf(tb testing.TB, compress, fields string, content files) []byte {
	tb.Helper()
	control := files{"./control": []byte(fields)}
	b := []byte(arMagic)
	for _, member := range []struct {
		name string
		data []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar.gz", pack(tb, ".gz", buildTar(tb, control))},
		{"data.tar" + compress, pack(tb, compress, buildTar(tb, content))},
	} {
		b = fmt.Appendf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.name, 0, 0, 0, "100644", len(member.data))
		b = append(b, member.data...)
		b = append(b, make([]byte, len(member.data)%2)...)
	}
	return b
}

func buildTar(tb testing.TB, content files) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, data := range content {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
			tb.Fatal(err)
		}
		must[int](tb)(w.Write(data))
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// write puts the files into dir and returns it.
func (f files) write(tb testing.TB, dir string) string {
	tb.Helper()
	for name, data := range f {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// testModules are a small kernel's: bonding needs tls, tls's softdep goes in a circle.
var testModules = []module{
	{name: "bonding", depends: "tls"},
	{name: "tls", softdep: "pre: crc-x not_there post: bonding"},
	{name: "crc_x", softdep: "pre: tls"},
	{name: "broken", depends: "gone,crc_x"},
	{name: "virtio_net", depends: ""},
}

const testBuiltin = "kernel/drivers/block/loop.ko\nkernel/net/ipv4/tcp-cubic.ko\n"

// moduleFiles is lib/modules/RELEASE, its modules' names ending in compress.
func moduleFiles(tb testing.TB, prefix, compress string) files {
	tb.Helper()
	f := files{prefix + builtinFile: []byte(testBuiltin), prefix + "modules.order": []byte("x")}
	for _, m := range testModules {
		name := strings.ReplaceAll(m.name, "crc_x", "crc-x")
		f[prefix+"kernel/drivers/"+name+".ko"+compress] = pack(tb, compress, buildModule(m))
	}
	return f
}

// with gives f with one more file.
func (f files) with(name string, data []byte) files {
	f[name] = data
	return f
}
