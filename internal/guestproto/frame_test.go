package guestproto_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"bondrepro/internal/guestproto"
)

func frame(t testing.TB, e guestproto.Envelope) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := guestproto.NewWriter(&b).Write(e); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

// random is a string that deflate can't make smaller.
func random(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		b.WriteByte(byte(' ' + 1 + r.IntN(90)))
	}
	return b.String()
}

var envelopes = []guestproto.Envelope{
	{Type: guestproto.TypeBeat},
	{Type: guestproto.TypeCall, ID: 7, Kind: "measure", TimeoutMS: 1500, Body: json.RawMessage(`{"a":1}`)},
	{Type: guestproto.TypeReply, ID: 7, Error: "no such device"},
	{Type: guestproto.TypeNote, ID: 1, Kind: "output", Body: text(strings.Repeat("again and ", 50000))},
	{Type: guestproto.TypeNote, ID: 2, Kind: "output", Body: text(random(100000))},
}

func TestMessagesArriveAsSent(t *testing.T) {
	var stream bytes.Buffer
	for _, e := range envelopes {
		stream.Write(frame(t, e))
	}
	r := guestproto.NewReader(&stream)
	for i, want := range envelopes {
		got, err := r.Read()
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("message %d arrived as %.200v, want %.200v", i, got, want)
		}
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("after the last message: %v, want EOF", err)
	}
	if r.Skipped() != 0 {
		t.Errorf("%d bytes skipped in a clean stream", r.Skipped())
	}
}

func TestLargeMessagesAreCompressed(t *testing.T) {
	if n := len(frame(t, envelopes[3])); n > 50000 {
		t.Errorf("500 KB of repetition take %d bytes", n)
	}
}

func TestNoiseIsSkipped(t *testing.T) {
	noise := map[string]string{
		"console text":            "[    1.2] BUG: something\r\n",
		"magic alone":             "\xb0\x4dRP",
		"magic and a huge length": "\xb0\x4dRP\xff\xff\xff\xff\xff\xff\xff\xff0000" + "0000",
		"half a frame":            string(frame(t, envelopes[1])[:15]),
	}
	for name, n := range noise {
		t.Run(name, func(t *testing.T) {
			r := guestproto.NewReader(io.MultiReader(strings.NewReader(n), bytes.NewReader(frame(t, envelopes[1]))))
			got, err := r.Read()
			if err != nil || got.ID != 7 {
				t.Fatalf("Read = %+v, %v", got, err)
			}
			if r.Skipped() != uint64(len(n)) {
				t.Errorf("skipped %d bytes, want %d", r.Skipped(), len(n))
			}
		})
	}
}

func TestDamageIsAnErrorAndTheNextMessageArrives(t *testing.T) {
	bad := frame(t, envelopes[1])
	bad[len(bad)-3] ^= 4
	r := guestproto.NewReader(io.MultiReader(bytes.NewReader(bad), bytes.NewReader(frame(t, envelopes[2]))))
	if _, err := r.Read(); !errors.Is(err, guestproto.ErrDamaged) {
		t.Errorf("damaged message: %v", err)
	}
	if got, err := r.Read(); err != nil || got.Error != "no such device" {
		t.Errorf("the message after it: %+v, %v", got, err)
	}
}

func TestStreamThatEndsInAMessage(t *testing.T) {
	b := frame(t, envelopes[1])
	if _, err := guestproto.NewReader(bytes.NewReader(b[:len(b)-1])).Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want unexpected EOF", err)
	}
}

func TestTooLargeAMessageIsRefused(t *testing.T) {
	err := guestproto.NewWriter(io.Discard).Write(guestproto.Envelope{Error: strings.Repeat("x", guestproto.MaxMessage)})
	if err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v", err)
	}
}

// slowBuffer takes what is written to it in two parts, as a serial port does.
type slowBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *slowBuffer) Write(p []byte) (int, error) {
	for _, part := range [][]byte{p[:len(p)/2], p[len(p)/2:]} {
		s.mu.Lock()
		s.b.Write(part)
		s.mu.Unlock()
		runtime.Gosched()
	}
	return len(p), nil
}

func TestWritersDoNotMix(t *testing.T) {
	var o slowBuffer
	w := guestproto.NewWriter(&o)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 50 {
				if err := w.Write(guestproto.Envelope{Type: guestproto.TypeNote, ID: uint64(i), Body: text(random(700))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r := guestproto.NewReader(&o.b)
	for range 200 {
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
	}
	if r.Skipped() != 0 {
		t.Errorf("%d bytes skipped", r.Skipped())
	}
}

func FuzzRead(f *testing.F) {
	for _, e := range envelopes[:3] {
		f.Add(frame(f, e))
		f.Add(append([]byte("noise\xb0\x4dRP"), frame(f, e)...))
	}
	big := frame(f, guestproto.Envelope{Type: guestproto.TypeNote, Body: text(strings.Repeat("ab", 1000))})
	f.Add(big)
	f.Add(append(bytes.Clone(big[:len(big)-4]), 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := guestproto.NewReader(bytes.NewReader(b))
		for range len(b) + 1 { // each Read takes at least one byte or ends
			if _, err := r.Read(); err != nil && !errors.Is(err, guestproto.ErrDamaged) {
				return
			}
		}
		t.Error("Read never came to the end of the stream")
	})
}
