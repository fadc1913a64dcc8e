package kernel

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/xi2/xz"
)

// maxDictionary bounds what a decompressor may allocate, in bytes: xz -9 and
// zstd --long need 64 and 128 MiB.
const maxDictionary = 128 << 20

// compression is one format, told by its first bytes.
type compression struct {
	magic string
	open  func(io.Reader) (io.ReadCloser, error)
}

// compressions are those of packages, modules and kernel images
// (scripts/Makefile.lib in the kernel; deb(5)). xi2/xz knows the x86 filter that
// images are packed with.
var compressions = []compression{
	{"\x1f\x8b", func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	{"\xfd7zXZ\x00", func(r io.Reader) (io.ReadCloser, error) {
		x, err := xz.NewReader(r, maxDictionary)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(x), nil
	}},
	{"\x28\xb5\x2f\xfd", func(r io.Reader) (io.ReadCloser, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(maxDictionary), zstd.WithDecoderMaxWindow(maxDictionary), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}},
	{"\x02\x21\x4c\x18", func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(lz4.NewReader(r)), nil }},
	{"BZh", func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(bzip2.NewReader(r)), nil }},
}

// errNotCompressed says that no format's mark is at the start.
var errNotCompressed = errors.New("it is packed in no known format")

// decompress unpacks r by its first bytes.
func decompress(r io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	head, err := buffered.Peek(6)
	if err != nil && err != io.EOF {
		return nil, err
	}
	for _, c := range compressions {
		if bytes.HasPrefix(head, []byte(c.magic)) {
			return c.open(buffered)
		}
	}
	return nil, errNotCompressed
}

// readLimited reads all of r, at most limit bytes.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	return b, err
}
