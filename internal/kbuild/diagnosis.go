package kbuild

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"bondrepro/internal/osrun"
)

// maxLine is how much of a line is looked at; a longer one is a table or a command, and no message.
const maxLine = 8 << 10

// diagnosis reads what a build writes, line by line, for what made it fail. Whatever the machine lacks outweighs every error
// of the source: a compiler that can't write its output makes those, too. Lines of several compilers at once may be mixed,
// but each is whole.
type diagnosis struct {
	copy io.Writer // gets all that is read; nil for none

	mu      sync.Mutex
	machine string // one sentence, the first fault of the machine
	source  string // the first error of the source
	make    string // the first that make says of a target
	last    string
}

// shellCodes are exit codes that a shell has for what is no failure of the build itself, and make never has (sh(1), EXIT STATUS).
var shellCodes = map[int]string{
	126: "can't be executed", 127: "was not found",
	129: "was ended by SIGHUP", 130: "was ended by SIGINT", 137: "was killed", 143: "was ended by SIGTERM",
}

// stream is standard output or standard error: the end of one line of it may be written after a line of the other.
type stream struct {
	*diagnosis
	part []byte // a line that has not ended yet
}

var _ io.Writer = (*stream)(nil)

// Write reads whole lines and keeps the rest.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, b...)
	for {
		line, rest, ended := bytes.Cut(s.part, []byte("\n"))
		if !ended {
			break
		}
		s.line(string(line))
		s.part = rest
	}
	if len(s.part) > maxLine {
		s.part = s.part[:maxLine]
	}
	if s.copy == nil {
		return len(b), nil
	}
	return s.copy.Write(b)
}

// end reads a last line that did not end.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(string(s.part))
	s.part = nil
}

// line looks at one line.
func (d *diagnosis) line(s string) {
	s = strings.TrimRight(s, " \r")
	if strings.TrimSpace(s) == "" || quoted.MatchString(s) {
		return
	}
	d.last = s
	if d.machine == "" {
		d.machine = machineFault(s)
	}
	if d.source == "" && matchesAny(sourceErrors, s) {
		d.source = s
	}
	if d.make == "" && targetFailed.MatchString(s) {
		d.make = s
	}
}

// explain turns the failure of the process into the machine's fault or the source's. Names of files are relative to source.
func (d *diagnosis) explain(program string, err error, place, source string) error {
	var ended *osrun.Error
	if !errors.As(err, &ended) {
		return err
	}
	switch {
	case errors.Is(err, osrun.ErrNotFound):
		return missing(program)
	case ended.Timeout > 0:
		return fmt.Errorf("the build was ended after %v", ended.Timeout)
	case ended.Err != nil:
		return fmt.Errorf("the build can't be run: %w", ended.Err)
	case ended.Signal != 0:
		return fmt.Errorf("the build was ended by signal %d (%v): is there enough memory?", int(ended.Signal), ended.Signal)
	case d.machine != "":
		return errors.New(d.machine)
	case shellCodes[ended.ExitCode] != "":
		return fmt.Errorf("the build command %s (exit code %d); it wrote last: %s", shellCodes[ended.ExitCode], ended.ExitCode, d.last)
	}
	if err := spaceLeft(place, fewBytes); err != nil {
		return err
	}
	for _, reason := range []string{d.source, d.make, d.last} {
		if reason != "" {
			return &BuildError{Reason: strings.ReplaceAll(strings.TrimSpace(reason), source+"/", "")}
		}
	}
	return &BuildError{Reason: fmt.Sprintf("the build ended with exit code %d and said nothing", ended.ExitCode)}
}
