package qdisctree_test

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/internal/qdisctree"
)

var update = flag.Bool("update", false, "renew the golden texts of testdata")

// messages are those of testdata/NAME.json, which TestPortCommands logged on Linux 6.1 for a port with four TX queues.
func messages(t *testing.T, name string) (r qdisctree.Recorded) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	must(t, err)
	must(t, json.Unmarshal(text, &r))
	return r
}

// recorded is the tree of testdata/NAME.json.
func recorded(t *testing.T, name string) qdisctree.Tree {
	t.Helper()
	return decoded(t, messages(t, name))
}

func decoded(t *testing.T, r qdisctree.Recorded) qdisctree.Tree {
	t.Helper()
	tree, err := qdisctree.Decode(r, qdisctree.Tree{Dev: "eth0", Up: true, MTU: 1500, TxQueueLen: 1000, Default: "fq_codel"})
	must(t, err)
	return tree
}

var recordings = []string{"default", "fq", "fq_codel", "htb", "mq", "tbf"}

// What the kernel dumps is read to the last option: the command lines that make it say so.
func TestRecordedCommands(t *testing.T) {
	var text strings.Builder
	for _, name := range recordings {
		tree := recorded(t, name)
		if bad := tree.Irrestorable(); len(bad) > 0 {
			t.Errorf("%s: %q", name, bad)
		}
		netem := qdisctree.Tree{Dev: "eth0", Up: true, Qdiscs: []qdisctree.Qdisc{{Kind: "netem", Handle: 0x10000, Parent: 0xffffffff}}}
		text.WriteString(name + ":\n" + strings.Join(qdisctree.Commands(tree, netem), "\n") + "\n")
	}
	golden := filepath.Join("testdata", "commands.txt")
	if *update {
		must(t, os.WriteFile(golden, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if text.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}

// A tree survives a journal, and each change of it is a difference.
func TestRecordedDifferences(t *testing.T) {
	for _, name := range recordings {
		want := recorded(t, name)
		text, err := json.Marshal(want)
		must(t, err)
		var have qdisctree.Tree
		must(t, json.Unmarshal(text, &have))
		if d := qdisctree.Differences(want, have); len(d) > 0 {
			t.Errorf("%s: after JSON: %q", name, d)
		}
		if c := qdisctree.Commands(want, have); len(c) > 0 {
			t.Errorf("%s: nothing differs, and the plan is %q", name, c)
		}
		for i := range have.Qdiscs {
			changed := have
			changed.Qdiscs = append(append([]qdisctree.Qdisc(nil), have.Qdiscs[:i]...), have.Qdiscs[i+1:]...)
			oneDifference(t, want, changed, "qdisc "+have.Qdiscs[i].Kind, "is missing")
			oneDifference(t, changed, want, "qdisc "+have.Qdiscs[i].Kind, "is too much")
			if len(have.Qdiscs[i].Options) > 0 {
				changed.Qdiscs = append([]qdisctree.Qdisc(nil), have.Qdiscs...)
				changed.Qdiscs[i].Options = flipped(have.Qdiscs[i].Options)
				oneDifference(t, want, changed, "qdisc "+have.Qdiscs[i].Kind, "should be")
			}
		}
		for i := range have.Classes {
			changed := have
			changed.Classes = append([]qdisctree.Class(nil), have.Classes...)
			changed.Classes[i].Options = flipped(have.Classes[i].Options)
			oneDifference(t, want, changed, "class htb", "should be")
		}
	}
}

// flipped changes the last byte.
func flipped(options []byte) []byte {
	options = append([]byte(nil), options...)
	options[len(options)-1] ^= 1
	return options
}

func oneDifference(t *testing.T, want, have qdisctree.Tree, clauses ...string) {
	t.Helper()
	d := qdisctree.Differences(want, have)
	if len(d) != 1 {
		t.Errorf("want one difference, have %q", d)
		return
	}
	for _, c := range clauses {
		if !strings.Contains(d[0], c) {
			t.Errorf("want %q in %q", c, d[0])
		}
	}
}

// Counters are no difference: here htb's packets that met no class, which stand among its options.
func TestRecordedCounters(t *testing.T) {
	r := messages(t, "htb")
	want := decoded(t, r)
	const version = 0x30011 // HTB_VER, the first word of struct tc_htb_glob; the counter is the fifth
	found := 0
	for _, msg := range r.Qdiscs {
		for i := 0; i+20 <= len(msg); i += 4 {
			if binary.NativeEndian.Uint32(msg[i:]) == version {
				binary.NativeEndian.PutUint32(msg[i+16:], 12345)
				found++
			}
		}
	}
	if d := qdisctree.Differences(want, decoded(t, r)); found != 2 || len(d) > 0 {
		t.Errorf("%d counters changed: %q", found, d)
	}
}
