package guest

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestBuildID(t *testing.T) {
	const (
		xen   = "04000000 08000000 12000000 58656e00 0000000001000000"  // name "Xen"
		linux = "06000000 04000000 01010000 4c696e757800 0000 00000000" // a name of 6 bytes, padded
		gnu   = "04000000 05000000 03000000 474e5500 0102030405 000000" // 5 bytes, padded
		other = "04000000 04000000 01000000 474e5500 aabbccdd"          // GNU, another type
		lies  = "04000000 ffffff7f 03000000 474e5500 0102"              // longer than there is
		huge  = "ffffffff ffffffff 03000000 474e5500"                   // sizes that overflow
		last  = "04000000 05000000 03000000 474e5500 0102030405"        // unpadded end
	)
	for name, tt := range map[string]struct{ notes, want string }{
		"alone":             {gnu, "0102030405"},
		"behind others":     {xen + linux + other + gnu, "0102030405"},
		"without last pad":  {other + last, "0102030405"},
		"none":              {xen + linux, ""},
		"empty":             {"", ""},
		"too long":          {lies, ""},
		"overflowing sizes": {huge, ""},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(tt.notes, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := buildID(b); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func FuzzBuildID(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x05\x00\x00\x00\x03\x00\x00\x00GNU\x00abcde\x00\x00\x00"))
	f.Fuzz(func(_ *testing.T, b []byte) { buildID(b) })
}
