package qdiscstat

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"bondrepro/qdiscstat/counters"
)

// TestAgainstTC compares with what `tc -s -j qdisc show` and `tc -s qdisc show` say of the same qdiscs: field by field
// on a quiet system, and while traffic flows each counter of tc's between two readings of ours.
func TestAgainstTC(t *testing.T) {
	var made, skipped []string
	for _, k := range kindCases {
		kind, _, _ := strings.Cut(k.name, " ")
		t.Run(k.name, func(t *testing.T) {
			defer func() {
				if t.Skipped() {
					skipped = append(skipped, k.name)
				} else {
					made = append(made, k.name)
				}
			}()
			freshNamespace(t)
			veth(t, "v0", 4)
			conn := open(t)
			makeKind(t, kind, k)

			stop := flood(t, 1000)
			moved := 0
			func() {
				defer stop()
				for range 6 {
					moved += compareMoving(t, conn)
				}
			}()
			if moved == 0 && !k.idle {
				t.Error("no counter moved under traffic: the comparison has no substance")
			}
			compareQuiet(t, conn, k)
		})
	}
	if *record != "" {
		writeRecordings(t)
	}
	t.Logf("compared: %s", strings.Join(made, ", "))
	t.Logf("skipped, this kernel or tc has them not: %s", strings.Join(skipped, ", "))
}

// makeKind runs the set-up, or skips the test when the kernel does not know the kind.
func makeKind(t *testing.T, kind string, k kindCase) {
	t.Helper()
	for _, line := range k.setup {
		_, err := tc(t, strings.Fields(strings.ReplaceAll(line, " @ ", " v0 "))...)
		if err == nil {
			continue
		}
		for _, unknown := range []string{
			"Specified qdisc kind is unknown", // Linux 6.x
			"Specified qdisc not found",
			"Unknown qdisc",             // tc
			"No such file or directory", // ENOENT of a kernel without words
		} {
			if strings.Contains(err.Error(), unknown) {
				skip(t, kind, err.Error())
			}
		}
		t.Fatal(err)
	}
}

// tcQdisc is one element of tc -s -j qdisc show.
type tcQdisc map[string]any

// tcList is what tc -s -j qdisc show says.
func tcList(t *testing.T) (list []tcQdisc) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(mustTC(t, "-s", "-j", "qdisc", "show")))
	decoder.UseNumber()
	if decoder.Decode(&list) == nil {
		return list
	}
	// tc 6.1 writes the options of some kinds (hfsc, multiq) as text in the middle of its JSON.
	list = nil
	for _, block := range tcBlocks(tcText(t)) {
		list = append(list, parseText(t, block))
	}
	return list
}

func tcText(t *testing.T) string { t.Helper(); return mustTC(t, "-s", "qdisc", "show") }

var textForm = regexp.MustCompile(`(?s)^qdisc (\S+) (\S+) dev (\S+)(?: (root)| parent (\S+))?(?: refcnt (\d+))?.*` +
	`\n Sent (\d+) bytes (\d+) pkt \(dropped (\d+), overlimits (\d+) requeues (\d+)\) \n backlog (\d+)b (\d+)p`)

// parseText makes of a block of text what JSON would have said, options left out.
func parseText(t *testing.T, block string) tcQdisc {
	t.Helper()
	m := textForm.FindStringSubmatch(block)
	if m == nil {
		t.Fatalf("tc's text is not understood: %q", block)
	}
	q := tcQdisc{}
	for i, field := range []string{"kind", "handle", "dev", "root", "parent", "refcnt",
		"bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"} {
		switch v := m[i+1]; {
		case v == "":
		case v == "root":
			q["root"] = true
		case i < 5:
			q[field] = v
		default:
			q[field] = json.Number(v)
		}
	}
	return q
}

// key is what tells qdiscs of one namespace apart in tc's words.
func (q tcQdisc) key() string {
	return fmt.Sprint(q["dev"], q["root"], q["parent"], q["kind"], q["handle"])
}

// ours is what we say of q as JSON, as tc does.
func ours(t *testing.T, q *counters.Qdisc) tcQdisc {
	t.Helper()
	line, err := q.AppendJSON(nil, time.Unix(0, 0))
	must(t, err)
	var v tcQdisc
	decoder := json.NewDecoder(strings.NewReader(string(line)))
	decoder.UseNumber()
	must(t, decoder.Decode(&v))
	return v
}

// compareMoving holds every counter of tc's between two readings of ours, modulo 2^32 where the kernel's is. It returns
// how many counters moved between ours.
func compareMoving(t *testing.T, conn *Conn) (moved int) {
	t.Helper()
	before, err := conn.Qdiscs(nil)
	must(t, err)
	list := tcList(t)
	after, err := conn.Qdiscs(nil)
	must(t, err)
	if len(list) != len(before) || len(before) != len(after) {
		t.Fatalf("%d qdiscs in ours, %d in tc's, %d in ours", len(before), len(list), len(after))
	}
	for i := range list {
		name := list[i].key()
		b, a := ours(t, &before[i]), ours(t, &after[i])
		if b.key() != name || a.key() != name {
			t.Fatalf("order: ours %s, tc's %s, ours %s", b.key(), name, a.key())
		}
		for _, field := range []string{"bytes", "packets", "drops", "overlimits", "requeues"} {
			lo, mid, hi := number(t, b, field), number(t, list[i], field), number(t, a, field)
			if mid-lo > hi-lo { // unsigned: also false when mid < lo
				t.Errorf("%s: %s: ours %d, tc's %d, ours %d", name, field, lo, mid, hi)
			}
			if lo != hi {
				moved++
			}
		}
	}
	return moved
}

