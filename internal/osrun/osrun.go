// Package osrun is the one place that starts processes. Every process it starts
//
//   - leads a process group of its own, and the whole group is killed when the
//     context ends, when its deadline passes, and when the process itself exits;
//   - gets SIGKILL when this program dies, however it dies (prctl(2), PR_SET_PDEATHSIG);
//   - leaves the end of its output in the error when it fails.
package osrun

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// MaxOutput is the most bytes of standard output or standard error that Run collects.
// A process that writes more is stopped with an error.
const MaxOutput = 64 << 20

// ErrNotFound is inside the error when there is no such program in $PATH.
var ErrNotFound = exec.ErrNotFound

// Look gives the path of the program that Cmd.Path name would start. The error is an
// *Error with ErrNotFound inside when there is none.
func Look(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &Error{Command: name, ExitCode: -1, Err: err}
	}
	return path, nil
}

// Cmd says what to start. The zero value of every field but Path is usable.
type Cmd struct {
	// Path is the program: a path, or a name looked up in $PATH.
	Path string
	// Args are the arguments after the program's name.
	Args []string
	// Dir is the working directory; empty means this program's own.
	Dir string
	// Env is the whole environment as "key=value"; nil means this program's own.
	Env []string
	// Stdin is read by the process; nil means /dev/null.
	Stdin io.Reader
	// Stdout and Stderr get what the process writes, besides the tail that is kept
	// for the error. Each is written from one goroutine, but the two are written
	// concurrently: give the same writer twice only when it locks. A writer that
	// returns an error makes the process fail at its next write.
	Stdout, Stderr io.Writer
	// ExtraFiles are the process's descriptors 3, 4, … The caller still owns, and
	// closes, its own copies.
	ExtraFiles []*os.File
	// Timeout is how long the process may live; 0 means until ctx ends.
	Timeout time.Duration
	// Attr gives further attributes (namespaces, id maps). Setpgid and Pdeathsig
	// are set over it. nil means none.
	Attr *syscall.SysProcAttr
}

// Output is what Run collected.
type Output struct {
	// Stdout and Stderr are what the process wrote, empty where the Cmd has a
	// writer of its own.
	Stdout, Stderr []byte
}

// Run starts the process, waits for its end and returns what it wrote. The error
// is an *Error; the output is returned beside it, as far as it came.
func Run(ctx context.Context, c Cmd) (Output, error) {
	var stdout, stderr limited
	if c.Stdout == nil {
		c.Stdout = &stdout
	}
	if c.Stderr == nil {
		c.Stderr = &stderr
	}
	p, err := Start(ctx, c)
	if err == nil {
		err = p.Wait()
	}
	return Output{Stdout: stdout.data, Stderr: stderr.data}, err
}

// limited collects up to MaxOutput bytes and refuses more.
type limited struct{ data []byte }

func (l *limited) Write(b []byte) (int, error) {
	if len(l.data)+len(b) > MaxOutput {
		return 0, fmt.Errorf("it wrote more than %d MiB", MaxOutput>>20)
	}
	l.data = append(l.data, b...)
	return len(b), nil
}
