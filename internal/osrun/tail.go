package osrun

import (
	"io"
	"strings"
	"sync"
	"unicode"
)

// tailBytes is how much of the end of each stream is kept for the error.
const tailBytes = 4096

// stream keeps the tail of what is written to it and passes everything on.
type stream struct {
	tail
	next io.Writer // may be nil
	err  error     // the first error of next; guarded by tail.mu
}

// Write fails when next does.
func (s *stream) Write(b []byte) (int, error) {
	s.add(b)
	if s.next == nil {
		return len(b), nil
	}
	n, err := s.next.Write(b)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

// failure is the first error of next.
func (s *stream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// tail keeps the last tailBytes bytes given to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(b); n > tailBytes {
		b = b[n-tailBytes:]
	}
	if over := len(t.data) + len(b) - tailBytes; over > 0 {
		t.data = t.data[:copy(t.data, t.data[over:])]
	}
	t.data = append(t.data, b...)
}

// String is the tail as printable text, without white space at its ends.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.Map(printable, string(t.data)))
}

// printable drops control characters, which consoles and binary output hold.
func printable(r rune) rune {
	if r == '\n' || r == '\t' || unicode.IsPrint(r) {
		return r
	}
	return -1
}
