package kernel

import (
	"bytes"
	"context"
	"os"
	"testing"
)

// The readers below are given files from anywhere: none may panic, hang or fill memory.

func FuzzModule(f *testing.F) {
	whole := buildModule(module{name: "bonding", depends: "tls,x", softdep: "pre: a post: b"})
	f.Add(whole)
	f.Add(whole[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := parseModule(data)
		if err == nil && len(info.buildID) > 2*len(data) {
			t.Errorf("a build id of %d digits from %d bytes", len(info.buildID), len(data))
		}
	})
}

func FuzzModinfo(f *testing.F) {
	f.Add([]byte("name=x\x00depends=a,,b\x00softdep=pre: a post: b pre:\x00vermagic\x00=\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info := parseModinfo(data)
		for _, name := range append(info.depends, info.softPre...) {
			if name == "" {
				t.Error("an empty name")
			}
		}
	})
}

func FuzzNotes(f *testing.F) {
	f.Add(append(note("Xen", 6, []byte("linux")), note("GNU", ntGNUBuildID, []byte("01234567890123456789"))...))
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(_ *testing.T, data []byte) { noteBuildID(data) })
}

func FuzzBuildID(f *testing.F) {
	f.Add(buildVmlinux(f))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = elfBuildID(bytes.NewReader(data)) })
}

func FuzzHeader(f *testing.F) {
	f.Add(buildImage(version, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := parseHeader(data); err == nil && (h.version == "" || h.payloadAt < 0 || h.payloadLength < 0) {
			t.Errorf("accepted %+v", h)
		}
	})
}

func FuzzDeb(f *testing.F) {
	for compress := range packers {
		f.Add(buildDeb(f, compress, "linux-image-6.1", files{"./boot/vmlinuz-1": []byte("image"), "./lib/modules/1/a.ko": []byte("module")}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			t.Skip("larger packages only take longer")
		}
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/k.deb", data, 0o600); err != nil {
			t.Fatal(err)
		}
		deb, err := os.Open(dir + "/k.deb")
		if err != nil {
			t.Fatal(err)
		}
		defer deb.Close()
		if err := os.Mkdir(dir+"/out", 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenRoot(dir + "/out")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		_ = extractData(context.Background(), deb, out)
		_, _ = debRecord(context.Background(), dir+"/k.deb")
	})
}