func number(t *testing.T, q tcQdisc, field string) uint64 {
	t.Helper()
	n, ok := q[field].(json.Number)
	if !ok {
		t.Fatalf("%s: no number %q in %v", q.key(), field, q)
	}
	var v uint64
	if _, err := fmt.Sscan(n.String(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// compareQuiet waits until nothing moves and wants everything equal: each field of JSON and each line of text.
func compareQuiet(t *testing.T, conn *Conn, k kindCase) {
	t.Helper()
	var before, after []counters.Qdisc
	var list []tcQdisc
	var text string
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var err error
		before, err = conn.Qdiscs(before[:0])
		must(t, err)
		list, text = tcList(t), tcText(t)
		after, err = conn.Qdiscs(after[:0])
		must(t, err)
		if quietly(before, after) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the qdiscs are not quiet after 60 s: %+v", after)
		}
	}
	must(t, conn.Options(after))
	if *record != "" {
		addRecording(t, conn, k.name, after, list, text)
	}
	if len(list) != len(after) {
		t.Fatalf("%d qdiscs in tc's, %d in ours", len(list), len(after))
	}
	compareAll(t, list, tcBlocks(text), after)
	var drops, packets uint64
	for i := range after {
		drops += uint64(after[i].Drops)
		packets += after[i].Packets + uint64(after[i].Drops)
	}
	if k.drops && drops == 0 {
		t.Error("nothing was dropped: the comparison of drops has no substance")
	}
	if packets == 0 && !k.idle {
		t.Error("nothing was sent or dropped: the comparison has no substance")
	}
}

// compareAll compares what tc said, as JSON and as blocks of text, with ours.
func compareAll(t *testing.T, list []tcQdisc, blocks []string, qs []counters.Qdisc) {
	t.Helper()
	for i := range qs {
		q := &qs[i]
		compareFields(t, list[i], ours(t, q), hasDecoder(q.Kind))
		compareText(t, blocks[i], q.Text(), hasDecoder(q.Kind))
	}
}

func hasDecoder(kind string) bool {
	_, ok := optionDecoders[kind]
	return ok || kind == "mq" || kind == "noqueue"
}

func quietly(before, after []counters.Qdisc) bool {
	if len(before) != len(after) {
		return false
	}
	for i := range after {
		if before[i] != after[i] || after[i].Qlen != 0 {
			return false
		}
	}
	return true
}

// compareFields wants every field of tc's in ours, except those of the kinds' own statistics and of options that
// are not decoded.
func compareFields(t *testing.T, theirs, ours tcQdisc, options bool) {
	t.Helper()
	for _, field := range []string{"kind", "handle", "dev", "root", "parent", "refcnt",
		"bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"} {
		if fmt.Sprint(theirs[field]) != fmt.Sprint(ours[field]) {
			t.Errorf("%s: %s: tc's %v, ours %v", theirs.key(), field, theirs[field], ours[field])
		}
	}
	if options {
		compareOptions(t, theirs.key()+": options", theirs["options"], ours["options"])
	}
}

// compareOptions wants theirs in ours. tc writes fractions with six digits.
func compareOptions(t *testing.T, path string, theirs, ours any) {
	t.Helper()
	switch theirs := theirs.(type) {
	case map[string]any:
		in, ok := ours.(map[string]any)
		if !ok {
			t.Errorf("%s: tc's %v, ours %v", path, theirs, ours)
			return
		}
		for name, v := range theirs {
			if _, ok := in[name]; !ok {
				t.Errorf("%s.%s: tc's %v, ours has none", path, name, v)
				continue
			}
			compareOptions(t, path+"."+name, v, in[name])
		}
	case json.Number:
		n, ok := ours.(json.Number)
		a, errA := theirs.Float64()
		b, errB := n.Float64()
		if !ok || errA != nil || errB != nil || math.Abs(a-b) > 1e-5*math.Abs(a) {
			t.Errorf("%s: tc's %v, ours %v", path, theirs, ours)
		}
	default:
		if fmt.Sprint(theirs) != fmt.Sprint(ours) {
			t.Errorf("%s: tc's %v, ours %v", path, theirs, ours)
		}
	}
}

// tcBlocks cuts tc's text into its qdiscs.
func tcBlocks(text string) []string {
	var blocks []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "qdisc ") {
			blocks = append(blocks, "")
		}
		blocks[len(blocks)-1] += line
	}
	return blocks
}

// compareText wants our three lines in tc's, but for trailing blanks: the first, and those of the counters, which may
// follow further lines of options. Of options that are not decoded our first line says nothing.
func compareText(t *testing.T, theirs, ours string, options bool) {
	t.Helper()
	for i, start := range []string{"qdisc ", " Sent ", " backlog "} {
		want, got := lineOf(theirs, start), lineOf(ours, start)
		if got == want || i == 0 && !options && strings.HasPrefix(want, got) && got != "" {
			continue
		}
		t.Errorf("text:\ntc's %q\nours %q", want, got)
	}
}

// lineOf is the first line that begins so, without trailing blanks.
func lineOf(text, start string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, start) {
			return strings.TrimRight(line, " \n")
		}
	}
	return ""
}
