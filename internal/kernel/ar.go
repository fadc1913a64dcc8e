package kernel

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	arMagic       = "!<arch>\n"
	arHeaderSize  = 60
	maxArMembers  = 32 // a package has 3
	maxMemberName = 16
)

// arMember finds the member of an ar(5) archive whose name starts with prefix, and
// gives its bytes.
func arMember(r io.ReaderAt, size int64, prefix string) (*io.SectionReader, error) {
	at := int64(len(arMagic))
	for range maxArMembers {
		var h [arHeaderSize]byte
		if _, err := r.ReadAt(h[:], at); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if h[58] != '`' || h[59] != '\n' {
			return nil, fmt.Errorf("damaged ar header at byte %d", at)
		}
		name := strings.TrimRight(string(h[:maxMemberName]), " /")
		length, err := strconv.ParseInt(strings.TrimSpace(string(h[48:58])), 10, 64)
		at += arHeaderSize
		if err != nil || length < 0 || length > size-at {
			return nil, fmt.Errorf("member %q is cut short or has a damaged size", name)
		}
		if strings.HasPrefix(name, prefix) {
			return io.NewSectionReader(r, at, length), nil
		}
		at += length + length%2
	}
	return nil, fmt.Errorf("there is no %s* in it", prefix)
}
