package qdiscstat

import (
	"bytes"
	"embed"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"bondrepro/qdiscstat/counters"

	"golang.org/x/sys/unix"
)

// record makes TestAgainstTC write what it compared to a file of recordings, one a kernel.
var record = flag.String("record", "", "write recordings to this file, for testdata/linux-VERSION.json")

//go:embed testdata/*.json
var testdata embed.FS

// recordings is one file of testdata.
type recordings struct {
	Kernel string      `json:"kernel"` // uname -r
	TC     string      `json:"tc"`     // tc -V
	Cases  []recording `json:"cases"`
}

// recording is what the kernel sent for one kindCase and what tc made of it in the same quiet moment.
type recording struct {
	Case     string            `json:"case"`
	Messages []string          `json:"messages"` // payloads of RTM_NEWQDISC, hexadecimal, little-endian
	Devices  map[int]string    `json:"devices"`  // names by ifindex
	Text     []string          `json:"text"`     // tc -s qdisc show
	JSON     []json.RawMessage `json:"json"`     // tc -s -j qdisc show
}

var recorded recordings

// addRecording keeps one case.
func addRecording(t *testing.T, conn *Conn, name string, qs []counters.Qdisc, list []tcQdisc, text string) {
	t.Helper()
	r := recording{Case: name, Devices: map[int]string{}, Text: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	must(t, conn.eachQdisc(func(msg []byte) { r.Messages = append(r.Messages, hex.EncodeToString(msg)) }))
	for _, q := range qs {
		r.Devices[q.Ifindex] = q.Dev
	}
	for _, q := range list {
		b, err := json.Marshal(q)
		must(t, err)
		r.JSON = append(r.JSON, b)
	}
	recorded.Cases = append(recorded.Cases, r)
}

func writeRecordings(t *testing.T) {
	t.Helper()
	var uts unix.Utsname
	must(t, unix.Uname(&uts))
	recorded.Kernel = unix.ByteSliceToString(uts.Release[:])
	recorded.TC = strings.TrimSpace(mustTC(t, "-V"))
	b, err := json.MarshalIndent(recorded, "", "\t")
	must(t, err)
	must(t, os.WriteFile(*record, append(b, '\n'), 0o644))
}

// eachRecording calls f with every recording in testdata.
func eachRecording(t testing.TB, f func(kernel string, r recording)) {
	t.Helper()
	files, err := testdata.ReadDir("testdata")
	must(t, err)
	for _, file := range files {
		b, err := testdata.ReadFile("testdata/" + file.Name())
		must(t, err)
		var all recordings
		must(t, json.Unmarshal(b, &all))
		for _, r := range all.Cases {
			f(all.Kernel, r)
		}
	}
}

// messages are the recorded payloads.
func (r *recording) messages(t testing.TB) (payloads [][]byte) {
	t.Helper()
	for _, text := range r.Messages {
		b, err := hex.DecodeString(text)
		must(t, err)
		payloads = append(payloads, b)
	}
	return payloads
}

// TestRecorded decodes what kernels sent and compares with what tc made of it: fields, options and text.
func TestRecorded(t *testing.T) {
	if native.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the recordings are little-endian")
	}
	eachRecording(t, func(kernel string, r recording) {
		t.Run(kernel+"/"+r.Case, func(t *testing.T) {
			var qs []counters.Qdisc
			for _, msg := range r.messages(t) {
				q, options, ok := decodeQdisc(msg, interner{})
				if !ok {
					t.Fatalf("not decoded: %x", msg)
				}
				q.Dev, q.Options = r.Devices[q.Ifindex], decodeOptions(q.Kind, options)
				qs = append(qs, q)
			}
			list := make([]tcQdisc, len(r.JSON))
			for i, raw := range r.JSON {
				decoder := json.NewDecoder(bytes.NewReader(raw))
				decoder.UseNumber()
				must(t, decoder.Decode(&list[i]))
			}
			if len(qs) != len(list) {
				t.Fatalf("%d qdiscs in tc's, %d in ours", len(list), len(qs))
			}
			compareAll(t, list, tcBlocks(strings.Join(r.Text, "\n")+"\n"), qs)
		})
	})
}
